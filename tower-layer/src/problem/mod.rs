//! The responses of refused requests.

mod document;
mod from;
mod kind;
mod refusal;
#[cfg(feature = "sqlx")]
mod sql;
#[cfg(feature = "tonic")]
mod status;

pub use self::document::{DEFAULT_BUSY_RETRY_AFTER, DEFAULT_RETRY_AFTER, Problem};
#[cfg(feature = "idempotency")]
pub(crate) use self::from::outcome_unknown;
pub use self::kind::ProblemKind;
pub(crate) use self::refusal::{Dialect, Refusal};
