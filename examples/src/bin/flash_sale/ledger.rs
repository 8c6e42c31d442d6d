use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use leasehold::current_lock;
use serde::{Deserialize, Serialize};

/// How many purchases with a write or a refused write an instance remembers.
const REMEMBERED: usize = 16;

/// The recent and current purchases of an instance, for the page.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    state: Mutex<State>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct State {
    /// Purchases between their read of the stock and their write.
    pub(crate) visits: Vec<Visit>,
    pub(crate) sold: u64,
    /// The number of late writes that the fence has refused.
    pub(crate) refused: u64,
    pub(crate) recent: VecDeque<Purchase>,
    begun: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Visit {
    number: u64,
    pub(crate) token: Option<i64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Purchase {
    number: u64,
    token: Option<i64>,
    end: End,
    /// Milliseconds since 1970.
    at: u64,
}

/// The result of a purchase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    Sold,
    SoldOut,
    Refused,
}

impl Ledger {
    pub(crate) fn enter(self: &Arc<Self>) -> Entry {
        let token = current_lock().ok().map(|lock| lock.token().get());
        let mut state = self.state();
        state.begun += 1;
        let number = state.begun;
        state.visits.push(Visit { number, token });
        drop(state);
        Entry {
            ledger: Arc::clone(self),
            number,
            token,
        }
    }

    pub(crate) fn look(&self) -> State {
        self.state().clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running purchase. Dropping this value removes it from the ledger.
#[derive(Debug)]
#[must_use = "dropping this value removes the purchase"]
pub(crate) struct Entry {
    ledger: Arc<Ledger>,
    number: u64,
    token: Option<i64>,
}

impl Entry {
    pub(crate) fn end(self, end: End) {
        let mut state = self.ledger.state();
        match end {
            End::Sold => state.sold += 1,
            End::Refused => state.refused += 1,
            // These purchases are numerous and change nothing, so do not record them.
            End::SoldOut => return,
        }
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        state.recent.push_front(Purchase {
            number: self.number,
            token: self.token,
            end,
            at: u64::try_from(since_1970.unwrap_or_default().as_millis()).unwrap_or(u64::MAX),
        });
        state.recent.truncate(REMEMBERED);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let number = self.number;
        self.ledger.state().visits.retain(|it| it.number != number);
    }
}
