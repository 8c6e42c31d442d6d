//! A service with one call, as `tonic-prost-build` would generate it. Its messages are text.

use std::convert::Infallible;
use std::future::Future;
use std::task::{Context, Poll};

use bytes::{Buf, BufMut};
use futures_util::future::BoxFuture;
use http::uri::PathAndQuery;
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

pub(crate) trait Shipping: Copy + Send + Sync + 'static {
    fn ship(self, order: String) -> impl Future<Output = Result<String, Status>> + Send;
}

/// The server side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShippingServer<S>(pub(crate) S);

impl<S> NamedService for ShippingServer<S> {
    const NAME: &'static str = "shop.Shipping";
}

impl<S: Shipping> UnaryService<String> for ShippingServer<S> {
    type Response = String;
    type Future = BoxFuture<'static, Result<Response<String>, Status>>;

    fn call(&mut self, request: Request<String>) -> Self::Future {
        let Self(service) = *self;
        Box::pin(async move { Ok(Response::new(service.ship(request.into_inner()).await?)) })
    }
}

impl<S: Shipping> tower::Service<http::Request<Body>> for ShippingServer<S> {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let service = *self;
        Box::pin(async move { Ok(Grpc::new(Text).unary(service, request).await) })
    }
}

/// The client side.
#[derive(Debug, Clone)]
pub(crate) struct ShippingClient(pub(crate) Channel);

impl ShippingClient {
    pub(crate) async fn ship(self, request: Request<String>) -> Result<String, Status> {
        let mut grpc = tonic::client::Grpc::new(self.0);
        let ready = grpc.ready().await;
        ready.map_err(|error| Status::unavailable(error.to_string()))?;
        let path = PathAndQuery::from_static("/shop.Shipping/Ship");
        Ok(grpc.unary(request, path, Text).await?.into_inner())
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Text;

impl Codec for Text {
    type Encode = String;
    type Decode = String;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Text {
    type Item = String;
    type Error = Status;

    fn encode(&mut self, text: String, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put_slice(text.as_bytes());
        Ok(())
    }
}

impl Decoder for Text {
    type Item = String;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<String>, Status> {
        let mut bytes = vec![0; from.remaining()];
        from.copy_to_slice(&mut bytes);
        let text = String::from_utf8(bytes);
        Ok(Some(text.map_err(|_| {
            Status::invalid_argument("the message is not text")
        })?))
    }
}
