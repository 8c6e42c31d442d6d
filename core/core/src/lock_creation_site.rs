//! The places in the tested code where locks are created, for the reports of `leasehold_test::chaos`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::Location;
use std::path::Path;
use std::rc::Rc;

/// The last place of each key that one client has created a lock on.
pub type LockSites = Rc<RefCell<BTreeMap<String, &'static Location<'static>>>>;

thread_local! {
    static CURRENT: RefCell<Option<LockSites>> = const { RefCell::new(None) };
}

/// Records the caller as the place of `key`, if a client of `chaos` is being polled.
#[track_caller]
pub(crate) fn note(key: &str) {
    let place = Location::caller();
    // A lock that this crate creates for an annotated function has no place in the tested code.
    let own = Path::new(file!()).parent();
    if own.is_some_and(|own| Path::new(place.file()).starts_with(own)) {
        return;
    }
    CURRENT.with_borrow(|current| {
        if let Some(sites) = current {
            sites.borrow_mut().insert(key.to_owned(), place);
        }
    });
}

/// Runs `poll` and records the places of locks in `sites`.
pub fn noting<R>(sites: &LockSites, poll: impl FnOnce() -> R) -> R {
    let outer = CURRENT.replace(Some(Rc::clone(sites)));
    let _restored = scopeguard::guard(outer, |outer| drop(CURRENT.replace(outer)));
    poll()
}
