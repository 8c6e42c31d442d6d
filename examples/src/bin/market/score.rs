use std::time::Duration;

/// The score of a player. Players print it as a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Score {
    /// The items in the player's inventory or listed before.
    pub(crate) stocked: i64,
    pub(crate) listed: i64,
    pub(crate) bought: i64,
    /// The money that the player has paid.
    pub(crate) spent: i64,
    /// How often a deal was retried because of another deal.
    pub(crate) retries: i64,
    /// How often another buyer had bought the item in the meantime.
    pub(crate) gone: i64,
    /// The total time of all purchases, successful or not.
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
