//! Sentinels, and what they say of a primary.
//!
//! # Implementation details
//!
//! Sentinels do not agree at every moment: one that was away names the old primary until it hears of the failover.
//! Each failover has an epoch, and the answer with the newest one counts. So nobody who was told of a failover goes
//! back behind it, and an old primary that returns is used by those alone who reach no Sentinel that knows better.

mod ask;
mod members;
mod primary;
mod url;
mod watch;

pub(super) use self::members::Sentinels;
pub(super) use self::primary::Primary;
