use std::collections::HashMap;
use std::sync::Arc;

use leasehold::FencingToken;
use leasehold_testkit::history::{Breach, Mode, Specification};
use parking_lot::Mutex;

use super::tally::Tally;

/// Returns whether a guard is still valid. It can be called after the guard was dropped.
type IsValid = Arc<dyn Fn() -> bool + Send + Sync>;

/// The holders of each key, as far as this process knows.
#[derive(Default)]
pub(super) struct Holders(Mutex<HashMap<String, Specification<(FencingToken, IsValid)>>>);

impl Holders {
    /// Records a granted guard.
    pub(super) fn enter(
        &self,
        key: &str,
        mode: Mode,
        token: FencingToken,
        is_valid: impl Fn() -> bool + Send + Sync + 'static,
        tally: &Tally,
    ) {
        let mut locks = self.0.lock();
        let lock = locks.entry(key.to_owned()).or_default();
        // This order matters: a guard that is valid now was also valid at the check above, because it was granted
        // before.
        lock.retain(|(_, is_valid)| is_valid());
        if !is_valid() {
            return;
        }
        let (holder, number) = ((token, Arc::new(is_valid) as IsValid), token.get());
        let breaches = match mode {
            Mode::Shared => lock.note_reader(holder, number),
            _ => lock.grant(holder, mode, Some(number)),
        };
        let (unordered, overlaps): (Vec<_>, Vec<_>) =
            breaches.iter().partition(|it| matches!(it, Breach::Token));
        if !overlaps.is_empty() {
            tally.overlaps();
        }
        if !unordered.is_empty() {
            tally.unordered();
        }
    }

    /// Removes the guard with this token, which is about to be released or dropped.
    pub(super) fn leave(&self, key: &str, token: FencingToken) {
        if let Some(lock) = self.0.lock().get_mut(key) {
            lock.retain(|(entered, _)| *entered != token);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "helpers of tests")]
mod tests {
    use super::*;

    fn token(number: i64) -> FencingToken {
        FencingToken::try_from(number).unwrap()
    }

    fn enter(holders: &Holders, mode: Mode, number: i64, valid: bool, tally: &Tally) {
        holders.enter("k", mode, token(number), move || valid, tally);
    }

    #[test]
    fn two_valid_guards_are_an_overlap() {
        let (holders, tally) = (Holders::default(), Tally::default());
        enter(&holders, Mode::Exclusive, 1, true, &tally);
        enter(&holders, Mode::Exclusive, 2, false, &tally);
        holders.enter("other", Mode::Exclusive, token(2), || true, &tally);
        assert_eq!(tally.counts().overlaps, 0);
        enter(&holders, Mode::Shared, 2, true, &tally);
        enter(&holders, Mode::Exclusive, 2, true, &tally);
        assert_eq!(tally.counts().overlaps, 2);
        holders.leave("k", token(1));
        enter(&holders, Mode::Exclusive, 3, true, &tally);
        assert_eq!(tally.counts().overlaps, 3, "2 has not left");
        holders.leave("k", token(3));
        holders.leave("k", token(2));
        enter(&holders, Mode::Exclusive, 4, true, &tally);
        assert_eq!(tally.counts().overlaps, 3);
    }

    #[test]
    fn tokens_of_writers_must_grow_and_those_of_readers_may_repeat() {
        let (holders, tally) = (Holders::default(), Tally::default());
        for number in [1, 2, 3] {
            enter(&holders, Mode::Exclusive, number, true, &tally);
            holders.leave("k", token(number));
        }
        enter(&holders, Mode::Shared, 4, true, &tally);
        enter(&holders, Mode::Shared, 3, true, &tally);
        assert_eq!(tally.counts().unordered, 0);
        enter(&holders, Mode::Shared, 2, true, &tally);
        enter(&holders, Mode::Exclusive, 4, true, &tally);
        assert_eq!(tally.counts().unordered, 2);
    }
}
