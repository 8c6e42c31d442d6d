use http::HeaderName;
use http::request::Parts;

use super::KeyExtractor;
use crate::{Problem, ProblemKind};

/// Makes the key from the name and the value of a header: `idempotency-key:k-1`. The name prevents clients from locking
/// the keys of other layers. The layer refuses a request with 400 if the header is missing or empty, or if there is
/// more than one. The extractor ignores spaces around the value.
///
/// The client chooses the key, so:
///
/// - Add the principal [`with_principal`](KeyExtractor::with_principal). Otherwise any client can block any other
///   client.
/// - Limit the requests of each client, because each new key [takes memory](super) at the backend for two days.
/// - Do not use a header with credentials. The backend stores keys, and traces contain keys.
///
/// A lock does not make requests idempotent: a duplicate request runs again if it arrives *after* the first response.
/// An `IdempotencyLayer` (feature `idempotency`) returns the first response instead.
///
/// # Panics
///
/// Panics if `name` is not a valid header name in lower case. Use a literal, so that a mistake causes a panic at
/// startup.
///
/// # Examples
///
/// ```
/// use leasehold_tower::key::{self, KeyExtractor};
///
/// let key = key::header("idempotency-key").with_principal(|request| {
///     // The id of the user, set by an outer authenticating layer.
///     request.extensions.get::<String>().cloned()
/// });
/// # let _key = key;
/// ```
#[must_use]
pub fn header(name: &'static str) -> Header {
    Header {
        name: HeaderName::from_static(name),
    }
}

/// The extractor that [`header`] returns.
#[derive(Debug, Clone)]
pub struct Header {
    name: HeaderName,
}

impl KeyExtractor for Header {
    fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem> {
        let refuse = |kind, what: &str| {
            let detail = format!("`{}` {what}", self.name);
            Err(Problem::new(kind).with_detail(detail))
        };
        let mut values = request.headers.get_all(&self.name).into_iter();
        // HTTP/1 strips spaces around a value, but HTTP/2 does not.
        let value = values.next().map(|value| value.as_bytes().trim_ascii());
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return refuse(ProblemKind::MissingKey, "is missing; send this header");
        };
        if values.next().is_some() {
            return refuse(
                ProblemKind::InvalidKey,
                "was sent more than once; send it once",
            );
        }
        match str::from_utf8(value) {
            Ok(value) if value.bytes().all(|byte| matches!(byte, b' '..=b'~')) => {
                Ok(Some(format!("{}:{value}", self.name)))
            }
            _ => refuse(
                ProblemKind::InvalidKey,
                "contains characters other than visible ASCII",
            ),
        }
    }
}
