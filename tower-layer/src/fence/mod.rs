//! Fencing tokens over HTTP, for the client and for the resource.

mod fenced;
mod gate;
mod header;
mod layer;
mod line;
mod service;
mod token_layer;

pub use self::fenced::FencedToken;
pub use self::header::FENCING_TOKEN;
pub use self::layer::{DEFAULT_QUEUE_TIMEOUT, DEFAULT_TOKEN_LEAD, FenceLayer};
pub use self::service::FenceService;
pub use self::token_layer::{SendFencingTokenLayer, SendFencingTokenService};
