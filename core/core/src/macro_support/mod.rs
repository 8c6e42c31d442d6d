//! The code behind `#[distributed_lock]`. The expansion in the user's function only calls this module:
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
//! With `once`, the expansion is
//! `Call::new(key).ttl(..).once::<Result<T, E>>(keep).run(async move |lock| { .. }).await`.
//!
//! # Implementation details
//!
//! `__held` is declared before the body's future, so it always outlives that future. Everything that the body owns is
//! therefore dropped before the release. Only `answering` has trait bounds on the return type, so that a wrong return
//! type causes one error instead of several. Only plain functions take the body's future by value, because an
//! `async fn` would store it twice.

mod acquire_future;
mod annotated_call;
mod body_under_lock;
mod key_value_escape;
mod lock_kind;
mod manager_argument;
#[cfg(feature = "once")]
mod once_call;
mod return_value;

pub use acquire_future::PendingCall;
pub use annotated_call::Call;
pub use body_under_lock::HeldCall;
pub use key_value_escape::escaped;
pub use manager_argument::AsManager;
#[cfg(feature = "once")]
pub use once_call::{OnceCall, OnceReturn};
pub use return_value::{FromLockError, LockedReturn, Skippable};
