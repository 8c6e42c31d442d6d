//! A lock that is held until the end of the response body.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use leasehold::backend::InProcess;
use leasehold::{Error, LockHandle, LockManager};
use leasehold_tower::key::PathKey;
use leasehold_tower::{BodyCut, LockLayer, Locked, OnLoss, ResponseBody};
use tokio::sync::mpsc;
use tower::{Layer, ServiceExt, service_fn};

use crate::events::Names;
use crate::tools::{is_free, orders, post, until_free};

const MOST: Duration = Duration::from_secs(60);

type Part = Result<&'static str, &'static str>;

/// A body whose parts the test sends. It records whether its lock was still held when it was dropped.
struct Parts {
    parts: mpsc::Receiver<Part>,
    left: Option<u64>,
    lock: LockHandle,
    dropped_under_lock: Arc<AtomicUsize>,
}

impl Body for Parts {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        let part = std::task::ready!(self.parts.poll_recv(cx));
        if let (Some(left), Some(Ok(text))) = (&mut self.left, &part) {
            *left -= text.len() as u64;
        }
        Poll::Ready(part.map(|it| it.map(|text| Frame::data(Bytes::from(text)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        let held = usize::from(self.lock.is_valid());
        self.dropped_under_lock.fetch_add(held, Ordering::SeqCst);
    }
}

struct Scene {
    locks: LockManager,
    parts: Option<mpsc::Sender<Part>>,
    body: ResponseBody<Parts>,
    dropped_under_lock: Arc<AtomicUsize>,
}

impl Scene {
    async fn with(
        locks: LockManager,
        length: Option<u64>,
        change: impl FnOnce(LockLayer<PathKey>) -> LockLayer<PathKey>,
    ) -> Self {
        let (sender, parts) = mpsc::channel(8);
        let parts = Arc::new(Mutex::new(Some(parts)));
        let dropped_under_lock = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&dropped_under_lock);
        let service = service_fn(move |request: Request<()>| {
            let Locked(lock): &Locked = request.extensions().get().unwrap();
            let body = Parts {
                parts: parts.lock().unwrap().take().unwrap(),
                left: length,
                lock: lock.clone(),
                dropped_under_lock: Arc::clone(&count),
            };
            async move { Ok::<_, Infallible>(Response::new(body)) }
        });
        let layer = change(LockLayer::new(locks.clone(), orders()).until_body_end(MOST));
        let response = layer
            .layer(service)
            .oneshot(post("/orders/7"))
            .await
            .unwrap();
        Self {
            locks,
            parts: Some(sender),
            body: response.into_body(),
            dropped_under_lock,
        }
    }

    async fn new(length: Option<u64>) -> Self {
        Self::with(LockManager::in_process(), length, |layer| layer).await
    }

    async fn part(&mut self, part: Part) -> Option<Result<String, String>> {
        self.parts.as_ref().unwrap().send(part).await.unwrap();
        self.next().await
    }

    async fn next(&mut self) -> Option<Result<String, String>> {
        let frame = self.body.frame().await?;
        let text = frame.map_err(|error| error.to_string());
        Some(text.map(|frame| String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()))
    }

    async fn is_free(&self) -> bool {
        is_free(&self.locks, "order:7").await
    }
}

fn ok(text: &str) -> Option<Result<String, String>> {
    Some(Ok(text.to_owned()))
}

#[tokio::test(start_paused = true)]
async fn lock_is_held_until_the_response_body_ends() {
    let mut scene = Scene::new(None).await;
    assert_eq!(scene.part(Ok("a")).await, ok("a"));
    assert!(!scene.is_free().await);
    assert_eq!(scene.part(Ok("b")).await, ok("b"));
    assert!(!scene.is_free().await);
    scene.parts = None;
    assert_eq!(scene.next().await, None);
    assert!(scene.is_free().await, "released before the end is told");
    assert_eq!(scene.dropped_under_lock.load(Ordering::SeqCst), 1);
    assert!(scene.body.is_end_stream());
}

#[tokio::test(start_paused = true)]
async fn acquire_of_the_held_lock_in_its_body_returns_already_held() {
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), orders()).until_body_end(MOST);
    let of_body = locks.clone();
    let service = layer.layer(service_fn(move |_| {
        let locks = of_body.clone();
        let parts = futures_util::stream::once(async move {
            // Acquire after another wait, because each poll must run in the scope of the holder.
            tokio::time::sleep(Duration::from_secs(1)).await;
            let nested = locks.lock("order:7").acquire().await;
            let told = matches!(nested, Err(Error::AlreadyHeld { .. }));
            Ok::<_, Infallible>(Frame::data(Bytes::from(told.to_string())))
        });
        let body = http_body_util::StreamBody::new(Box::pin(parts));
        async move { Ok::<_, Infallible>(Response::new(body)) }
    }));
    let response = service.oneshot(post("/orders/7")).await.unwrap();
    let mut body = response.into_body();
    let told = body.frame().await.unwrap().unwrap().into_data();
    assert_eq!(told.unwrap(), "true");
    // The reader of the body is not the holder.
    let outside = locks.lock("order:7").wait(Duration::ZERO).acquire().await;
    assert!(matches!(outside, Err(Error::TimedOut { .. })));
    assert!(body.frame().await.is_none());
    assert!(is_free(&locks, "order:7").await);
}

