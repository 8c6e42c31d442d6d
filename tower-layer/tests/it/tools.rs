use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use leasehold::LockManager;
use leasehold_tower::key::{PathKey, path};
use leasehold_tower::{BoxError, ResponseBody};
use serde_json::Value;
use tokio::time::timeout;
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt, service_fn};

pub(crate) type Answer = Response<ResponseBody<Full<Bytes>>>;
pub(crate) type Locked = BoxCloneSyncService<Request<()>, Answer, Infallible>;

/// Makes the key `order:{id}` for `/orders/{id}`, without a router.
pub(crate) fn orders() -> PathKey {
    path("order:{id}").raw("id").on("/orders/{id}")
}

pub(crate) fn post(path: &str) -> Request<()> {
    Request::post(path).body(()).unwrap()
}

pub(crate) fn get(path: &str) -> Request<()> {
    Request::get(path).body(()).unwrap()
}

pub(crate) fn done() -> Response<Full<Bytes>> {
    Response::new(Full::from("done"))
}

/// Returns a handler behind a layer.
pub(crate) fn behind<L, F, T>(layer: L, handler: F) -> Locked
where
    F: Fn(Request<()>) -> T + Clone + Send + Sync + 'static,
    T: Future<Output = Response<Full<Bytes>>> + Send + 'static,
    L: Layer<BoxCloneSyncService<Request<()>, Response<Full<Bytes>>, Infallible>>,
    L::Service:
        Service<Request<()>, Response = Answer, Error = Infallible> + Clone + Send + Sync + 'static,
    <L::Service as Service<Request<()>>>::Future: Send + 'static,
{
    let inner = service_fn(move |request| {
        let work = handler(request);
        async move { Ok(work.await) }
    });
    BoxCloneSyncService::new(layer.layer(BoxCloneSyncService::new(inner)))
}

pub(crate) async fn send(service: &Locked, request: Request<()>) -> Answer {
    // With paused time an hour passes immediately, so the timeout only finds hanging requests.
    let answer = timeout(Duration::from_secs(3600), service.clone().oneshot(request));
    answer.await.expect("it should answer").unwrap()
}

pub(crate) async fn status(service: &Locked, request: Request<()>) -> StatusCode {
    send(service, request).await.status()
}

/// Returns the status, and the name of the problem's type.
pub(crate) async fn problem<B>(response: Response<B>) -> (u16, String)
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let (status, document) = document(response).await;
    let kind = document["type"].as_str().unwrap();
    let name = kind.split_once("leasehold-tower#").unwrap().1;
    (status, name.to_owned())
}

pub(crate) async fn document<B>(response: Response<B>) -> (u16, Value)
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    assert_eq!(
        response.headers()["content-type"],
        "application/problem+json"
    );
    let status = response.status();
    let text = text(response).await;
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["status"], status.as_u16());
    (status.as_u16(), document)
}

pub(crate) async fn text<B>(response: Response<B>) -> String
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let body = response.into_body().collect().await;
    let body = body.map_err(Into::into).unwrap();
    String::from_utf8(body.to_bytes().to_vec()).unwrap()
}

pub(crate) async fn is_free(locks: &LockManager, key: &str) -> bool {
    locks.inspect(key).await.unwrap().is_free()
}

/// Waits until the lock is free, because it may be released in the background.
pub(crate) async fn until_free(locks: &LockManager, key: &str) {
    let look = async {
        while !is_free(locks, key).await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let limit = Duration::from_secs(10);
    timeout(limit, look).await.expect("it should be free");
}
