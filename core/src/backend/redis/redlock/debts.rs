use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::backend::redis::times::WAITER_LEASE;
use crate::clock::Moment;
use crate::{Key, OwnerId};

/// From how many debts on those that are past are cleared away.
const SWEPT_FROM: usize = 64;

/// A release that a node is to be told of.
#[derive(Debug, Clone)]
pub(super) struct Debt {
    pub(super) key: Key,
    pub(super) round: OwnerId,
    /// Whose place in line ends with it.
    pub(super) waiter: Option<OwnerId>,
    /// By then all that the round may have left has run out by itself.
    pub(super) until: Moment,
}

impl Debt {
    /// The end of a round, and of the waiter's place unless the attempt may go on waiting.
    pub(super) fn new(
        key: &Key,
        round: OwnerId,
        waiter: Option<OwnerId>,
        max_ttl: Duration,
    ) -> Self {
        // A request may be carried out for one `max_ttl` after its sending, and then what it takes begins to run out.
        let lasts = match waiter {
            Some(_) => max_ttl.max(WAITER_LEASE),
            None => max_ttl,
        };
        Self {
            key: key.clone(),
            round,
            waiter,
            // Clocks do not all run alike.
            until: Moment::now().after((max_ttl + lasts).mul_f64(1.01)),
        }
    }

    fn name(&self) -> (OwnerId, Option<OwnerId>) {
        (self.round, self.waiter)
    }
}

/// What is owed to a node that could not be told, each debt once.
#[derive(Debug, Default)]
pub(super) struct Debts(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    owed: BTreeMap<(OwnerId, Option<OwnerId>), Debt>,
    sweep_at: usize,
}

impl Debts {
    pub(super) fn owe(&self, debt: Debt) {
        let mut book = self.0.lock();
        book.owed.insert(debt.name(), debt);
        if book.owed.len() >= book.sweep_at.max(SWEPT_FROM) {
            let now = Moment::now();
            book.owed.retain(|_, it| it.until > now);
            book.sweep_at = book.owed.len() * 2;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().owed.is_empty()
    }

    /// One that still matters, if there is one.
    pub(super) fn next(&self) -> Option<Debt> {
        let mut book = self.0.lock();
        while let Some((_, debt)) = book.owed.pop_first() {
            if !debt.until.has_passed() {
                book.owed.insert(debt.name(), debt.clone());
                return Some(debt);
            }
        }
        None
    }

    pub(super) fn paid(&self, paid: &Debt) {
        self.0.lock().owed.remove(&paid.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_owed_is_kept_until_it_is_paid_or_past() {
        let debts = Debts::default();
        let owe = |seconds| {
            let debt = Debt {
                key: Key::new("", "k").unwrap(),
                round: OwnerId::random(),
                waiter: None,
                until: Moment::now().after(Duration::from_secs(seconds)),
            };
            debts.owe(debt.clone());
            debt
        };
        assert!(debts.is_empty());
        let lasting = owe(60 * 60 * 24);
        assert!(!debts.is_empty());
        for _ in 0..10 * SWEPT_FROM {
            owe(1);
            tokio::time::advance(Duration::from_secs(2)).await;
        }
        let kept = debts.0.lock().owed.len();
        assert!(kept <= SWEPT_FROM, "{kept} debts");
        let next = debts.next().unwrap();
        assert_eq!(next.name(), lasting.name());
        assert!(!debts.is_empty());
        debts.paid(&next);
        assert!(debts.next().is_none() && debts.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_release_is_owed_until_what_a_late_request_took_has_run_out() {
        let second = Duration::from_secs(1);
        let (key, round) = (Key::new("", "k").unwrap(), OwnerId::random());
        for (max_ttl, waiter, lasts) in [
            (second * 60, None, second * 60),
            (second * 60, Some(round), second * 60),
            (second * 2, None, second * 2),
            (second * 2, Some(round), WAITER_LEASE),
        ] {
            let debts = Debts::default();
            debts.owe(Debt::new(&key, round, waiter, max_ttl));
            // The request came at the end of its time.
            tokio::time::advance(max_ttl + lasts).await;
            assert!(debts.next().is_some(), "{max_ttl:?} {waiter:?}");
            tokio::time::advance(second * 2).await;
            assert!(debts.next().is_none() && debts.is_empty());
        }
    }
}
