//! A fault at a point of a run, and its name for a replay.

use std::fmt;

/// What happens at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The client's locks are lost, and the client continues.
    Lost,
    /// The client's process is paused for longer than its leases.
    Paused,
    /// The client's future is dropped.
    Cancelled,
    /// The reply to a request to the backend is late.
    Late,
    /// The backend applies a request, and the reply never arrives.
    Unanswered,
}

/// A place in the run of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the client's future is polled for the n-th time after its first poll.
    Await(u32),
    /// The n-th request of the client's manager to the backend.
    Request(u32),
}

/// A point that the run without faults has passed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) client: u32,
    pub(super) place: Place,
    /// Whether the client holds a lock.
    pub(super) holds: bool,
}

impl Point {
    /// Returns one case for each fault that can happen here.
    pub(super) fn cases(self) -> impl Iterator<Item = Case> {
        let faults: &[Fault] = match (self.place, self.holds) {
            (Place::Await(_), true) => &[Fault::Paused, Fault::Lost, Fault::Cancelled],
            (Place::Await(_), false) => &[Fault::Paused, Fault::Cancelled],
            (Place::Request(_), _) => &[Fault::Late, Fault::Unanswered],
        };
        faults.iter().map(move |fault| Case {
            client: self.client,
            place: self.place,
            fault: *fault,
        })
    }
}

/// One fault at one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) client: u32,
    pub(super) place: Place,
    pub(super) fault: Fault,
}

impl Fault {
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Lost => "the client's locks are lost",
            Self::Paused => "the client is paused for longer than its lease",
            Self::Cancelled => "the client is cancelled",
            Self::Late => "the reply is late",
            Self::Unanswered => "the reply never arrives",
        }
    }
}

/// Formats the name of the case, such as `1.await3.paused`.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            Place::Await(number) => format!("await{number}"),
            Place::Request(number) => format!("request{number}"),
        };
        let fault = format!("{:?}", self.fault).to_lowercase();
        write!(f, "{}.{place}.{fault}", self.client)
    }
}
