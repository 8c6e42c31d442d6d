//! Checks whether the observed changes are allowed.

mod ledger;
mod trail;

pub use ledger::{Ledger, lost, not_linearizable};
pub use trail::{Trail, not_in_order, steps_back};
