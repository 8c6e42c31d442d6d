//! Fencing tokens over HTTP, for the client and for the resource.

mod fencing_extension;
mod header;
mod layer;
mod ordered_admission;
mod service;
mod shared_state;
mod token_layer;

pub use self::fencing_extension::FencedToken;
pub use self::header::FENCING_TOKEN;
pub use self::layer::{DEFAULT_QUEUE_TIMEOUT, DEFAULT_TOKEN_LEAD, FenceLayer};
pub use self::service::FenceService;
pub use self::token_layer::{SendFencingTokenLayer, SendFencingTokenService};
