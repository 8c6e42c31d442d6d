//! The suite that every backend must pass, and a wrapper that makes a backend misbehave.
//!
//! **Unstable**, like the [`Backend`](leasehold_core::backend::Backend) trait: a minor release may add cases.
//!
//! [`contract`] and [`kinds`] contain cases about the trait itself. [`behaviour`] and [`sharing`] contain cases about
//! locks as users see them. [`kinds`] and [`sharing`] cover all kinds of lock except the exclusive one.
//! [`hold_at_least`] covers minimum hold times of all kinds of lock, and [`once`] covers recorded outcomes. [`election`]
//! covers elections, and [`operators`] covers labels, inspections and lists. Each case is a function that panics if the
//! backend fails it. The argument of each case is a function that opens a further
//! connection to the same backend, as another process would. Each case uses new keys, so that the backend may be a
//! server with other users.
//!
//! # Examples
//!
//! [`conformance_tests!`](crate::conformance_tests) defines a test for each case:
//!
//! ```
//! leasehold::conformance_tests! {
//!     mod in_process {
//!         #[tokio::test(start_paused = true)]
//!         contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
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

mod backend_request_helpers;
pub mod behaviour;
pub mod contract;
pub mod election;
mod helpers;
pub mod hold_at_least;
pub mod kinds;
mod macros;
pub mod once;
pub mod operators;
pub mod sharing;

pub use crate::faulty_backend::{BackendCall, Command, Fault, Faulty};
