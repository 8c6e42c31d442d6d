use http::HeaderName;
use http::request::Parts;

use super::KeyExtractor;
use crate::{Problem, ProblemKind};

/// What the client sent in a header, behind the header's name: `idempotency-key:k-1`, so that nobody can name with it what
/// other layers lock. A request without it, with an empty one, or with two of them is a 400. Spaces around the value are
/// no part of it.
///
/// The client chooses the key: [`scope`](KeyExtractor::scope) it, or anybody can hold up anybody else, and limit how many
/// requests it may make, for each new key [takes memory](super) at the backend for two days. And a lock is
/// no idempotency: a request that is repeated *after* the first has been answered runs again. Not for credentials: a key
/// is stored at the backend, and traced.
///
/// # Panics
///
/// If `name` is no header's name in lower case. It is meant to be a literal, and found out at start.
///
/// # Examples
///
/// ```
/// use leasehold_tower::key::{self, KeyExtractor};
///
/// let key = key::header("idempotency-key").scope(|request| {
///     // The id of the user, which an authenticating layer outside of this one has left.
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

/// Made by [`header`].
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
        // HTTP/1 leaves spaces around a value out, and HTTP/2 lets them through.
        let value = values.next().map(|value| value.as_bytes().trim_ascii());
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return refuse(ProblemKind::MissingKey, "is missing; send it");
        };
        if values.next().is_some() {
            return refuse(ProblemKind::InvalidKey, "was sent more than once; send one");
        }
        match str::from_utf8(value) {
            Ok(value) if value.bytes().all(|byte| matches!(byte, b' '..=b'~')) => {
                Ok(Some(format!("{}:{value}", self.name)))
            }
            _ => refuse(ProblemKind::InvalidKey, "is not all visible ASCII"),
        }
    }
}
