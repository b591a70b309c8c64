//! The smallest lock file of a kind: fewer and smaller choices.

use crate::grammar::{Lock, Source, lock};

/// Most lock files that are tried.
const TRIES: usize = 150;

/// Makes choices smaller for as long as `still` says that the lock shows the same.
pub fn shrink(choices: &[u32], still: &mut dyn FnMut(&Lock) -> bool) -> Vec<u32> {
    let mut best = choices.to_vec();
    let tries = std::cell::Cell::new(0);
    let mut attempt = |candidate: Vec<u32>, best: &mut Vec<u32>| {
        tries.set(tries.get() + 1);
        if tries.get() > TRIES {
            return false;
        }
        let mut source = Source::given(candidate);
        let made = lock(&mut source);
        let smaller = made.text.len() < lock(&mut Source::given(best.clone())).text.len()
            || source.taken.iter().sum::<u32>() < best.iter().sum();
        if smaller && still(&made) {
            *best = source.taken;
            return true;
        }
        false
    };
    loop {
        let mut better = false;
        let mut at = 0;
        while at < best.len() {
            if best[at] > 0 {
                for value in [0, best[at] / 2, best[at] - 1] {
                    let mut candidate = best.clone();
                    candidate[at] = value;
                    if attempt(candidate, &mut best) {
                        better = true;
                        break;
                    }
                }
            }
            let mut candidate = best.clone();
            if at < candidate.len() {
                candidate.remove(at);
                better |= attempt(candidate, &mut best);
            }
            at += 1;
        }
        if !better || tries.get() > TRIES {
            return best;
        }
    }
}
