use std::time::Duration;

/// What a player has done so far; players say it by the line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Score {
    /// Items it has brought, listed or not.
    pub(crate) stocked: i64,
    pub(crate) listed: i64,
    pub(crate) bought: i64,
    /// What it has paid.
    pub(crate) spent: i64,
    /// How often a deal was spoilt by another, and begun anew.
    pub(crate) retries: i64,
    /// How often somebody else had bought the item meanwhile.
    pub(crate) gone: i64,
    /// How long it was at purchases in sum, whatever came of them.
    pub(crate) waited: Duration,
}

impl Score {
    pub(crate) fn line(&self) -> String {
        let Self {
            stocked,
            listed,
            bought,
            spent,
            retries,
            gone,
            waited,
        } = self;
        let waited = waited.as_micros();
        format!("{stocked} {listed} {bought} {spent} {retries} {gone} {waited}")
    }

    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let numbers: Result<Vec<i64>, _> = line.split(' ').map(str::parse).collect();
        let [stocked, listed, bought, spent, retries, gone, waited] = numbers.ok()?[..] else {
            return None;
        };
        Some(Self {
            stocked,
            listed,
            bought,
            spent,
            retries,
            gone,
            waited: Duration::from_micros(waited.try_into().ok()?),
        })
    }

    pub(crate) fn sum<'a>(scores: impl IntoIterator<Item = &'a Self>) -> Self {
        scores.into_iter().fold(Self::default(), |sum, it| Self {
            stocked: sum.stocked + it.stocked,
            listed: sum.listed + it.listed,
            bought: sum.bought + it.bought,
            spent: sum.spent + it.spent,
            retries: sum.retries + it.retries,
            gone: sum.gone + it.gone,
            waited: sum.waited + it.waited,
        })
    }
}
