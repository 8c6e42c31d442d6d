use std::fmt;

use leasehold_core::LockHandle;
use leasehold_core::kind::{Exclusive, Kind};

/// The handle of a request's lock. A handler can use it to read the fencing token and to check the lock, but not to
/// release it.
///
/// [`LockLayer`](crate::LockLayer) adds it to the request's extensions. With the feature `axum` this type is also an
/// extractor. If no lock applies to the route and method, the extractor refuses the request as misconfigured, and
/// `Option<Locked>` is `None`. With several layers, `Locked` is the handle of the innermost layer's lock. The type is
/// `Locked<Shared>` with [`LockLayer::read`](crate::LockLayer::read), and `Locked<Permits>` with
/// [`max_concurrent`](crate::LockLayer::max_concurrent).
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
///     .route_layer(LockLayer::new(locks, key::path("order:{id}").typed::<u64>("id")));
/// # }
/// ```
pub struct Locked<T: Kind = Exclusive>(pub LockHandle<T>);

impl<T: Kind> Clone for Locked<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Kind> fmt::Debug for Locked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Locked").field(&self.0).finish()
    }
}

#[cfg(feature = "axum")]
mod extract {
    use axum::extract::{FromRequestParts, OptionalFromRequestParts};
    use http::request::Parts;
    use std::convert::Infallible;

    use leasehold_core::kind::Kind;

    use super::Locked;
    use crate::{Problem, ProblemKind};

    #[cfg_attr(docsrs, doc(cfg(feature = "axum")))]
    impl<S: Sync, T: Kind> FromRequestParts<S> for Locked<T> {
        type Rejection = Problem;

        async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
            let locked = parts.extensions.get::<Self>().cloned();
            locked.ok_or_else(|| {
                let detail =
                    "the handler needs a lock, but no `LockLayer` locks this route and method";
                Problem::new(ProblemKind::Misconfigured).with_detail(detail)
            })
        }
    }

    #[cfg_attr(docsrs, doc(cfg(feature = "axum")))]
    impl<S: Sync, T: Kind> OptionalFromRequestParts<S> for Locked<T> {
        type Rejection = Infallible;

        async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
            Ok(parts.extensions.get::<Self>().cloned())
        }
    }
}
