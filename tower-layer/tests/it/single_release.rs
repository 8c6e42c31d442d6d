//! Each lock is released once, in each way in which its request can end.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use leasehold::LockManager;
use leasehold::backend::InProcess;
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold_tower::key::PathKey;
use leasehold_tower::{LockLayer, OnDisconnect};
use tower::{Layer, ServiceExt, service_fn};

use crate::tools::{orders, post, until_free};

const MOST: Duration = Duration::from_secs(10);

type Answer = Result<Response<Full<Bytes>>, &'static str>;

/// How a request ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Answered,
    Failed,
    Panicked,
    Dropped,
}

async fn handle(end: End) -> Answer {
    tokio::task::yield_now().await;
    match end {
        End::Answered => Ok(Response::new(Full::from("done"))),
        End::Failed => Err("out of stock"),
        End::Panicked => panic!("a bug"),
        End::Dropped => std::future::pending().await,
    }
}

async fn releases(
    end: End,
    change: impl Fn(LockLayer<PathKey>) -> LockLayer<PathKey>,
    read: bool,
) -> usize {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let backend = Faulty::new(InProcess::new(), move |call| {
        counted.fetch_add(
            usize::from(call.command == Command::Release),
            Ordering::SeqCst,
        );
        Fault::None
    });
    let locks = LockManager::new(backend);
    let layer = change(LockLayer::new(locks.clone(), orders()));
    let service = layer.layer(service_fn(move |_: Request<()>| handle(end)));
    let request = tokio::spawn(async move {
        let answer =
            tokio::time::timeout(Duration::from_secs(1), service.oneshot(post("/orders/7")));
        if let Ok(Ok(answer)) = answer.await
            && read
        {
            answer.into_body().collect().await.unwrap();
        }
        Ok::<_, Infallible>(())
    });
    assert_eq!(request.await.is_err(), end == End::Panicked, "{end:?}");
    until_free(&locks, "order:7").await;
    tokio::time::sleep(MOST * 3).await;
    count.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn lock_is_released_once_for_each_end_of_a_request() {
    for end in [End::Answered, End::Failed, End::Panicked, End::Dropped] {
        for read in [true, false] {
            assert_eq!(releases(end, |layer| layer, read).await, 1, "{end:?}");
            let to_the_end = |layer: LockLayer<PathKey>| layer.until_body_end(MOST);
            assert_eq!(releases(end, to_the_end, read).await, 1, "{end:?}, {read}");
        }
    }
    for end in [End::Answered, End::Failed, End::Panicked] {
        let finish = |layer: LockLayer<PathKey>| layer.on_disconnect(OnDisconnect::Continue);
        assert_eq!(releases(end, finish, true).await, 1, "{end:?}");
    }
}
