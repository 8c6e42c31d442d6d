//! The content of a request or of a response: its body up to a limit, and its fingerprint.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{StatusCode, Uri};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{BoxError, Problem, ProblemKind};

/// The reason why a body was not read.
#[derive(Debug, Clone, Copy)]
pub(super) enum NotRead {
    /// It is longer than the limit.
    TooLong,
    /// It has trailers, which cannot be recorded.
    Trailers,
    /// It ended with an error.
    Failed,
}

impl NotRead {
    fn of(error: &BoxError) -> Self {
        match error.is::<LengthLimitError>() {
            true => Self::TooLong,
            false => Self::Failed,
        }
    }

    /// Returns the problem for a request whose body has this limit.
    pub(super) fn of_request(self, most: usize) -> Problem {
        let problem = Problem::new(ProblemKind::UnreadableBody);
        match self {
            Self::TooLong => problem.with_detail(format!(
                "the body of a request with an idempotency key has at most {most} bytes"
            )),
            Self::Trailers => problem
                .with_status(StatusCode::BAD_REQUEST)
                .with_detail("a request with an idempotency key cannot have trailers"),
            Self::Failed => problem
                .with_status(StatusCode::BAD_REQUEST)
                .with_detail("the body ended with an error"),
        }
    }

    /// Returns the problem for a response whose body has this limit.
    pub(super) fn of_response(self, most: usize) -> Problem {
        let why = match self {
            Self::TooLong => format!(
                "the response has more than {most} bytes: raise `max_response_bytes`, or respond with a link"
            ),
            Self::Trailers => "the response has trailers: remove them, or the layer".to_owned(),
            Self::Failed => "the body of the response ended with an error".to_owned(),
        };
        Problem::new(ProblemKind::NotRecorded).with_detail(why)
    }
}

/// Reads the body of a request, of at most `most` bytes. The bytes count in `buffer` until the permit is dropped.
pub(super) async fn read_request<B>(
    body: B,
    most: usize,
    buffer: &Arc<Semaphore>,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut body = pin!(Limited::new(body, most));
    // The copy has only the bytes of this body. A frame may keep the whole read buffer of its connection.
    let (mut read, mut space) = (Vec::new(), None::<OwnedSemaphorePermit>);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| NotRead::of(&error).of_request(most))?;
        let data = frame.into_data();
        let data = data.map_err(|_| NotRead::Trailers.of_request(most))?;
        let added = u32::try_from(data.len()).ok();
        let added = added.and_then(|it| Arc::clone(buffer).try_acquire_many_owned(it).ok());
        let added = added.ok_or_else(|| Problem::new(ProblemKind::Overloaded))?;
        match &mut space {
            Some(space) => space.merge(added),
            None => space = Some(added),
        }
        read.extend_from_slice(&data);
    }
    Ok((read.into_boxed_slice().into(), space))
}

/// Reads the body of a response, of at most `most` bytes.
pub(super) async fn read<B>(body: B, most: usize) -> Result<Bytes, NotRead>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    match Limited::new(body, most).collect().await {
        Ok(read) if read.trailers().is_some() => Err(NotRead::Trailers),
        Ok(read) => Ok(read.to_bytes()),
        Err(error) => Err(NotRead::of(&error)),
    }
}

/// Returns the SHA-256 of the method, the path with the query, and the body.
pub(super) fn fingerprint(head: &Parts, body: &[u8]) -> Bytes {
    let mut hash = Sha256::new();
    let path = uri(head).path_and_query().map_or("", |path| path.as_str());
    for part in [head.method.as_str(), path] {
        // The length separates the parts.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.update(body);
    Bytes::copy_from_slice(&hash.finalize())
}

/// Returns the URI of the request. A nested router of axum removes the prefix from the URI, and keeps the original one
/// as an extension.
fn uri(head: &Parts) -> &Uri {
    #[cfg(feature = "axum")]
    if let Some(original) = head.extensions.get::<axum::extract::OriginalUri>() {
        return &original.0;
    }
    &head.uri
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::fingerprint;

    #[test]
    fn fingerprint_depends_on_method_path_query_and_body_but_not_on_headers() {
        let of = |method: &str, uri: &str, header: &str, body: &[u8]| {
            let request = Request::builder()
                .method(method)
                .uri(uri)
                .header("h", header);
            fingerprint(&request.body(()).unwrap().into_parts().0, body)
        };
        let first = of("POST", "/a?b=1", "x", b"body");
        assert_eq!(first, of("POST", "/a?b=1", "y", b"body"));
        assert_eq!(first, of("POST", "http://host/a?b=1", "x", b"body"));
        for other in [
            of("PATCH", "/a?b=1", "x", b"body"),
            of("POST", "/b?b=1", "x", b"body"),
            of("POST", "/a?b=2", "x", b"body"),
            of("POST", "/a", "x", b"body"),
            of("POST", "/a?b=1", "x", b"body "),
            of("POST", "/a?b=1b", "x", b"ody"),
        ] {
            assert_ne!(first, other);
        }
    }
}
