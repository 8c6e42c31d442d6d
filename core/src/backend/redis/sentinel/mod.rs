//! Sentinels, and what they say of a primary.
//!
//! # Implementation details
//!
//! Sentinels do not agree at every moment: one that was away names the old primary until it hears of the failover. And one
//! of them may be in the wrong hands: whoever it names is sent the servers' password, and decides about all locks. So a
//! majority of those that the URL names has to agree, whatever epoch the others tell; where the votes are divided nobody
//! is connected to, until they agree again, which takes them a moment after a failover. Each failover has an epoch: a
//! primary is left for another one only if a majority vouches for a later one, so that nobody goes back behind a failover.
//!
//! Where most do not answer at all, those that do have to be unanimous, one alone included: Sentinels often go with the
//! primary that they watch over, and a lock that can be had with one of three left is worth more than to withstand
//! somebody who has one in his hands and keeps the others from answering.

mod failover_listener;
mod majority_vote;
mod primary;
mod query;
mod sentinels;
mod url;

pub(super) use primary::Primary;
pub(super) use sentinels::Sentinels;
