//! The deployments there are, and what can happen to each.

use strum::{Display, IntoStaticStr, VariantArray};

use crate::fault::Fault;

/// Where locks come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    /// One process, and no server.
    InProcess,
    /// One Redis, which writes to disk before it answers.
    #[strum(serialize = "redis")]
    One,
    /// A primary with a replica, and three Sentinels.
    Sentinel,
    /// As `Sentinel`, and a lock is granted once the replica has it.
    #[strum(serialize = "sentinel-synced")]
    Synced,
    /// Three masters with a replica each.
    Cluster,
    /// A majority of three servers that keep nothing on disk.
    Redlock,
    /// An ensemble of three.
    #[strum(serialize = "zookeeper")]
    ZooKeeper,
}

impl Kind {
    /// What it is called on the command line and in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What can happen to it. Those come last after which its servers are not what they were.
    #[must_use]
    pub const fn faults(self) -> &'static [Fault] {
        match self {
            Self::InProcess => &[Fault::Calm, Fault::ForceOpen],
            Self::One => &[
                Fault::Calm,
                Fault::ClientPause,
                Fault::ClientKill,
                Fault::ClientClock,
                Fault::ForceOpen,
                Fault::LinkCut,
                Fault::LinkLosesRequests,
                Fault::LinkLosesReplies,
                Fault::LinkDelay,
                Fault::LinkChaos,
                Fault::DataCut,
                Fault::ServerPause,
                Fault::ServerRestart,
                Fault::ServerForgets,
                Fault::ServerClock,
            ],
            Self::Sentinel | Self::Synced | Self::Cluster => &[
                Fault::Calm,
                Fault::ClientPause,
                Fault::ClientKill,
                Fault::Failover,
                Fault::ServerPause,
            ],
            Self::Redlock => &[
                Fault::Calm,
                Fault::ClientPause,
                Fault::ClientKill,
                Fault::ClientClock,
                Fault::LinkCut,
                Fault::LinkLosesRequests,
                Fault::LinkLosesReplies,
                Fault::LinkDelay,
                Fault::LinkChaos,
                Fault::ServerPause,
                Fault::ServerForgets,
                Fault::ServerClock,
            ],
            Self::ZooKeeper => &[
                Fault::Calm,
                Fault::ClientPause,
                Fault::ClientKill,
                Fault::ClientClock,
                Fault::LinkCut,
                Fault::LinkLosesRequests,
                Fault::LinkLosesReplies,
                Fault::LinkDelay,
                Fault::Partition,
                Fault::ServerPause,
                Fault::ServerRestart,
            ],
        }
    }

    /// Whether two are never let in at once whatever of this happens.
    #[must_use]
    pub const fn excludes(self, fault: Fault) -> bool {
        match fault {
            Fault::ForceOpen | Fault::Failover | Fault::ServerClock => false,
            // One Redis that forgets its locks gives them away. Of several, the one that forgot has no vote.
            Fault::ServerForgets => matches!(self, Self::Redlock),
            // Where there is a replica, that is a failover.
            Fault::ServerPause => !matches!(self, Self::Sentinel | Self::Synced | Self::Cluster),
            _ => true,
        }
    }

    /// Whether the fault lets a second holder in beside one that works on, so that whoever has no fence must lose
    /// something.
    #[must_use]
    pub const fn control_loses(self, fault: Fault) -> bool {
        matches!(fault, Fault::ClientPause | Fault::ForceOpen)
    }
}