#[tokio::test(start_paused = true)]
async fn body_of_known_length_releases_the_lock_with_its_last_part() {
    let mut scene = Scene::new(Some(3)).await;
    assert_eq!(scene.body.size_hint().exact(), Some(3));
    assert_eq!(scene.part(Ok("a")).await, ok("a"));
    assert!(!scene.is_free().await);
    assert_eq!(scene.part(Ok("bc")).await, ok("bc"));
    assert!(scene.is_free().await);
    assert!(scene.body.is_end_stream());
    assert_eq!(scene.body.size_hint().exact(), Some(0));
}

#[tokio::test(start_paused = true)]
async fn failed_or_dropped_body_releases_the_lock() {
    let mut scene = Scene::new(None).await;
    assert_eq!(
        scene.part(Err("broken")).await,
        Some(Err("broken".to_owned()))
    );
    assert!(scene.is_free().await);
    assert_eq!(scene.next().await, None);

    for polled in [false, true] {
        let mut scene = Scene::new(None).await;
        if polled {
            assert_eq!(scene.part(Ok("a")).await, ok("a"));
        }
        assert!(!scene.is_free().await);
        drop(scene.body);
        until_free(&scene.locks, "order:7").await;
        assert_eq!(scene.dropped_under_lock.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn unpolled_body_releases_the_lock_after_the_body_time_limit() {
    let mut scene = Scene::new(None).await;
    tokio::time::sleep(MOST - Duration::from_millis(1)).await;
    assert!(!scene.is_free().await);
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert!(scene.is_free().await);
    let cut = scene.part(Ok("late")).await.unwrap().unwrap_err();
    assert_eq!(cut, BodyCut::TooLong { after: MOST }.to_string());
    assert_eq!(scene.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn unpolled_body_releases_the_lock_after_max_hold() {
    // Shorter than the TTL.
    let longest = Duration::from_secs(5);
    for on_loss in [OnLoss::Cancel, OnLoss::Continue] {
        let locks = LockManager::in_process();
        let change = |layer: LockLayer<PathKey>| layer.max_hold(longest).on_loss(on_loss);
        let mut scene = Scene::with(locks, None, change).await;
        tokio::time::sleep(longest / 2).await;
        assert!(!scene.is_free().await);
        tokio::time::sleep(longest).await;
        assert!(scene.is_free().await, "{on_loss:?}");
        let last = scene.part(Ok("late")).await;
        match on_loss {
            OnLoss::Cancel => assert!(last.unwrap().unwrap_err().contains("lost")),
            OnLoss::Continue => assert_eq!(last, ok("late")),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn lock_is_released_before_the_trailers_are_returned() {
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), orders()).until_body_end(MOST);
    let service = layer.layer(service_fn(async |_| {
        let frames = [
            Frame::data(Bytes::from("a")),
            Frame::trailers(HeaderMap::new()),
        ];
        let frames = futures_util::stream::iter(frames.map(Ok::<_, Infallible>));
        Ok::<_, Infallible>(Response::new(http_body_util::StreamBody::new(frames)))
    }));
    let response = service.oneshot(post("/orders/7")).await.unwrap();
    let mut body = response.into_body();
    assert!(body.frame().await.unwrap().unwrap().is_data());
    assert!(!is_free(&locks, "order:7").await);
    assert!(body.frame().await.unwrap().unwrap().is_trailers());
    assert!(is_free(&locks, "order:7").await);
    assert!(body.frame().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn on_loss_continue_sends_a_late_body_without_the_lock() {
    let names = Names::default();
    let _listening = names.listen();
    let locks = LockManager::in_process();
    let mut scene = Scene::with(locks, None, |layer| layer.on_loss(OnLoss::Continue)).await;
    tokio::time::sleep(MOST * 2).await;
    assert!(scene.is_free().await);
    assert_eq!(scene.part(Ok("late")).await, ok("late"));
    scene.parts = None;
    assert_eq!(scene.next().await, None);
    assert_eq!(names.all(), ["WARN leasehold_tower.body_outlived_lock"]);
}

#[tokio::test(start_paused = true)]
async fn lost_lock_ends_the_body_with_an_error() {
    let ttl = Duration::from_secs(1);
    let short_lived = || {
        let builder = LockManager::builder().ttl(ttl);
        builder.without_renewal().build(InProcess::new()).unwrap()
    };
    let mut scene = Scene::with(short_lived(), None, |layer| layer).await;
    let cut = scene.next().await.unwrap().unwrap_err();
    assert!(cut.contains("lost"), "{cut}");
    assert_eq!(scene.next().await, None);

    let mut scene = Scene::with(short_lived(), None, |layer| layer.on_loss(OnLoss::Continue)).await;
    tokio::time::sleep(ttl * 2).await;
    assert_eq!(scene.part(Ok("late")).await, ok("late"));
}

#[tokio::test(start_paused = true)]
async fn response_without_a_body_releases_the_lock_immediately() {
    let answers = [
        (Method::HEAD, StatusCode::OK),
        (Method::POST, StatusCode::NO_CONTENT),
        (Method::POST, StatusCode::NOT_MODIFIED),
        (Method::POST, StatusCode::SWITCHING_PROTOCOLS),
        (Method::CONNECT, StatusCode::OK),
    ];
    for (method, status) in answers {
        let locks = LockManager::in_process();
        let layer = LockLayer::new(locks.clone(), orders())
            .all_methods()
            .until_body_end(MOST);
        let service = layer.layer(service_fn(move |_| async move {
            let body = http_body_util::StreamBody::new(futures_util::stream::pending::<
                Result<Frame<Bytes>, Infallible>,
            >());
            let mut response = Response::new(body);
            *response.status_mut() = status;
            Ok::<_, Infallible>(response)
        }));
        let mut request = post("/orders/7");
        *request.method_mut() = method.clone();
        let response = service.oneshot(request).await.unwrap();
        assert!(is_free(&locks, "order:7").await, "{method} {status}");
        drop(response);
    }
}

#[tokio::test(start_paused = true)]
async fn empty_body_releases_the_lock_with_the_response() {
    let scene = Scene::new(Some(0)).await;
    assert!(scene.is_free().await);
    assert!(scene.body.is_end_stream());
}

#[tokio::test(start_paused = true)]
async fn lock_lost_in_the_last_poll_ends_the_body_with_an_error() {
    for (on_loss, cut_off) in [(OnLoss::Cancel, true), (OnLoss::Continue, false)] {
        let locks = LockManager::in_process();
        let layer = LockLayer::new(locks.clone(), orders())
            .until_body_end(MOST)
            .on_loss(on_loss);
        let service = layer.layer(service_fn(move |_| {
            let locks = locks.clone();
            let ending = futures_util::stream::poll_fn(move |_| {
                // The first poll of `shutdown` ends all guards.
                let _ended = locks.shutdown().now_or_never();
                Poll::Ready(None::<Result<Frame<Bytes>, Infallible>>)
            });
            let body = http_body_util::StreamBody::new(ending);
            async move { Ok::<_, Infallible>(Response::new(body)) }
        }));
        let response = service.oneshot(post("/orders/7")).await.unwrap();
        let last = response.into_body().frame().await;
        assert_eq!(last.is_some_and(|it| it.is_err()), cut_off, "{on_loss:?}");
    }
}
