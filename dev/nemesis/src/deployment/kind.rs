//! The kinds of deployments, and the faults of each.

use strum::{Display, IntoStaticStr, VariantArray};

use crate::fault::Fault;

/// The kind of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    /// One process without a server.
    InProcess,
    /// One Redis server that writes to disk before it replies.
    #[strum(serialize = "redis")]
    One,
    /// A primary with a replica, and three Sentinels.
    Sentinel,
    /// Like `Sentinel`, but a lock is granted only after the replica has acknowledged it.
    #[strum(serialize = "sentinel-synced")]
    Synced,
    /// Three masters, each with a replica.
    Cluster,
    /// A majority of three servers without persistence.
    Redlock,
    /// An ensemble of three.
    #[strum(serialize = "zookeeper")]
    ZooKeeper,
    /// One Postgres server.
    Postgres,
    /// A Postgres primary whose commits do not wait for its replica.
    #[strum(serialize = "postgres-asynchronous")]
    Asynchronous,
    /// A Postgres primary whose commits wait for its replica.
    #[strum(serialize = "postgres-synchronous")]
    Synchronous,
    /// One `MariaDB` server.
    #[strum(serialize = "mariadb")]
    MariaDb,
    /// A file of `SQLite`.
    Sqlite,
}

impl Kind {
    /// Returns the name on the command line and in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the faults of this deployment. Faults that change the roles of the servers come last.
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
            Self::Postgres => &[
                Fault::Calm,
                Fault::ClientPause,
                Fault::ClientKill,
                Fault::ClientClock,
                Fault::ForceOpen,
                Fault::LinkCut,
                Fault::LinkLosesRequests,
                Fault::LinkLosesReplies,
                Fault::LinkDelay,
                Fault::ServerRestart,
                Fault::ServerClock,
            ],
            Self::MariaDb => &[
                Fault::Calm,
                Fault::ClientPause,
                Fault::ClientKill,
                Fault::ClientClock,
                Fault::ForceOpen,
                Fault::LinkCut,
                Fault::LinkLosesRequests,
                Fault::LinkLosesReplies,
                Fault::LinkDelay,
                Fault::ServerPause,
                Fault::ServerRestart,
            ],
            Self::Asynchronous | Self::Synchronous => &[Fault::Calm, Fault::Failover],
            // The clock of the clients is the clock of the database, so it does not jump.
            Self::Sqlite => &[
                Fault::Calm,
                Fault::ClientPause,
                Fault::ClientKill,
                Fault::ForceOpen,
            ],
        }
    }

    /// Returns whether the lock never has two holders, even during this fault.
    #[must_use]
    pub const fn excludes(self, fault: Fault) -> bool {
        match fault {
            Fault::ForceOpen | Fault::ServerClock => false,
            // The replica of Postgres has each lock that the primary has acknowledged.
            Fault::Failover => matches!(self, Self::Synchronous),
            // A single Redis server that loses its locks grants them again. Of several nodes, the one that lost its
            // locks does not vote.
            Fault::ServerForgets => matches!(self, Self::Redlock),
            // If there are replicas, a pause causes a failover.
            Fault::ServerPause => !matches!(self, Self::Sentinel | Self::Synced | Self::Cluster),
            _ => true,
        }
    }

    /// Returns whether the fault causes a second holder while the first one continues. Then writes without a fence must
    /// be lost.
    #[must_use]
    pub const fn control_loses(self, fault: Fault) -> bool {
        match fault {
            Fault::ClientPause | Fault::ForceOpen => true,
            Fault::Failover => matches!(self, Self::Asynchronous),
            _ => false,
        }
    }

    /// Returns whether clients poll for the lock instead of queueing, and hold it longer than the fault takes.
    #[must_use]
    pub const fn polls(self, fault: Fault) -> bool {
        matches!(
            (self, fault),
            (Self::Asynchronous | Self::Synchronous, Fault::Failover)
        )
    }
}
