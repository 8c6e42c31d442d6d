//! Tests gRPC with tonic's server and client. The test has its own codec, and messages are text.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, BufMut};
use futures_util::future::BoxFuture;
use http::uri::PathAndQuery;
use leasehold::LockManager;
use leasehold_testkit::servers::RedisServer;
use leasehold_tower::{LockLayer, OnLoss, Problem, key};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::server::{Grpc, NamedService, ServerStreamingService, UnaryService};
use tonic::transport::{Channel, Server};
use tonic::{Code, Request, Response, Status};

use crate::shop::Shop;
use crate::tools::until_free;

#[derive(Debug, Default, Clone, Copy)]
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
        Ok(Some(String::from_utf8(bytes).unwrap()))
    }
}

type Parts = std::pin::Pin<Box<dyn futures_util::Stream<Item = Result<String, Status>> + Send>>;

/// Ships orders. The call `slow` hangs, and the stream of `parts` never ends.
#[derive(Clone)]
struct Shipping {
    shop: Shop,
    begun: Arc<Notify>,
}

impl Shipping {
    fn new(orders: usize) -> Self {
        Self {
            shop: Shop::of(orders),
            begun: Arc::new(Notify::new()),
        }
    }
}

impl UnaryService<String> for Shipping {
    type Response = String;
    type Future = BoxFuture<'static, Result<Response<String>, Status>>;

    fn call(&mut self, request: Request<String>) -> Self::Future {
        let Self { shop, begun } = self.clone();
        Box::pin(async move {
            let order = request.into_inner();
            if order == "slow" {
                begun.notify_one();
                std::future::pending::<()>().await;
            }
            shop.ship(order.parse().unwrap()).await;
            Ok(Response::new(format!("shipped {order}")))
        })
    }
}

impl ServerStreamingService<String> for Shipping {
    type Response = String;
    type ResponseStream = Parts;
    type Future = BoxFuture<'static, Result<Response<Parts>, Status>>;

    fn call(&mut self, _: Request<String>) -> Self::Future {
        use futures_util::StreamExt;
        let parts = futures_util::stream::iter(["one", "two"].map(|part| Ok(part.to_owned())));
        let parts: Parts = parts.chain(futures_util::stream::pending()).boxed();
        Box::pin(async { Ok(Response::new(parts)) })
    }
}

impl tower::Service<http::Request<tonic::body::Body>> for Shipping {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let mut grpc = Grpc::new(Text);
            Ok(match request.uri().path() {
                "/shop.Shipping/Parts" => grpc.server_streaming(service, request).await,
                _ => grpc.unary(service, request).await,
            })
        })
    }
}

impl NamedService for Shipping {
    const NAME: &'static str = "shop.Shipping";
}

async fn instance(
    locks: LockManager,
    shipping: Shipping,
    change: impl Fn(LockLayer<key::Header>) -> LockLayer<key::Header>,
) -> SocketAddr {
    let layer = change(LockLayer::new(locks, key::header("order")));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    let incoming = tonic::transport::server::TcpIncoming::from(listener);
    let server = Server::builder().layer(layer).add_service(shipping);
    tokio::spawn(async move { server.serve_with_incoming(incoming).await.unwrap() });
    at
}

#[derive(Clone)]
struct Caller(Channel);

impl Caller {
    async fn at(address: SocketAddr) -> Self {
        let channel = Channel::from_shared(format!("http://{address}")).unwrap();
        Self(channel.connect().await.unwrap())
    }

    fn request(order: Option<&str>, text: &str) -> Request<String> {
        let mut request = Request::new(text.to_owned());
        if let Some(order) = order {
            let order = order.parse().unwrap();
            request.metadata_mut().insert("order", order);
        }
        request
    }

    async fn ship(&self, order: Option<&str>, text: &str) -> Result<String, Status> {
        let mut grpc = tonic::client::Grpc::new(self.0.clone());
        grpc.ready().await.unwrap();
        let path = PathAndQuery::from_static("/shop.Shipping/Ship");
        let call = grpc.unary(Self::request(order, text), path, Text);
        let answer = tokio::time::timeout(Duration::from_secs(120), call).await;
        Ok(answer.expect("it should answer")?.into_inner())
    }

    async fn parts(&self, order: &str) -> tonic::Streaming<String> {
        let mut grpc = tonic::client::Grpc::new(self.0.clone());
        grpc.ready().await.unwrap();
        let path = PathAndQuery::from_static("/shop.Shipping/Parts");
        let call = grpc.server_streaming(Self::request(Some(order), ""), path, Text);
        call.await.unwrap().into_inner()
    }
}

