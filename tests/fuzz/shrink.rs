//! Makes an input smaller for as long as it still fails.

/// How often it is tried.
const TRIES_MAX: u32 = 3000;

/// The input without whatever is not needed for `fails`.
pub fn shrink(input: &[u8], mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut least = input.to_vec();
    let mut tries = 0;
    let mut piece = least.len().div_ceil(2).max(1);
    loop {
        let before = least.len();
        let mut at = 0;
        while at < least.len() && tries < TRIES_MAX {
            let end = (at + piece).min(least.len());
            let without = [&least[..at], &least[end..]].concat();
            tries += 1;
            if fails(&without) {
                least = without;
            } else {
                at = end;
            }
        }
        let done = piece == 1 && least.len() == before;
        if done || tries >= TRIES_MAX {
            return least;
        }
        // Single bytes are tried until none can be spared.
        piece = (piece / 2).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn what_is_left_is_what_fails() {
        let input = b"a long text with an x in it, and a y";
        let fails = |text: &[u8]| text.contains(&b'x') && text.contains(&b'y');
        assert_eq!(shrink(input, fails), b"xy");
    }
}
