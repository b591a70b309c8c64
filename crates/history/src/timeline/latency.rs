//! How long acquire and release took, slice by slice.
//!
//! Quantiles come from histograms with logarithmic bins, so that memory does not
//! grow with the number of operations: a quantile is the upper bound of its bin
//! and at most a tenth too high. The longest is exact.

/// The width of a bin: its upper bound is 1.1 times its lower one.
const GROWTH: f64 = 1.1;
/// Bins from 1 µs up to some 1000 s.
const BINS: usize = 220;

/// Latencies of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    /// One entry a slice of time; `None` where no operation ended.
    pub slices: Vec<Option<LatencyOf>>,
    /// Of all acquires.
    pub acquire: Option<LatencyOf>,
    /// Of all releases.
    pub release: Option<LatencyOf>,
}

/// Latencies of some operations, in µs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyOf {
    /// How many operations.
    pub count: u64,
    /// Half of them took no longer.
    pub p50_us: f64,
    /// 99 % of them took no longer.
    pub p99_us: f64,
    /// The longest.
    pub max_us: f64,
}

/// Measures while the history goes by.
pub(super) struct Meter {
    slice_ns: u64,
    slices: Vec<Option<Box<Histogram>>>,
    acquire: Histogram,
    release: Histogram,
}

impl Meter {
    pub(super) fn new(slice_ns: u64) -> Meter {
        Meter {
            slice_ns,
            slices: Vec::new(),
            acquire: Histogram::default(),
            release: Histogram::default(),
        }
    }

    /// An operation of that name ended; `span` is from its call to its end, in ns.
    pub(super) fn see(&mut self, f: &str, (from, to): (u64, u64)) {
        let total = match f {
            "acquire" => &mut self.acquire,
            "release" => &mut self.release,
            _ => return,
        };
        let took_us = to.saturating_sub(from) as f64 / 1e3;
        total.add(took_us);
        // The last event may end a slice: it belongs to the one before.
        let slice = (to / self.slice_ns).min(super::SLICES) as usize;
        if self.slices.len() <= slice {
            self.slices.resize_with(slice + 1, || None);
        }
        self.slices[slice].get_or_insert_default().add(took_us);
    }

    pub(super) fn finish(self) -> Latency {
        let of = |slice: &Option<Box<Histogram>>| slice.as_ref().and_then(|one| one.summary());
        Latency {
            slices: self.slices.iter().map(of).collect(),
            acquire: self.acquire.summary(),
            release: self.release.summary(),
        }
    }
}

struct Histogram {
    count: u64,
    max_us: f64,
    bins: [u32; BINS],
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            count: 0,
            max_us: 0.0,
            bins: [0; BINS],
        }
    }
}

impl Histogram {
    fn add(&mut self, took_us: f64) {
        let bin = took_us.max(1.0).ln() / GROWTH.ln();
        self.bins[(bin as usize).min(BINS - 1)] += 1;
        self.count += 1;
        self.max_us = self.max_us.max(took_us);
    }

    fn summary(&self) -> Option<LatencyOf> {
        (self.count > 0).then(|| LatencyOf {
            count: self.count,
            p50_us: self.quantile(0.5),
            p99_us: self.quantile(0.99),
            max_us: self.max_us,
        })
    }

    fn quantile(&self, share: f64) -> f64 {
        let rank = (share * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (bin, count) in self.bins.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= rank {
                return GROWTH.powi(bin as i32 + 1).min(self.max_us);
            }
        }
        self.max_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_at_most_a_tenth_too_high() {
        let mut meter = Meter::new(1_000_000_000);
        for took_us in 1..=1000 {
            meter.see("acquire", (0, took_us * 1_000));
        }
        let found = meter.finish().acquire.unwrap();
        assert_eq!((found.count, found.max_us), (1000, 1000.0));
        assert!((500.0..=550.0).contains(&found.p50_us), "{found:?}");
        assert!((990.0..=1000.0).contains(&found.p99_us), "{found:?}");
    }

    #[test]
    fn nothing_measured_is_nothing() {
        let mut meter = Meter::new(1);
        meter.see("add", (0, 1));
        assert_eq!(meter.finish(), Latency::default());
    }
}
