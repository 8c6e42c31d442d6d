//! The server's scripts, one module each, as in `core/backends/redis/src/scripts`.
//!
//! Each script runs in one step. The model omits the TTL of the queue and of the fence record, which is much longer
//! than any lease. It omits the limit of checked queue positions, and errors of memory or permissions. It also omits
//! locks with several holders: readers, permits, downgrades and handovers. Every attempt here is exclusive. For
//! exclusive attempts, `next_waiter` and `grant_to_confirm` do what `grant_next` does.

mod acquire;
mod force_release;
mod queue;
mod record_outcome;
mod release;
mod renew;

pub(crate) use self::acquire::{Request, acquire};
pub(crate) use self::force_release::force_release;
pub(crate) use self::record_outcome::record;
pub(crate) use self::release::{Named, ReleaseRequest, release};
pub(crate) use self::renew::renew;
