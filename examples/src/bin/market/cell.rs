use std::time::Duration;

/// How a deal is protected from other deals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Not protected: a conflict is detected, and the deal is retried.
    Watch,
    OneLock,
    PerItem,
}

impl Method {
    pub(crate) const ALL: [Self; 3] = [Self::Watch, Self::OneLock, Self::PerItem];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Watch => "WATCH",
            Self::OneLock => "one lock",
            Self::PerItem => "one lock per item",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// The durations of a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// The duration of each cell.
    pub(crate) length: Duration,
    /// How long a buyer waits between reading and buying.
    pub(crate) decision: Duration,
}

/// The number of sellers and buyers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) sellers: u32,
    pub(crate) buyers: u32,
}

impl Load {
    pub(crate) const ALL: [Self; 3] = [Self::of(1, 1), Self::of(5, 1), Self::of(5, 5)];

    const fn of(sellers: u32, buyers: u32) -> Self {
        Self { sellers, buyers }
    }

    pub(crate) fn name(self) -> String {
        let some = |count, what| match count {
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        format!(
            "{}, {}",
            some(self.sellers, "seller"),
            some(self.buyers, "buyer")
        )
    }
}

/// One of the nine combinations of load and method.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) load: Load,
    pub(crate) method: Method,
}

impl Cell {
    pub(crate) fn all() -> Vec<Self> {
        let of = |load| Method::ALL.map(|method| Self { load, method });
        Load::ALL.into_iter().flat_map(of).collect()
    }
}
