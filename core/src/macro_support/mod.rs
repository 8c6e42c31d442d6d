//! What `#[distributed_lock]` expands to, apart from the few lines that must stand in the user's function.
//!
//! ```text
//! let __call = Call::new(key).ttl(..).answering::<Result<T, E>>();
//! let __held = match __call.acquire().await {
//!     Ok(held) => held,
//!     Err(answer) => return answer,
//! };
//! let __output = __held.run(async move { .. }).await;
//! __held.release(__output).await
//! ```
//!
//! # Implementation details
//!
//! `__held` is declared before the body's future and outlives it however the function ends, so that
//! nothing the body owns is dropped after the release. The traits are looked at in one place, `answering`,
//! so that a wrong return type is one error and not one for each step. The body's future is passed by value through
//! plain functions only: an `async fn` would store it twice.

mod as_manager;
mod call;
mod escaped;
mod held_call;
mod lock_target;
mod pending_call;
mod reentrant_hold;
mod returned;

pub use as_manager::AsManager;
pub use call::Call;
pub use escaped::escaped;
pub use held_call::HeldCall;
pub use pending_call::PendingCall;
pub use returned::{FromLockError, LockedReturn, Skippable};
