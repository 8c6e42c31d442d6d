//! The suite that every backend must pass, and a wrapper that makes a backend misbehave.
//!
//! **Unstable**, like the [`Backend`](crate::backend::Backend) trait: a minor release may add cases.
//!
//! [`contract`] and [`kinds`] hold cases about the trait itself, [`behaviour`] and [`sharing`] cases about locks as
//! their users see them; [`kinds`] and [`sharing`] are about the kinds of lock other than the plain one. Each is a plain function that panics when the backend breaks it; it is given a function that
//! opens a further connection to one shared world, as a further process would. Keys are new for each
//! case, so a world may be a server that others use too.
//!
//! # Examples
//!
//! [`conformance_tests!`](crate::conformance_tests) makes a test of each case:
//!
//! ```
//! leasehold::conformance_tests! {
//!     mod in_process {
//!         #[tokio::test(start_paused = true)]
//!         contract, behaviour, kinds, sharing => {
//!             let world = leasehold::backend::InProcess::new();
//!             async move || world.clone()
//!         }
//!     }
//! }
//! ```

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "cases report a broken backend by panicking, as tests do"
)]

pub mod behaviour;
pub mod contract;
mod faulty_backend;
mod helpers;
pub mod kinds;
mod macros;
pub mod sharing;

pub use faulty_backend::{Call, Command, Fault, Faulty};
