use std::time::Duration;

/// How much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Extent {
    /// So many acquisitions, the cancelled among them.
    Acquisitions(u64),
    /// For so long.
    Time(Duration),
}

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// How much in all. The first tenth warms up.
    pub extent: Extent,
    /// Tasks of each of the two managers.
    pub tasks: usize,
    /// The part of all acquisitions that is dropped after a few polls.
    pub cancelled: f64,
    /// The pause between two faults.
    pub faults_every: Duration,
    /// The pause between two lines of progress.
    pub progress_every: Duration,
    /// Whether to wait, at each count, until the server has forgotten the ids of cancelled acquisitions: a minute.
    pub outwait_seals: bool,
    /// What chance begins with.
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
    /// A tenth to warm up, and what is left.
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
