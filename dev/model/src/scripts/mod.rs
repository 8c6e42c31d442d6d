//! The server's scripts, one module each, as they are in `core/src/backend/redis/scripts`.
//!
//! Each runs in one step. What they leave out: the TTL of the queue and of the fence record (far longer
//! than any lease), the bound on places looked at, errors for want of memory or rights, and all that is about locks
//! which several may hold: readers, permits, downgrades and handovers. Here every attempt is exclusive, and
//! `next_waiter` and `grant_to_confirm` are what `grant_next` does for such.

mod acquire;
mod force_release;
mod queue;
mod release;
mod renew;

pub(crate) use self::acquire::{Request, acquire};
pub(crate) use self::force_release::force_release;
pub(crate) use self::release::{Named, ReleaseRequest, release};
pub(crate) use self::renew::renew;
