use std::sync::atomic::{AtomicU64, Ordering};

/// What has happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Acquisitions that were begun.
    pub begun: u64,
    /// Those that ended with a guard.
    pub acquired: u64,
    /// Those that were dropped between two polls.
    pub cancelled: u64,
    /// Those that waited for longer than they wanted to.
    pub timed_out: u64,
    /// Those that ended with an error of the backend, and conversions that did.
    pub failed: u64,
    /// Guards that were lost before their release.
    pub lost: u64,
    /// Faults of the network and of the server.
    pub faults: u64,
    /// Moments at which two guards of one key were both valid.
    pub overlaps: u64,
    /// Tokens that were not larger than an earlier holder's.
    pub unordered: u64,
}

macro_rules! tally {
    ($($name:ident),+) => {
        /// [`Counts`] that are being counted.
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
    /// Begins another acquisition, unless there are so many.
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
