//! Response bodies, which can hold a lock.

mod custody;
mod error;
mod held;
mod response;

pub(crate) use self::custody::Custody;
pub use self::error::BodyCut;
pub use self::response::ResponseBody;
