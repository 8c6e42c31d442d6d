//! Wall clocks that are wrong, and that jump.

mod shim;

pub use shim::{ClockError, ClockShim};
