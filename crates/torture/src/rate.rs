//! How often something happened, and how sure that figure is.

/// `events` of `runs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How often it happened.
    pub events: u64,
    /// How often it could have.
    pub runs: u64,
}

impl Rate {
    /// The 95 % confidence interval of the share: Wilson's score interval
    /// (Wilson 1927), which stays within 0 to 1 and is of use for 0 of N too.
    /// Without runs nothing is known: 0 to 1.
    pub fn interval(self) -> (f64, f64) {
        if self.runs == 0 {
            return (0.0, 1.0);
        }
        const Z: f64 = 1.959_964;
        let n = self.runs as f64;
        let share = self.events as f64 / n;
        let squared = Z * Z;
        let middle = (share + squared / (2.0 * n)) / (1.0 + squared / n);
        let half =
            Z / (1.0 + squared / n) * (share * (1.0 - share) / n + squared / (4.0 * n * n)).sqrt();
        ((middle - half).max(0.0), (middle + half).min(1.0))
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.events == 0 {
            return write!(f, "not observed in {}", self.runs);
        }
        let (low, high) = self.interval();
        write!(
            f,
            "{}/{} ({:.0} % to {:.0} %)",
            self.events,
            self.runs,
            low * 100.0,
            high * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_wilsons() {
        // Values from the closed formula, as statistics packages print them.
        let (low, high) = Rate {
            events: 0,
            runs: 10,
        }
        .interval();
        assert!(low == 0.0 && (high - 0.277_5).abs() < 1e-3, "{high}");
        let (low, high) = Rate {
            events: 5,
            runs: 10,
        }
        .interval();
        assert!((low - 0.236_6).abs() < 1e-3 && (high - 0.763_4).abs() < 1e-3);
        let (low, high) = Rate {
            events: 20,
            runs: 20,
        }
        .interval();
        assert!((low - 0.838_9).abs() < 1e-3 && high == 1.0, "{low}");
    }

    #[test]
    fn nothing_seen_is_not_called_safe() {
        assert_eq!(Rate { events: 0, runs: 7 }.to_string(), "not observed in 7");
        assert_eq!(Rate { events: 0, runs: 0 }.interval(), (0.0, 1.0));
    }
}
