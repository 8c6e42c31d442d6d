//! The recorded part of a response, and its encoding.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::response::Parts;
use http::{HeaderName, HeaderValue, Response};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The header of a recorded response that the layer returns to a repeated request: `Idempotency-Replayed: true`.
pub const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// A recorded response, with the fingerprint of its request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Recorded {
    pub(super) fingerprint: Text,
    status: u16,
    headers: Vec<(String, Text)>,
    body: Text,
}

impl Recorded {
    /// Records the status, the chosen headers and the body.
    pub(super) fn new(
        fingerprint: Bytes,
        head: &Parts,
        chosen: &[HeaderName],
        body: Bytes,
    ) -> Self {
        let headers = head
            .headers
            .iter()
            .filter(|(name, _)| chosen.contains(name));
        let text = |value: &HeaderValue| Text(Bytes::copy_from_slice(value.as_bytes()));
        Self {
            fingerprint: Text(fingerprint),
            status: head.status.as_u16(),
            headers: headers
                .map(|(name, value)| (name.as_str().to_owned(), text(value)))
                .collect(),
            body: Text(body),
        }
    }

    /// Returns whether the status is that of an error.
    #[cfg(feature = "sqlx")]
    pub(super) const fn is_error(&self) -> bool {
        self.status >= 400
    }

    /// Returns the response for a repeated request.
    pub(super) fn replay(self) -> Result<Response<Bytes>, http::Error> {
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value.0.as_ref());
        }
        let marker = HeaderValue::from_static("true");
        response
            .header(IDEMPOTENCY_REPLAYED, marker)
            .body(self.body.0)
    }
}

/// Bytes that are encoded as base64, because JSON has only text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text(pub(super) Bytes);

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
        Ok(Self(bytes.into()))
    }
}
