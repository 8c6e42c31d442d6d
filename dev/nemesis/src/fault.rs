//! What the nemesis can do.

use strum::{Display, IntoStaticStr};

/// A kind of fault. In a cell it strikes again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Fault {
    /// None.
    Calm,
    /// A process of the clients is stopped for longer than its lease.
    ClientPause,
    /// A process of the clients is killed, and another one started.
    ClientKill,
    /// The clients' wall clocks jump, hours ahead and back.
    ClientClock,
    /// An operator forces locks open.
    ForceOpen,
    /// Links to the servers are cut, and refused for a while.
    LinkCut,
    /// What clients send vanishes; what servers send arrives.
    LinkLosesRequests,
    /// What servers send vanishes; what clients send arrives.
    LinkLosesReplies,
    /// All is late.
    LinkDelay,
    /// Chance decides for each message: late, its reply lost, cut before, cut after, or late and cut.
    LinkChaos,
    /// A server is stopped for longer than leases last; where there are replicas, one takes over meanwhile, and the
    /// stopped one comes back as if it still led.
    ServerPause,
    /// A server is killed and started again with all it had.
    ServerRestart,
    /// A server is killed and started again with nothing.
    ServerForgets,
    /// A server is killed, and its replica, which has not all it had, takes over.
    Failover,
    /// A server's wall clock jumps ahead by more than leases last.
    ServerClock,
    /// A server is cut off from those it follows, and its clients are not cut off from it.
    Partition,
    /// The links to the data are cut, under statements and commits.
    DataCut,
}

impl Fault {
    /// What it is called on the command line and in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}
