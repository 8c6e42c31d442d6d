//! Response bodies, which can hold a lock.

mod body_under_lock;
mod error;
mod lock_in_body;
mod locked_response;

pub use self::error::BodyCut;
pub(crate) use self::lock_in_body::Custody;
pub use self::locked_response::ResponseBody;
