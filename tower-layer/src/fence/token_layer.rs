use std::task::{Context, Poll};

use http::Request;
use leasehold_core::{FencingToken, LockHandle, current_lock};
use tower_layer::Layer;
use tower_service::Service;

use super::header;

/// Sends the fencing token of a lock with each request of an HTTP client, in the header `x-fencing-token`.
///
/// The layer sends the first of these tokens, and replaces an existing header:
///
/// 1. a [`FencingToken`] in the request's extensions,
/// 2. the token of the layer's lock,
/// 3. the token of the [current lock](leasehold_core::current_lock) of the task that calls the client.
///
/// Without a token the layer does not change the request. A [`FenceLayer`](crate::FenceLayer) at the resource refuses
/// such a request.
///
/// With the feature `tonic` the layer is also an interceptor for gRPC clients. The interceptor refuses a call without a
/// token.
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
/// let client = SendFencingTokenLayer::current().layer(client); // once, at startup
///
/// let sent = guard
///     .run(async |_| Ok::<_, leasehold::Error>(client.oneshot(Request::new(())).await))
///     .await??;
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

    /// Creates a layer for a client that is used under different locks. Each request carries the token of the current
    /// lock, or the token in its extensions.
    ///
    /// Call the client in the task that holds the lock. [`tower::buffer`] calls its client in another task, so put this
    /// layer around the buffer.
    ///
    /// [`tower::buffer`]: https://docs.rs/tower/latest/tower/buffer/index.html
    pub const fn current() -> Self {
        Self { token: None }
    }

    /// Returns the token to send, of which the request's own is the first choice.
    fn token(self, own: Option<FencingToken>) -> Result<FencingToken, leasehold_core::Error> {
        match own.or(self.token) {
            Some(token) => Ok(token),
            None => Ok(current_lock()?.token()),
        }
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
            layer: *self,
        }
    }
}

/// A client that sends fencing tokens. [`SendFencingTokenLayer`] creates it.
#[derive(Debug, Clone)]
pub struct SendFencingTokenService<S> {
    inner: S,
    layer: SendFencingTokenLayer,
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
        if let Ok(token) = self.layer.token(own) {
            header::write(request.headers_mut(), token);
        }
        self.inner.call(request)
    }
}

#[cfg(feature = "tonic")]
#[cfg_attr(docsrs, doc(cfg(feature = "tonic")))]
impl tonic::service::Interceptor for SendFencingTokenLayer {
    fn call(&mut self, mut call: tonic::Request<()>) -> Result<tonic::Request<()>, tonic::Status> {
        let token = self
            .token(call.extensions().get().copied())
            .map_err(|error| tonic::Status::failed_precondition(error.to_string()))?;
        let mut headers = std::mem::take(call.metadata_mut()).into_headers();
        header::write(&mut headers, token);
        *call.metadata_mut() = tonic::metadata::MetadataMap::from_headers(headers);
        Ok(call)
    }
}
