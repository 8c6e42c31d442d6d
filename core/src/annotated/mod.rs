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

mod aim;
mod answer;
mod call;
mod entry;
mod escaped;
mod held;
mod in_scope;
mod source;

pub use self::answer::{Answer, FromLockError, Skippable};
pub use self::call::Call;
pub use self::entry::Entry;
pub use self::escaped::escaped;
pub use self::held::Held;
pub use self::source::AsManager;
