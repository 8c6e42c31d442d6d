//! A fault at a point of a run, and its text form for a replay.

use std::fmt;
use std::str::FromStr;

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

/// The name of each fault in a replay, and its description.
const FAULTS: [(Fault, &str, &str); 5] = [
    (Fault::Lost, "lost", "the client's locks are lost"),
    (
        Fault::Paused,
        "paused",
        "the client is paused for longer than its lease",
    ),
    (Fault::Cancelled, "cancelled", "the client is cancelled"),
    (Fault::Late, "late", "the reply is late"),
    (Fault::Unanswered, "unanswered", "the reply never arrives"),
];

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
    fn words(self) -> (&'static str, &'static str) {
        let found = FAULTS.iter().find(|it| it.0 == self);
        found.map_or(("", ""), |it| (it.1, it.2))
    }

    pub(super) fn description(self) -> &'static str {
        self.words().1
    }
}

/// Formats the case for a replay, such as `1.await3.paused`.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, number) = match self.place {
            Place::Await(number) => ("await", number),
            Place::Request(number) => ("request", number),
        };
        let fault = self.fault.words().0;
        write!(f, "{}.{kind}{number}.{fault}", self.client)
    }
}

impl FromStr for Case {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.');
        let (Some(client), Some(place), Some(fault), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(());
        };
        let number = |digits: &str| digits.parse().map_err(drop);
        let place = match place.strip_prefix("await") {
            Some(digits) => Place::Await(number(digits)?),
            None => Place::Request(number(place.strip_prefix("request").ok_or(())?)?),
        };
        let found = FAULTS.iter().find(|it| it.1 == fault);
        Ok(Self {
            client: number(client)?,
            place,
            fault: found.ok_or(())?.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_can_be_read_back_and_other_text_is_refused() {
        for (fault, ..) in FAULTS {
            for place in [Place::Await(3), Place::Request(17)] {
                let case = Case {
                    client: 2,
                    place,
                    fault,
                };
                assert_eq!(case.to_string().parse(), Ok(case));
            }
        }
        for text in [
            "",
            "1.await3",
            "1.await3.paused.x",
            "x.await3.paused",
            "1.step3.paused",
            "1.await.paused",
            "1.await3.gone",
        ] {
            assert_eq!(text.parse::<Case>(), Err(()), "{text}");
        }
    }
}
