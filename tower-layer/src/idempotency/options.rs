//! The options of the layer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{
    CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, ETAG, LAST_MODIFIED, LINK, LOCATION,
    RETRY_AFTER,
};
use http::response::Parts;
use http::{HeaderName, Method};
use leasehold_core::{Error, InvalidOption, LockOptions, MAX_RETENTION};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::methods::Methods;
use crate::problem::Refusal;
use crate::{OnDisconnect, Problem};

/// The default time for which a response is kept: 24 h.
pub const DEFAULT_KEEP: Duration = Duration::from_secs(60 * 60 * 24);

/// The default limit for the body of a request, in bytes: 2 MiB, as in axum.
pub const DEFAULT_MAX_REQUEST_BYTES: usize = 2 * 1024 * 1024;

/// The default limit for the sum of the buffered request bodies of one layer, in bytes: 64 MiB.
pub const DEFAULT_MAX_BUFFERED_BYTES: usize = 64 * 1024 * 1024;

/// The default limit for the body of a response, in bytes: 64 KiB.
pub const DEFAULT_MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// The largest limit for the body of a response, in bytes: 512 KiB. The encoded response must be smaller than 1 MiB.
pub const MAX_RESPONSE_BYTES: usize = 512 * 1024;

/// The headers that are recorded by default.
pub const DEFAULT_RECORDED_HEADERS: [HeaderName; 7] = [
    CONTENT_ENCODING,
    CONTENT_LANGUAGE,
    CONTENT_TYPE,
    ETAG,
    LAST_MODIFIED,
    LINK,
    LOCATION,
];

type RecordIf = Arc<dyn Fn(&Parts) -> bool + Send + Sync>;

#[derive(Clone)]
pub(super) struct Options {
    pub(super) methods: Methods,
    pub(super) lock: LockOptions,
    pub(super) keep: Duration,
    pub(super) max_request_bytes: usize,
    /// The bytes that request bodies may still take. Clones share them.
    pub(super) buffer: Arc<Semaphore>,
    pub(super) max_buffered_bytes: usize,
    pub(super) max_response_bytes: usize,
    pub(super) headers: Vec<HeaderName>,
    pub(super) record_if: RecordIf,
    /// Whether the store is a database.
    #[cfg(feature = "sqlx")]
    pub(super) in_database: bool,
    pub(super) on_disconnect: OnDisconnect,
    /// The tasks of [`OnDisconnect::Continue`].
    pub(super) tasks: TaskTracker,
    pub(super) refusal: Refusal,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            methods: Methods::only([Method::POST, Method::PATCH]),
            lock: LockOptions::new(),
            keep: DEFAULT_KEEP,
            max_request_bytes: DEFAULT_MAX_REQUEST_BYTES,
            buffer: Arc::new(Semaphore::new(DEFAULT_MAX_BUFFERED_BYTES)),
            max_buffered_bytes: DEFAULT_MAX_BUFFERED_BYTES,
            max_response_bytes: DEFAULT_MAX_RESPONSE_BYTES,
            headers: DEFAULT_RECORDED_HEADERS.to_vec(),
            record_if: Arc::new(|response| !response.headers.contains_key(RETRY_AFTER)),
            #[cfg(feature = "sqlx")]
            in_database: false,
            on_disconnect: OnDisconnect::default(),
            tasks: TaskTracker::new(),
            refusal: Refusal::default(),
        }
    }
}

impl Options {
    /// Checks what the setters accept. Each store gets only valid options.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let (option, value, least) = ("keep", self.keep, Duration::from_millis(1));
        let invalid = if value < least {
            InvalidOption::TooShort {
                option,
                value,
                least,
            }
        } else if value > MAX_RETENTION {
            InvalidOption::TooLong {
                option,
                value,
                most: MAX_RETENTION,
            }
        } else {
            return Ok(());
        };
        Err(Error::Option(invalid).into())
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("methods", &self.methods)
            .field("lock", &self.lock)
            .field("keep", &self.keep)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}
