//! Extracts the key that a request locks.
//!
//! | extractor | key |
//! |---|---|
//! | [`path`]`("order:{id}").`[`typed`](PathTemplate::typed)`::<u64>("id")` | a template with path parameters |
//! | [`matched_path`]`()` | the path of the axum route: one lock for all its requests (feature `axum`) |
//! | [`header`]`("x-tenant")` | the name and the value of a header |
//! | `idempotency_key()` | the value of the header `Idempotency-Key`, for an `IdempotencyLayer` (feature `idempotency`) |
//! | [`from_fn`]`(..)` | the result of a function of the request's head |
//!
//! Each extractor can [include a principal](KeyExtractor::with_principal), so that two clients never have the same key.
//! All layers of a manager share its keys, so begin the keys of each layer with a different word. For other keys,
//! implement [`KeyExtractor`].
//!
//! ```
//! use leasehold_tower::key::{self, KeyExtractor};
//!
//! let orders = key::path("order:{id}").typed::<u64>("id");
//! let retries = key::header("idempotency-key").with_principal(|request| {
//!     // The id of the user, set by an outer authenticating layer.
//!     request.extensions.get::<String>().cloned()
//! });
//! # let _keys = (orders, retries);
//! ```
//!
//! **Clients that choose keys also choose the number of keys.** Redis stores the last token of each key for two days,
//! in about 225 bytes. A Redis server without free memory grants no locks at all. So limit the requests of each client
//! before this layer, or hash the key into a fixed number of keys with [`from_fn`]. A shorter `fence_ttl` of the Redis
//! backend saves memory. A semaphore with one permit stops using memory one minute after the end of the lease, but does
//! not have a fencing token.
//!
//! A key can only use the head of a request, because an extractor that reads the body would consume the body before the
//! handler.

mod extractor;
mod fill_path_parameters;
mod header;
#[cfg(feature = "idempotency")]
mod idempotency;
mod key_function;
mod key_of_request;
#[cfg(feature = "axum")]
mod matched_path;
mod parameter_normalization;
mod path;
mod template;

pub use self::extractor::{KeyExtractor, WithPrincipal};
pub use self::header::{Header, header};
#[cfg(feature = "idempotency")]
#[cfg_attr(docsrs, doc(cfg(feature = "idempotency")))]
pub use self::idempotency::{IdempotencyKey, idempotency_key};
pub use self::key_function::{FromFn, from_fn};
pub use self::key_of_request::DEFAULT_MAX_KEY_BYTES;
pub(crate) use self::key_of_request::Keyed;
#[cfg(feature = "axum")]
#[cfg_attr(docsrs, doc(cfg(feature = "axum")))]
pub use self::matched_path::{MatchedPath, matched_path};
pub use self::path::{PathKey, PathTemplate, path};
