//! Wall clocks that are wrong or jump.

mod shim;

pub use shim::{ClockError, ClockShim};
