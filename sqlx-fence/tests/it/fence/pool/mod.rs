//! What is promised of fenced pools.

mod late_holders;
mod lost_while_waiting;
mod macros;
mod mapped_tables;
mod query_forms;
mod refused;
mod transactions;
mod variable;

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;

use leasehold::{LockGuard, LockManager};

/// The number of holders of each key.
const HOLDERS: usize = 12;

thread_local! {
    /// The holders in the test of this thread.
    static HELD: RefCell<HashMap<String, Vec<Rc<LockGuard>>>> = RefCell::default();
}

/// Returns a lock whose token is the `number`th of this key. Each holder has its own manager, so all of them see
/// their lock as valid.
pub(crate) async fn holder(key: &str, number: usize) -> Rc<LockGuard> {
    let found = HELD.with_borrow(|held| held.get(key).cloned());
    let holders = match found {
        Some(holders) => holders,
        None => {
            let mut holders: Vec<Rc<LockGuard>> = Vec::new();
            while holders.len() < HOLDERS {
                let guard = LockManager::in_process().lock(key).acquire().await.unwrap();
                // The tokens come from the clock.
                if holders
                    .last()
                    .is_none_or(|last| last.token() < guard.token())
                {
                    holders.push(guard.into());
                }
            }
            HELD.with_borrow_mut(|held| held.insert(key.to_owned(), holders.clone()));
            holders
        }
    };
    Rc::clone(&holders[number - 1])
}

/// Returns the number of the holder with this token, or 0 for a row without a token.
pub(crate) fn number(token: i64) -> usize {
    HELD.with_borrow(|held| {
        let at =
            |holders: &Vec<Rc<LockGuard>>| holders.iter().position(|it| it.token().get() == token);
        held.values().find_map(at).map_or(0, |at| at + 1)
    })
}

/// Runs a future while its task holds the lock `items` as the holder with this number.
pub(crate) async fn held<F: Future>(number: usize, work: F) -> F::Output {
    let guard = holder("items", number).await;
    guard.handle().scope(work).await
}
