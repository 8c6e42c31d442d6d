use std::sync::Arc;

use leasehold_core::FencingToken;

/// The fencing token and the resource of a request that [`FenceLayer`](crate::FenceLayer) has admitted.
///
/// The layer adds it to the request's extensions. With the feature `axum` this type is also an extractor, which refuses
/// a request without a fence as misconfigured. Pass the token to the database: `Fence::new(fenced.token())` of
/// `leasehold-sqlx`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FencedToken {
    token: FencingToken,
    resource: Arc<str>,
}

impl FencedToken {
    pub(super) fn new(token: FencingToken, resource: &str) -> Self {
        Self {
            token,
            resource: resource.into(),
        }
    }

    /// Returns the token of the client's lock.
    #[must_use]
    pub const fn token(&self) -> FencingToken {
        self.token
    }

    /// Returns the fenced resource: the key that the layer's extractor returned.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.resource
    }
}

#[cfg(feature = "axum")]
mod extract {
    use axum::extract::FromRequestParts;
    use http::request::Parts;

    use super::FencedToken;
    use crate::{Problem, ProblemKind};

    #[cfg_attr(docsrs, doc(cfg(feature = "axum")))]
    impl<S: Sync> FromRequestParts<S> for FencedToken {
        type Rejection = Problem;

        async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
            let fenced = parts.extensions.get::<Self>().cloned();
            fenced.ok_or_else(|| {
                let detail =
                    "the handler needs a fencing token, but no `FenceLayer` applies to this route and method";
                Problem::new(ProblemKind::Misconfigured).with_detail(detail)
            })
        }
    }
}
