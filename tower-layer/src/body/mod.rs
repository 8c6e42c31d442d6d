//! Response bodies, which can hold a lock.

mod body_under_lock;
mod error;
mod lock_in_body;
mod response_body;

pub use self::error::BodyCut;
pub(crate) use self::lock_in_body::Custody;
pub use self::response_body::ResponseBody;
