//! Seconds where milliseconds were meant, and the other way round.
//!
//! `EX lock.ttl` is the commonest of all mistakes with expiries: the lease is in ms, `EX` takes seconds,
//! and the key stays a thousand times too long. It is a warning and no verdict: the verdicts say what
//! comes of it.

use lockproof_redis::Bytes;

/// A command or an option that takes a number of seconds, or of milliseconds.
struct Unit {
    word: &'static str,
    /// The one that takes the other unit.
    other: &'static str,
    seconds: bool,
    /// Where a command has its number; an option has it behind itself.
    place: Option<usize>,
}

const fn pair(seconds: &'static str, ms: &'static str, place: Option<usize>) -> [Unit; 2] {
    let (first, second) = (
        Unit {
            word: seconds,
            other: ms,
            seconds: true,
            place,
        },
        Unit {
            word: ms,
            other: seconds,
            seconds: false,
            place,
        },
    );
    [first, second]
}

const UNITS: [[Unit; 2]; 3] = [
    pair("EX", "PX", None),
    pair("EXPIRE", "PEXPIRE", Some(2)),
    pair("SETEX", "PSETEX", Some(2)),
];

/// What a command gets wrong, in words; nothing if its number is not the lease in the other unit. What a
/// script does with its arguments is not looked at.
pub(super) fn mistaken(argv: &[Bytes], lease_ms: i64) -> Option<String> {
    UNITS.iter().flatten().find_map(|unit| {
        let number = unit.number(argv)?;
        let (meant, times) = match unit.seconds {
            true => (lease_ms, "a thousand leases; divide by 1000"),
            false => (lease_ms / 1000, "a thousandth of the lease; multiply by 1000"),
        };
        let [takes, is] = match unit.seconds {
            true => ["seconds", "milliseconds"],
            false => ["milliseconds", "seconds"],
        };
        let (word, other) = (unit.word, unit.other);
        (number == meant && lease_ms >= 1000).then(|| {
            format!(
                "{word} takes {takes}, and {number} is the lease in {is}: the key stays {times}, or use \
                 {other}"
            )
        })
    })
}

impl Unit {
    /// The number that a command gives it.
    fn number(&self, argv: &[Bytes]) -> Option<i64> {
        let text = |at: usize| argv.get(at).and_then(|word| std::str::from_utf8(word).ok());
        let is =
            |at: usize, name: &str| text(at).is_some_and(|word| word.eq_ignore_ascii_case(name));
        let at = match self.place {
            Some(place) => is(0, self.word).then_some(place)?,
            // The options of SET begin behind its value, which may be any text.
            None if is(0, "SET") => 1 + (3..argv.len()).find(|at| is(*at, self.word))?,
            None if is(0, "GETEX") => 1 + (2..argv.len()).find(|at| is(*at, self.word))?,
            None => return None,
        };
        text(at)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<String> {
        let argv: Vec<Bytes> = line.split(' ').map(|word| word.as_bytes().into()).collect();
        mistaken(&argv, 3000)
    }

    #[test]
    fn the_lease_in_the_other_unit_is_found_wherever_a_command_takes_it() {
        for line in [
            "SET k v NX EX 3000",
            "set k v ex 3000 nx",
            "EXPIRE k 3000",
            "SETEX k 3000 v",
            "GETEX k EX 3000",
        ] {
            let told = found(line).expect(line);
            assert!(
                told.contains("takes seconds, and 3000 is the lease in milliseconds"),
                "{told}"
            );
        }
        for line in ["SET k v PX 3", "PEXPIRE k 3", "PSETEX k 3 v"] {
            let told = found(line).expect(line);
            assert!(
                told.contains("takes milliseconds, and 3 is the lease in seconds"),
                "{told}"
            );
        }
    }

    #[test]
    fn other_numbers_and_the_words_elsewhere_are_no_mistake() {
        for line in [
            "SET k v NX PX 3000",
            "SET k v EX 3",
            "SET EX 3000",
            "SET k EX NX",
            "SET k v EX",
            "SET k v EX soon",
            "EXPIRE k",
            "EXPIRE k 30",
            "GET k EX 3000",
            "",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
        let argv: Vec<Bytes> = ["PEXPIRE", "k", "0"]
            .map(|word| word.as_bytes().into())
            .to_vec();
        assert_eq!(
            mistaken(&argv, 500),
            None,
            "half a second is no number of seconds"
        );
    }
}
