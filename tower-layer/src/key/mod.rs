//! What a request locks.
//!
//! | key | is |
//! |---|---|
//! | [`path`]`("order:{id}").`[`typed`](Path::typed)`::<u64>("id")` | a text with path parameters in it |
//! | [`matched_path`]`()` | the route as axum knows it: one lock for all its requests (feature `axum`) |
//! | [`header`]`("idempotency-key")` | what the client sent in a header, behind the header's name |
//! | [`from_fn`]`(..)` | what a function makes of the request's head |
//!
//! Any of them can be [scoped](KeyExtractor::scope) to a principal, so that one client's choice of key is nothing to
//! another. All layers of a manager share its names: have each key begin with a word of its own. What none of these can say
//! is yours to say: implement [`KeyExtractor`].
//!
//! ```
//! use leasehold_tower::key::{self, KeyExtractor};
//!
//! let orders = key::path("order:{id}").typed::<u64>("id");
//! let retries = key::header("idempotency-key").scope(|request| {
//!     // What an authenticating layer outside of this one has left.
//!     request.extensions.get::<String>().cloned()
//! });
//! # let _keys = (orders, retries);
//! ```
//!
//! **Where clients choose keys they choose how many there are.** On Redis each key leaves its last token for two days,
//! about 225 bytes, and a server without memory grants no lock to anybody: limit the requests of each client before this
//! layer, or hash the key into a fixed number of names with [`from_fn`]. A shorter `fence_ttl` of the Redis backend saves
//! memory. A semaphore of one permit leaves nothing a minute after its lease, but has no fencing token.
//!
//! A key is taken from the head of a request alone: reading a body first would take it from the handler.

mod extractor;
mod from_fn;
mod header;
mod keyed;
#[cfg(feature = "axum")]
mod matched_path;
mod params;
mod path;
mod spelling;
mod template;

pub use self::extractor::{KeyExtractor, Scoped};
pub use self::from_fn::{FromFn, from_fn};
pub use self::header::{Header, header};
pub use self::keyed::DEFAULT_MAX_KEY_BYTES;
pub(crate) use self::keyed::Keyed;
#[cfg(feature = "axum")]
#[cfg_attr(docsrs, doc(cfg(feature = "axum")))]
pub use self::matched_path::{MatchedPath, matched_path};
pub use self::path::{Path, path};
