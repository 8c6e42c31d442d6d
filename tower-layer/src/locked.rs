use leasehold::LockHandle;

/// The lock of a request, as its handler sees it: token, validity, loss. It cannot release.
///
/// An extension of the request, and with the feature `axum` an extractor. Without a lock, on a route that has none or
/// for a method that is not locked, the extractor refuses the request as misconfigured; `Option<Locked>` is `None`
/// then. With several layers it is the innermost one's lock.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "axum")]
/// # {
/// use axum::{Router, routing::post};
/// use leasehold::LockManager;
/// use leasehold_tower::{LockLayer, Locked, key};
///
/// async fn ship(Locked(lock): Locked) -> String {
///     format!("shipped under token {}", lock.token())
/// }
///
/// let locks = LockManager::in_process();
/// let app: Router = Router::new()
///     .route("/orders/{id}/ship", post(ship))
///     .route_layer(LockLayer::new(locks, key::path("order:{id}")));
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Locked(pub LockHandle);

#[cfg(feature = "axum")]
mod extract {
    use axum::extract::{FromRequestParts, OptionalFromRequestParts};
    use http::request::Parts;
    use std::convert::Infallible;

    use super::Locked;
    use crate::{Problem, ProblemKind};

    #[cfg_attr(docsrs, doc(cfg(feature = "axum")))]
    impl<S: Sync> FromRequestParts<S> for Locked {
        type Rejection = Problem;

        async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
            let locked = parts.extensions.get::<Self>().cloned();
            locked.ok_or_else(|| {
                let detail =
                    "the handler needs a lock, and none is taken for this route and method";
                Problem::new(ProblemKind::Misconfigured).with_detail(detail)
            })
        }
    }

    #[cfg_attr(docsrs, doc(cfg(feature = "axum")))]
    impl<S: Sync> OptionalFromRequestParts<S> for Locked {
        type Rejection = Infallible;

        async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
            Ok(parts.extensions.get::<Self>().cloned())
        }
    }
}
