use std::sync::Arc;

use leasehold::FencingToken;

/// What [`FenceLayer`](crate::FenceLayer) has admitted: the token of the request, and the resource it is for.
///
/// An extension of the request, and with the feature `axum` an extractor, which refuses a request that no fence has
/// seen as misconfigured. Give it on to where the data is: `Fence::new(fenced.token())` of `leasehold-sqlx`.
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

    /// The token that the client's lock has.
    #[must_use]
    pub const fn token(&self) -> FencingToken {
        self.token
    }

    /// What is fenced, as the layer's key names it.
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
                    "the handler needs a fencing token, and this route and method is not fenced";
                Problem::new(ProblemKind::Misconfigured).with_detail(detail)
            })
        }
    }
}
