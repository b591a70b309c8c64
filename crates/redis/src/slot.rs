//! Which of a cluster's 16384 slots a key is in, and which commands need them to be one.

use super::{Bytes, Multi};

/// Slots of a Redis Cluster.
pub const SLOTS: u16 = 16_384;

/// The slot of a key: CRC16 of what of it is hashed.
pub fn slot(key: &[u8]) -> u16 {
    crc16(hashed(key)) % SLOTS
}

/// The part of a key that decides on its slot: its hash tag if it has one, or all of it.
pub fn hashed(key: &[u8]) -> &[u8] {
    let open = key.iter().position(|byte| *byte == b'{');
    let tag = open.and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|byte| *byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    tag.unwrap_or(key)
}

/// The keys that a command line names, if it is of a command that may name several. A cluster
/// refuses it (`CROSSSLOT`) unless all of them are in one slot.
pub fn several_keys(argv: &[Bytes]) -> Vec<&[u8]> {
    let Some((name, words)) = argv.split_first() else {
        return Vec::new();
    };
    let words = words.iter().map(Vec::as_slice);
    match name.to_ascii_lowercase().as_slice() {
        b"del" | b"unlink" | b"exists" | b"touch" | b"mget" | b"watch" => words.collect(),
        b"mset" | b"msetnx" => words.step_by(2).collect(),
        b"rpoplpush" | b"lmove" | b"smove" => words.take(2).collect(),
        b"eval" | b"evalsha" => {
            let count = argv
                .get(2)
                .and_then(|count| std::str::from_utf8(count).ok());
            let count = count.and_then(|count| count.parse().ok()).unwrap_or(0);
            words.skip(2).take(count).collect()
        }
        b"multi" => {
            let commands = Multi::of(argv).map_or_else(Vec::new, |multi| multi.commands);
            commands.into_iter().flat_map(keys).collect()
        }
        _ => Vec::new(),
    }
}

/// The keys of a command within a transaction.
fn keys(argv: &[Bytes]) -> Vec<&[u8]> {
    let name = argv.first().map(|name| name.to_ascii_lowercase());
    let without: [&[u8]; 4] = [b"echo", b"flushall", b"ping", b"time"];
    if name.is_none_or(|name| without.contains(&&name[..])) {
        return Vec::new();
    }
    match several_keys(argv) {
        one if one.is_empty() => argv.iter().skip(1).take(1).map(Vec::as_slice).collect(),
        several => several,
    }
}

/// CRC-16/XMODEM, bit by bit: it is computed a few times a run.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| match crc & 0x8000 {
            0 => crc << 1,
            _ => (crc << 1) ^ 0x1021,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot(b"foo"), 12_182);
        assert_eq!(slot(b"{foo}.lock"), 12_182);
        assert_eq!(slot(b"{}foo"), crc16(b"{}foo") % SLOTS);
    }

    #[test]
    fn keys_are_told_from_other_words() {
        let of = |line: &str| -> Vec<String> {
            let argv: Vec<Bytes> = line.split(' ').map(|word| word.into()).collect();
            let keys = several_keys(&argv).into_iter();
            keys.map(|key| String::from_utf8_lossy(key).into_owned())
                .collect()
        };
        assert_eq!(of("DEL a b"), ["a", "b"]);
        assert_eq!(of("mset a 1 b 2"), ["a", "b"]);
        assert_eq!(of("LMOVE a b LEFT RIGHT"), ["a", "b"]);
        assert_eq!(of("EVAL text 2 a b c"), ["a", "b"]);
        assert!(of("EVAL text 0 a").is_empty() && of("EVAL text").is_empty());
        assert!(of("EVAL text -1 a").is_empty());
        assert!(of("SET a b").is_empty() && of("HDEL a b c").is_empty());
    }
}
