//! What several backends use.
//!
//! **Unstable**, like [`Backend`](super::Backend).

#[cfg(feature = "certificates")]
pub mod certificates;
#[cfg(feature = "certificates")]
pub mod rustls_provider;
pub mod schemes;
pub mod single_flight;
pub mod wait_for_interruption;

pub use crate::__event as event;
pub use crate::attempt_id::AttemptMap;
pub use crate::error::WithCauses;
pub use crate::label::is_valid as is_valid_label;
pub use crate::map_sweep_limit::SweepLimit;
pub use crate::metrics::count_local_handoff;
pub use crate::options::validate_label;
#[cfg(feature = "certificates")]
pub use certificates::Certificates;
pub use single_flight::SingleFlight;

/// The clock for leases.
pub mod clock {
    pub use crate::clock::*;
}

/// Access to tokio's scheduler and timers.
pub mod runtime {
    pub use crate::runtime::*;
}
