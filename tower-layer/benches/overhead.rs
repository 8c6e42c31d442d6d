//! What a layer costs a request whose lock is free: the same request without it, with it, and with it but passing
//! through, in turns; in process, and over Redis, beside what one would write by hand. Run it with
//! `cargo bench -p leasehold-tower`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures and prints"
)]

use std::convert::Infallible;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use leasehold::{InProcessFenceStore, LockManager};
use leasehold_testkit::servers::RedisServer;
use leasehold_tower::{FenceLayer, LockLayer, key};
use tower::{Layer, Service, ServiceExt, service_fn};

/// A slice is short, so that what else the machine does falls on all alike.
const SLICES: usize = 201;

fn request(method: Method) -> Request<()> {
    let request = Request::builder().method(method).uri("/orders/7");
    request.header("x-fencing-token", "7").body(()).unwrap()
}

/// One slice: how long `count` requests take, one after the other.
async fn slice<S, B>(service: &S, method: &Method, count: usize) -> Duration
where
    S: Service<Request<()>, Response = Response<B>, Error = Infallible> + Clone,
{
    let requests: Vec<_> = (0..count).map(|_| request(method.clone())).collect();
    let begun = Instant::now();
    for request in requests {
        let answer = service.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    begun.elapsed()
}

/// What a handler would do that locks by itself.
async fn by_hand(locks: &LockManager, count: usize) -> Duration {
    let begun = Instant::now();
    for _ in 0..count {
        let guard = locks
            .lock("order:7")
            .wait(Duration::ZERO)
            .acquire()
            .await
            .unwrap();
        let work = guard.handle().scope(std::future::ready(()));
        guard.run(work).await.unwrap();
        guard.release().await.unwrap();
    }
    begun.elapsed()
}

/// The median, per request, in microseconds.
fn median(mut times: Vec<Duration>, count: usize) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6 / count as f64
}

async fn compare(name: &'static str, locks: LockManager, count: usize) {
    let handler = service_fn(async |_: Request<()>| {
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("done")))
    });
    let order = || key::path("order:{id}").on("/orders/{id}");
    let locked = LockLayer::new(locks.clone(), order()).layer(handler);
    let fenced = FenceLayer::new(InProcessFenceStore::new(), order()).layer(handler);
    let mut times: [Vec<Duration>; 5] = Default::default();
    for at in 0..SLICES {
        for turn in 0..5 {
            let which = (at + turn) % 5;
            times[which].push(match which {
                0 => slice(&handler, &Method::POST, count).await,
                1 => slice(&locked, &Method::POST, count).await,
                2 => slice(&locked, &Method::GET, count).await,
                3 => slice(&fenced, &Method::POST, count).await,
                _ => by_hand(&locks, count).await,
            });
        }
    }
    let [bare, lock, pass, fence, hand] = times.map(|it| median(it, count));
    println!(
        "{name:<10} bare {bare:.2} µs; a lock adds {:.2} µs, by hand it takes {hand:.2} µs: ratio {:.3}; \
         passing through adds {:.2} µs; a fence in process adds {:.2} µs",
        lock - bare,
        (lock - bare) / hand,
        pass - bare,
        fence - bare,
    );
}

/// On workers of the runtime, as a server does.
#[tokio::main]
async fn main() {
    let in_process = compare("in process", LockManager::in_process(), 200);
    tokio::spawn(in_process).await.unwrap();
    let server = RedisServer::start().await.unwrap();
    let locks = LockManager::connect(&server.url()).await.unwrap();
    tokio::spawn(compare("over Redis", locks, 20))
        .await
        .unwrap();
}
