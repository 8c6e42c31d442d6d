//! The faults of the nemesis.

use strum::{Display, IntoStaticStr};

/// A kind of fault. It occurs repeatedly in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Fault {
    /// No fault.
    Calm,
    /// A client process is stopped for longer than its lease.
    ClientPause,
    /// A client process is killed, and another one is started.
    ClientKill,
    /// The clients' wall clocks jump by hours, forward and back.
    ClientClock,
    /// An operator force-releases locks.
    ForceOpen,
    /// Links to the servers are cut, and refuse connections for a while.
    LinkCut,
    /// Requests of clients are lost, and replies of servers arrive.
    LinkLosesRequests,
    /// Replies of servers are lost, and requests of clients arrive.
    LinkLosesReplies,
    /// All messages are delayed.
    LinkDelay,
    /// Each message is randomly delayed, loses its reply, or is cut before or after it.
    LinkChaos,
    /// A server is stopped for longer than leases last. If there are replicas, one of them takes over in the meantime,
    /// and the stopped server continues as if it were still the primary.
    ServerPause,
    /// A server is killed, and restarted with all its data.
    ServerRestart,
    /// A server is killed, and restarted without data.
    ServerForgets,
    /// A server is killed, and its replica takes over without the last writes.
    Failover,
    /// A server's wall clock jumps forward by more than leases last.
    ServerClock,
    /// A server is disconnected from its leader, but not from its clients.
    Partition,
    /// The links to the data are cut during statements and commits.
    DataCut,
}

impl Fault {
    /// Returns the name on the command line and in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}
