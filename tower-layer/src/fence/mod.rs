//! Fencing tokens over HTTP: the client's side and the resource's.

mod fenced;
mod gate;
mod header;
mod layer;
mod line;
mod service;
mod token_layer;

pub use self::fenced::FencedToken;
pub use self::header::FENCING_TOKEN;
pub use self::layer::{DEFAULT_LINE_LIMIT, DEFAULT_TOKEN_LEAD, FenceLayer};
pub use self::service::FenceService;
pub use self::token_layer::{FenceTokenLayer, FenceTokenService};
