//! Where fencing tokens are checked: the resource's side.

mod error;
mod in_process;
mod stale;
mod store;

pub use self::error::AdmitError;
pub use self::in_process::InProcessFenceStore;
pub use self::stale::Stale;
pub use self::store::FenceStore;
