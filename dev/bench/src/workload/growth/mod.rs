//! The cost of an operation at several sizes: of stored keys, held locks, waiters and Cluster masters.

mod held;
mod keys;
mod masters;
mod scale;
mod waiters;

pub(crate) use self::held::Held;
pub(crate) use self::keys::Keys;
pub(crate) use self::masters::Masters;
pub(crate) use self::scale::{Scale, Size};
pub(crate) use self::waiters::{MANAGERS, Waiters};

pub(crate) const KEYS: Scale = keys::SCALE;
pub(crate) const HELD: Scale = held::SCALE;
pub(crate) const WAITERS: Scale = waiters::SCALE;
pub(crate) const MASTERS: Scale = masters::SCALE;
