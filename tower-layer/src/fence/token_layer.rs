use std::task::{Context, Poll};

use http::Request;
use leasehold::{FencingToken, LockHandle};
use tower_layer::Layer;
use tower_service::Service;

use super::header;

/// Sends the fencing token of a lock with each request of an HTTP client, in the header `x-fencing-token`.
///
/// A token in the request's extensions takes precedence over the layer's token. If there is no token, the layer does
/// not change the request. Otherwise it replaces an existing header.
///
/// The layer also sends the token of a lost lock, because only the resource can check whether a newer holder has used
/// it.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use http::Request;
/// use leasehold::LockManager;
/// use leasehold_tower::SendFencingTokenLayer;
/// use tower::{Layer, ServiceExt, service_fn};
///
/// let guard = LockManager::in_process().lock("order:42").acquire().await?;
/// # let token = guard.token();
/// // Instead of an HTTP client:
/// let client = service_fn(async |request: Request<()>| {
///     Ok::<_, std::convert::Infallible>(request.headers()["x-fencing-token"].clone())
/// });
/// let sent = SendFencingTokenLayer::new(&guard.handle())
///     .layer(client)
///     .oneshot(Request::new(()))
///     .await?;
/// assert_eq!(sent.to_str()?, token.to_string());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use = "a layer does nothing until it is put around a service"]
pub struct SendFencingTokenLayer {
    token: Option<FencingToken>,
}

impl SendFencingTokenLayer {
    /// Creates a layer for a client that uses one lock.
    pub fn new(lock: &LockHandle) -> Self {
        lock.token().into()
    }

    /// Creates a layer for a client that uses different locks: each request has its [`FencingToken`] in its extensions.
    pub const fn from_extensions() -> Self {
        Self { token: None }
    }
}

impl From<FencingToken> for SendFencingTokenLayer {
    fn from(token: FencingToken) -> Self {
        Self { token: Some(token) }
    }
}

impl<S> Layer<S> for SendFencingTokenLayer {
    type Service = SendFencingTokenService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        SendFencingTokenService {
            inner,
            token: self.token,
        }
    }
}

/// A client that sends fencing tokens. Created by [`SendFencingTokenLayer`].
#[derive(Debug, Clone)]
pub struct SendFencingTokenService<S> {
    inner: S,
    token: Option<FencingToken>,
}

impl<S, Q> Service<Request<Q>> for SendFencingTokenService<S>
where
    S: Service<Request<Q>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Q>) -> S::Future {
        let own = request.extensions().get().copied();
        if let Some(token) = own.or(self.token) {
            header::write(request.headers_mut(), token);
        }
        self.inner.call(request)
    }
}
