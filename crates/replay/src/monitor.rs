//! Which fields of a hash a command wrote, by a server's MONITOR.
//!
//! A server's notifications name the key that was written and not the field. So of a
//! hash with several fields nobody could tell whether a field was written over by an
//! equal value. MONITOR shows each command with its arguments, those of scripts too
//! (Redis manual, MONITOR).

use super::content::Bytes;

/// Fields of hashes that commands wrote, by key.
pub(super) type Fields = Vec<(Bytes, Bytes)>;

/// A line is the end of what is listened to.
pub(super) fn is_mark(line: &str, mark: &[&str]) -> bool {
    let words = arguments(line);
    words.len() == mark.len()
        && std::iter::zip(&words, mark)
            .all(|(word, mark)| word.eq_ignore_ascii_case(mark.as_bytes()))
}

/// The fields that the command of a line writes, if it sets fields of a hash.
pub(super) fn fields_set(line: &str) -> Fields {
    let words = arguments(line);
    let [name, key, rest @ ..] = words.as_slice() else {
        return Fields::new();
    };
    let sets = ["HSET", "HMSET"];
    if !sets
        .iter()
        .any(|set| name.eq_ignore_ascii_case(set.as_bytes()))
    {
        return Fields::new();
    }
    let pairs = rest.chunks_exact(2);
    pairs.map(|pair| (key.clone(), pair[0].clone())).collect()
}

/// The words of `1339518087.877697 [0 127.0.0.1:60866] "set" "k" "a\x00b"`.
fn arguments(line: &str) -> Vec<Bytes> {
    let Some((_, quoted)) = line.split_once("] ") else {
        return Vec::new();
    };
    let mut words = Vec::new();
    let mut bytes = quoted.bytes();
    while bytes.any(|byte| byte == b'"') {
        words.push(word(&mut bytes));
    }
    words
}

/// A word up to the quote that ends it, with Redis's escapes undone.
fn word(bytes: &mut impl Iterator<Item = u8>) -> Bytes {
    let mut word = Bytes::new();
    while let Some(byte) = bytes.next().filter(|byte| *byte != b'"') {
        if byte != b'\\' {
            word.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => word.push(b'\n'),
            Some(b'r') => word.push(b'\r'),
            Some(b't') => word.push(b'\t'),
            Some(b'a') => word.push(7),
            Some(b'b') => word.push(8),
            Some(b'x') => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(bytes.next()), digit(bytes.next()));
                word.extend(high.zip(low).map(|(high, low)| (high * 16 + low) as u8));
            }
            Some(other) => word.push(other),
            None => {}
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(key: &[u8], field: &[u8]) -> (Bytes, Bytes) {
        (key.to_vec(), field.to_vec())
    }

    #[test]
    fn fields_are_named_whatever_bytes_they_have_and_whoever_sets_them() {
        let line = r#"1699.000001 [0 lua] "hset" "k" "a] \"b\\" "1" "\x00\n" "2""#;
        let fields = fields_set(line);
        assert_eq!(fields, [pair(b"k", b"a] \"b\\"), pair(b"k", b"\0\n")]);
        let line = r#"1699.000002 [0 127.0.0.1:6] "HMSET" "k" "f" "v""#;
        assert_eq!(fields_set(line), [pair(b"k", b"f")]);
    }

    #[test]
    fn other_commands_set_no_fields() {
        for line in [
            r#"1.0 [0 lua] "hget" "k" "f""#,
            r#"1.0 [0 lua] "set" "hset" "k" "f" "v""#,
            r#"1.0 [0 lua] "hset""#,
            "OK",
            "",
        ] {
            assert_eq!(fields_set(line), [], "{line}");
        }
    }

    #[test]
    fn only_the_very_command_is_the_mark() {
        let mark = ["PING", "all"];
        assert!(is_mark(r#"1.0 [0 127.0.0.1:6] "PING" "all""#, &mark));
        assert!(!is_mark(r#"1.0 [0 127.0.0.1:6] "PING" "all" "x""#, &mark));
        assert!(!is_mark(r#"1.0 [0 127.0.0.1:6] "ECHO" "all""#, &mark));
    }
}
