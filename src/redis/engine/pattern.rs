//! An upper bound for the work of one Lua pattern match.
//!
//! Lua's matcher backtracks: `(.-)a(.-)a(.-)b` over n bytes can take n^4 steps
//! inside one C call, where no instruction is counted and nothing can stop it.
//! So a pattern's worst case is computed before it runs, and what could take
//! too long is refused. A matcher of our own that counts its steps would refuse
//! less, but then scripts would no longer run in Redis's own Lua.
//!
//! The bound: each repeated item (`*`, `+`, `-`) tries at most n + 1 lengths,
//! `?` tries two, and without `^` there are n + 1 places to begin. Also the
//! matcher recurses once an item, so a very long pattern costs stack; every
//! factor is at least two, which bounds the depth by the bound's logarithm.

/// Most steps that a match of `pattern` against `length` bytes can take.
pub(super) fn worst_case_steps(pattern: &[u8], length: usize) -> u64 {
    let length = (length as u64).saturating_add(1);
    let (anchored, mut rest) = match pattern.strip_prefix(b"^") {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let mut steps = if anchored { 1 } else { length };
    // Even a pattern without repetitions is walked, at each place, once.
    steps = steps.saturating_mul((pattern.len() as u64 + 1).min(length + 8));
    while !rest.is_empty() {
        let item = item_len(rest);
        rest = &rest[item..];
        let factor = match rest.first() {
            Some(b'*' | b'+' | b'-') => length.max(2),
            Some(b'?') => 2,
            _ => continue,
        };
        rest = &rest[1..];
        steps = steps.saturating_mul(factor);
    }
    steps
}

/// Length of the item at the start: a character, a class, a set, or `%b` with
/// its two arguments.
fn item_len(pattern: &[u8]) -> usize {
    let len = match pattern {
        [b'%', b'b', ..] => 4,
        [b'%', ..] => 2,
        [b'[', rest @ ..] => 1 + set_len(rest),
        // Captures open and close without matching anything; taken with what
        // follows they would hide its repetition.
        _ => 1,
    };
    len.min(pattern.len())
}

/// Length of a set after its `[`, with the closing bracket. A `]` that comes
/// first stands for itself.
fn set_len(set: &[u8]) -> usize {
    let mut at = usize::from(set.first() == Some(&b'^'));
    let first = at;
    while at < set.len() {
        match set[at] {
            b'%' => at += 2,
            b']' if at > first => return at + 1,
            _ => at += 1,
        }
    }
    set.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_repetition_multiplies_by_the_subjects_length() {
        let one = worst_case_steps(b"^a*$", 99);
        let two = worst_case_steps(b"^a*a*$", 99);
        assert!(two >= one * 100, "{one} {two}");
        assert_eq!(worst_case_steps(b"^%w+$", 99) % 100, 0);
        // What repeats inside a set is a character.
        assert_eq!(worst_case_steps(b"^[%]*+-]+$", 99), 11 * 100);
    }

    #[test]
    fn nested_repetitions_reach_the_ceiling_instead_of_wrapping_around() {
        assert_eq!(worst_case_steps(&b".-".repeat(100), 1 << 20), u64::MAX);
        assert!(worst_case_steps(&b"a-".repeat(100), 0) > u64::from(u32::MAX));
    }

    #[test]
    fn unfinished_patterns_are_bounded_too() {
        for pattern in [&b"%"[..], b"[", b"[^", b"[]", b"[%", b"%b", b"^", b"", b"*"] {
            assert!(worst_case_steps(pattern, 10) >= 1);
        }
    }
}
