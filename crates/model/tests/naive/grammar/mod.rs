//! Lock files by chance: a grammar of clients and scripts.
//!
//! A lock is a list of choices, each from 0, where 0 is the plainest. So a lock is made
//! smaller by making its choices smaller.

mod give;
mod pieces;
mod scripts;
mod take;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Where choices come from: those given, then chance, then 0.
pub struct Source {
    given: Vec<u32>,
    random: Option<ChaCha8Rng>,
    pub taken: Vec<u32>,
}

impl Source {
    pub fn random(seed: u64) -> Source {
        Source {
            given: Vec::new(),
            random: Some(ChaCha8Rng::seed_from_u64(seed)),
            taken: Vec::new(),
        }
    }

    pub fn given(given: Vec<u32>) -> Source {
        Source {
            given,
            random: None,
            taken: Vec::new(),
        }
    }

    /// One of `0..n`.
    pub fn pick(&mut self, n: u32) -> u32 {
        let chosen = match (self.given.get(self.taken.len()), &mut self.random) {
            (Some(given), _) => given % n,
            (None, Some(random)) => random.random_range(0..n),
            (None, None) => 0,
        };
        self.taken.push(chosen);
        chosen
    }

    /// One of these, by weight.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut rest = self.pick(weights.iter().sum());
        for (at, weight) in weights.iter().enumerate() {
            if rest < *weight {
                return at;
            }
            rest -= weight;
        }
        0
    }

    /// True once in so many times.
    pub fn rarely(&mut self, n: u32) -> bool {
        self.pick(n) == n - 1
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.pick(all.len() as u32) as usize]
    }
}

/// What a lock file in the making has said by now.
#[derive(Default)]
pub struct Draft {
    pub scripts: Vec<(String, String)>,
    pub reentrant: bool,
    pub renews: bool,
    pub ttl_step: bool,
    pub spins: bool,
    /// There is a thread that renews.
    pub thread: bool,
    /// What the value of the lock is.
    pub mine: String,
    /// Its type.
    pub shape: Shape,
    pub fence: bool,
    /// The client remembers when its hold ends.
    pub deadline: bool,
    pub counts: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    #[default]
    Text,
    Hash,
    List,
    Sorted,
}

/// A lock file, and what it takes to ask about it.
pub struct Lock {
    pub text: String,
    pub spins: bool,
}

/// A lock file from these choices.
pub fn lock(source: &mut Source) -> Lock {
    let mut draft = Draft::default();
    let acquire = take::acquire(source, &mut draft);
    let release = give::release(source, &mut draft);
    let mut text = String::from("return {\n  name = \"generated\",\n");
    for (on, line) in [
        (draft.reentrant, "  reentrant = true,\n"),
        (draft.renews, "  renews = true,\n"),
        (draft.ttl_step, "  ttl_step = 1000,\n"),
        (
            draft.fence,
            "  keys = { lock = \"{key}\", fence = \"{key}:fence\" },\n",
        ),
    ] {
        if on {
            text.push_str(line);
        }
    }
    if !draft.scripts.is_empty() {
        text.push_str("  scripts = {\n");
        for (name, script) in &draft.scripts {
            text.push_str(&format!("    {name} = [[\n{script}\n    ]],\n"));
        }
        text.push_str("  },\n");
    }
    text.push_str(&format!(
        "  acquire = function(lock)\n{acquire}  end,\n  release = function(lock)\n{release}  end,\n}}\n"
    ));
    Lock {
        text,
        spins: draft.spins,
    }
}
