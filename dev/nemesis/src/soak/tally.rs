use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of events so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Started acquisitions.
    pub begun: u64,
    /// Acquisitions with a guard.
    pub acquired: u64,
    /// Acquisitions that were dropped between two polls.
    pub cancelled: u64,
    /// Acquisitions that timed out.
    pub timed_out: u64,
    /// Acquisitions and conversions with a backend error.
    pub failed: u64,
    /// Guards that were lost before their release.
    pub lost: u64,
    /// Faults of the network and of the server.
    pub faults: u64,
    /// How often two guards of one key were valid at the same time.
    pub overlaps: u64,
    /// Grants whose token was not larger than that of an earlier holder.
    pub unordered: u64,
}

macro_rules! tally {
    ($($name:ident),+) => {
        /// The atomic counters of [`Counts`].
        #[derive(Debug, Default)]
        pub(super) struct Tally {
            begun: AtomicU64,
            $($name: AtomicU64,)+
        }

        impl Tally {
            $(pub(super) fn $name(&self) {
                self.$name.fetch_add(1, Ordering::Relaxed);
            })+

            pub(super) fn counts(&self) -> Counts {
                Counts {
                    begun: self.begun.load(Ordering::Relaxed),
                    $($name: self.$name.load(Ordering::Relaxed),)+
                }
            }
        }
    };
}

impl Tally {
    /// Counts another acquisition, unless `at_most` is reached.
    pub(super) fn begin(&self, at_most: u64) -> bool {
        let more = |begun| (begun < at_most).then_some(begun + 1);
        let begun = self
            .begun
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        begun.is_ok()
    }
}

tally!(
    acquired, cancelled, timed_out, failed, lost, faults, overlaps, unordered
);