async fn two_instances(orders: u64) {
    let server = RedisServer::start().await.unwrap();
    let shipping = Shipping::new(orders as usize);
    let mut callers = Vec::new();
    for _ in 0..2 {
        let locks = LockManager::connect(&server.url()).await.unwrap();
        let wait = Duration::from_secs(100);
        let at = instance(locks, shipping.clone(), |layer| layer.wait(wait)).await;
        callers.push(Caller::at(at).await);
    }
    let send = async |order: u64, turn: usize| {
        let order = order.to_string();
        let shipped = callers[turn % 2].ship(Some(&order), &order).await;
        shipped.unwrap() == format!("shipped {order}")
    };
    shipping.shop.is_orderly(orders, send).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_instances_handle_calls_for_one_order_one_at_a_time() {
    two_instances(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_instances_handle_calls_for_fifty_orders_in_parallel() {
    two_instances(50).await;
}

#[tokio::test]
async fn refusals_have_grpc_status_codes() {
    let locks = LockManager::in_process();
    let shipping = Shipping::new(1);
    let caller = Caller::at(instance(locks.clone(), shipping, |layer| layer).await).await;
    assert_eq!(caller.ship(Some("7"), "7").await.unwrap(), "shipped 7");

    let missing = caller.ship(None, "7").await.unwrap_err();
    assert_eq!(missing.code(), Code::InvalidArgument);
    assert!(missing.message().contains("`order`"), "{missing}");

    let long = "s3cret".repeat(200);
    let invalid = caller.ship(Some(&long), "7").await.unwrap_err();
    assert_eq!(invalid.code(), Code::InvalidArgument);
    assert!(!invalid.message().contains("s3cret"), "{invalid}");

    let held = locks.lock("order:7").acquire().await.unwrap();
    let contended = caller.ship(Some("7"), "7").await.unwrap_err();
    assert_eq!(contended.code(), Code::Aborted);
    held.release().await.unwrap();

    locks.shutdown().await.unwrap();
    let unavailable = caller.ship(Some("7"), "7").await.unwrap_err();
    assert_eq!(unavailable.code(), Code::Unavailable);
}

#[tokio::test]
async fn a_call_that_loses_its_lock_is_aborted() {
    let locks = LockManager::in_process();
    let shipping = Shipping::new(1);
    let begun = Arc::clone(&shipping.begun);
    let ttl = Duration::from_secs(2);
    let at = instance(locks.clone(), shipping, |layer| {
        layer.ttl(ttl).on_loss(OnLoss::Cancel)
    })
    .await;
    let caller = Caller::at(at).await;
    let forced = async {
        begun.notified().await;
        assert!(locks.force_release("order:7").await.unwrap());
    };
    let (answer, ()) = tokio::join!(caller.ship(Some("7"), "slow"), forced);
    let lost = answer.unwrap_err();
    assert_eq!(lost.code(), Code::Aborted);
    assert!(lost.message().contains("lost"), "{lost}");
}

#[tokio::test]
async fn a_stream_holds_its_lock_until_its_end() {
    let locks = LockManager::in_process();
    let shipping = Shipping::new(1);
    let most = Duration::from_secs(60);
    let at = instance(locks.clone(), shipping, |layer| layer.until_body_end(most)).await;
    let caller = Caller::at(at).await;
    let mut parts = caller.parts("7").await;
    for part in ["one", "two"] {
        assert_eq!(parts.message().await.unwrap().unwrap(), part);
        let contended = caller.ship(Some("7"), "7").await.unwrap_err();
        assert_eq!(contended.code(), Code::Aborted);
    }
    drop(parts);
    until_free(&locks, "order:7").await;
    assert_eq!(caller.ship(Some("7"), "7").await.unwrap(), "shipped 7");
}

#[test]
fn each_problem_kind_has_its_grpc_status_code() {
    use leasehold_tower::ProblemKind::{
        Contended, InvalidKey, InvalidToken, Lost, Misconfigured, MissingKey, MissingToken,
        NotFound, Overloaded, Stale, TooManyWaiters, Unavailable,
    };
    for (kind, code) in [
        (Contended, Code::Aborted),
        (Lost, Code::Aborted),
        (TooManyWaiters, Code::ResourceExhausted),
        (Overloaded, Code::ResourceExhausted),
        (Unavailable, Code::Unavailable),
        (MissingKey, Code::InvalidArgument),
        (InvalidKey, Code::InvalidArgument),
        (MissingToken, Code::InvalidArgument),
        (InvalidToken, Code::InvalidArgument),
        (NotFound, Code::NotFound),
        (Misconfigured, Code::Internal),
        (Stale, Code::FailedPrecondition),
    ] {
        let status = Status::from(Problem::new(kind).with_detail("so"));
        assert_eq!(status.code(), code, "{kind:?}");
        assert!(status.message().ends_with(": so"));
    }
}
