//! The lock of Leasehold: manager, guards, the engine that acquires, renews and releases, the trait for backends, and the
//! backend in this process.
//!
//! Programs use the crate `leasehold`, which re-exports this crate and the backends. A crate that implements a backend
//! or a layer depends on this one: see [`backend`].
#![cfg_attr(docsrs, feature(doc_cfg))]

mod attempt_id;
pub mod backend;
#[cfg(feature = "blocking")]
#[cfg_attr(docsrs, doc(cfg(feature = "blocking")))]
pub mod blocking;
#[cfg(feature = "test-util")]
#[doc(hidden)]
pub mod chaos_support;
pub mod check;
mod clock;
mod current_lock;
mod engine;
mod error;
mod escaped_text;
mod event_macro;
mod events;
mod fence;
mod fencing_token;
mod handover_ticket;
mod held_locks_of_task;
mod key;
mod label;
mod lock;
#[cfg(feature = "test-util")]
mod lock_creation_site;
mod lock_options;
mod lock_set;
#[cfg(feature = "macros")]
mod macro_support;
mod manager;
mod map_sweep_limit;
mod metrics;
mod mode;
mod options;
mod reentrant;
mod runtime;
#[cfg(feature = "cron")]
mod schedule;

pub use attempt_id::AttemptId;
pub use current_lock::{CurrentLock, current_lock, current_lock_by_key, current_locks};
#[cfg(feature = "once")]
#[cfg_attr(docsrs, doc(cfg(feature = "once")))]
pub use error::OnceError;
pub use error::end::{EndReason, Ended, Lost, LostInBody};
pub use error::{
    AdmitError, ConnectError, Error, InvalidTicket, LockSetReleaseError, NoCurrentLockError,
    Operation, ShutdownError, Stale, UnconfirmedRelease,
};
pub use fence::{FenceStore, InProcessFenceStore};
pub use fencing_token::{FencingToken, InvalidToken};
pub use handover_ticket::HandoverTicket;
pub use key::{InvalidKey, Key, KeyProblem, MAX_KEY_BYTES};
pub use label::MAX_LABEL_BYTES;
pub use lock::Lock;
pub use lock::accept_handover::Accept;
pub use lock::election::{Election, Leader};
pub use lock::guard::LockGuard;
pub use lock::held_handle::LockHandle;
pub use lock::kind;
#[cfg(feature = "once")]
#[cfg_attr(docsrs, doc(cfg(feature = "once")))]
pub use lock::once::Once;
pub use lock::permit_id::PermitId;
pub use lock::rw_lock::RwLock;
pub use lock_options::LockOptions;
pub use lock_set::{LockSet, LockSetGuard, LockSetHandle};
pub use manager::{ListedLock, LockList, LockManager, LockManagerBuilder};
pub use options::{
    DEFAULT_BACKEND_RETRY_TIMEOUT, DEFAULT_COMMAND_TIMEOUT, DEFAULT_PREFIX, DEFAULT_TTL,
    InvalidOption, MAX_COMMAND_TIMEOUT, MAX_KEYS, MAX_PERMITS, MAX_TTL,
};
#[cfg(feature = "once")]
#[cfg_attr(docsrs, doc(cfg(feature = "once")))]
pub use options::{DEFAULT_RETENTION, MAX_RESULT_BYTES, MAX_RETENTION};
pub use reentrant::{ReentrancyScope, ReentrantRelease};
#[cfg(feature = "cron")]
#[cfg_attr(docsrs, doc(cfg(feature = "cron")))]
pub use schedule::{InvalidSchedule, Schedule, Slot};

#[cfg(feature = "macros")]
#[cfg_attr(docsrs, doc(cfg(feature = "macros")))]
pub use leasehold_macros::distributed_lock;

#[cfg(all(feature = "macros", feature = "test-util"))]
#[cfg_attr(docsrs, doc(cfg(all(feature = "macros", feature = "test-util"))))]
pub use leasehold_macros::chaos_test;

/// Items that the expansion of `#[distributed_lock]` calls. These items are not public API, and may change in any
/// release.
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod __private {
    pub use std::format;

    pub use super::macro_support::{
        AsManager, Call, FromLockError, HeldCall, LockedReturn, PendingCall, Skippable, escaped,
    };
    #[cfg(feature = "once")]
    pub use super::macro_support::{OnceCall, OnceReturn};
}
