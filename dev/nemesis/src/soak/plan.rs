use std::time::Duration;

/// The amount of work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Extent {
    /// This number of acquisitions, including cancelled ones.
    Acquisitions(u64),
    /// This duration.
    Time(Duration),
}

/// The plan of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The total amount of work. The first tenth is a warm-up.
    pub extent: Extent,
    /// The number of tasks of each of the two managers.
    pub tasks: usize,
    /// The fraction of all acquisitions that is dropped after a few polls.
    pub cancelled: f64,
    /// The pause between two faults.
    pub faults_every: Duration,
    /// The pause between two lines of progress.
    pub progress_every: Duration,
    /// Whether to wait at each count until the tombstones of cancelled acquisitions have expired, which takes a minute.
    pub outwait_seals: bool,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            extent: Extent::Time(Duration::from_secs(60 * 60)),
            tasks: 32,
            cancelled: 0.05,
            faults_every: Duration::from_secs(5),
            progress_every: Duration::from_secs(10),
            outwait_seals: true,
            seed: 0,
        }
    }
}

impl Extent {
    /// Splits the work into a tenth for the warm-up, and the rest.
    pub(super) fn split(self) -> [Self; 2] {
        match self {
            Self::Acquisitions(number) => {
                let first = number / 10;
                [
                    Self::Acquisitions(first),
                    Self::Acquisitions(number - first),
                ]
            }
            Self::Time(time) => [Self::Time(time / 10), Self::Time(time - time / 10)],
        }
    }
}
