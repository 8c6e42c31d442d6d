//! The responses of refused requests.

#[cfg(feature = "tonic")]
mod grpc_status;
mod kind;
mod problem_document;
mod problem_from_error;
#[cfg(feature = "sqlx")]
mod problem_from_sql_error;
mod refused_request;

pub use self::kind::ProblemKind;
pub use self::problem_document::{DEFAULT_BUSY_RETRY_AFTER, DEFAULT_RETRY_AFTER, Problem};
#[cfg(feature = "idempotency")]
pub(crate) use self::problem_from_error::outcome_unknown;
pub(crate) use self::refused_request::{Dialect, Refusal};
