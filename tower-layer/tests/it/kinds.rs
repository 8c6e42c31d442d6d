//! Requests that run concurrently: readers, and a limited number of requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use http::Method;
use leasehold::LockManager;
use leasehold::kind::{Permits, Shared};
use leasehold_tower::{LockLayer, Locked};
use tokio::time::sleep;

use crate::tools::{behind, done, get, is_free, orders, post, problem, send, status};

#[tokio::test(start_paused = true)]
async fn readers_run_concurrently_and_not_alongside_a_writer() {
    let locks = LockManager::in_process();
    let wait = Duration::from_secs(60);
    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = {
        let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
        move || {
            let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            Arc::clone(&inside)
        }
    };
    let reads = LockLayer::new(locks.clone(), orders()).read();
    let reading = count.clone();
    let read = behind(reads.methods([Method::GET]).wait(wait), move |request| {
        let inside = reading();
        async move {
            let Locked::<Shared>(lock) = request.extensions().get().unwrap();
            sleep(Duration::from_millis(50)).await;
            assert!(lock.is_valid());
            inside.fetch_sub(1, Ordering::SeqCst);
            done()
        }
    });
    let write = behind(LockLayer::new(locks.clone(), orders()).wait(wait), {
        move |_| {
            let inside = count();
            async move {
                assert_eq!(inside.load(Ordering::SeqCst), 1, "beside a writer");
                sleep(Duration::from_millis(50)).await;
                inside.fetch_sub(1, Ordering::SeqCst);
                done()
            }
        }
    });
    let requests = (0..20).map(|n| {
        let (read, write) = (&read, &write);
        async move {
            match n % 5 {
                4 => status(write, post("/orders/7")).await,
                _ => status(read, get("/orders/7")).await,
            }
        }
    });
    let answers = join_all(requests).await;
    assert!(answers.iter().all(|status| *status == 200));
    assert_eq!(most.load(Ordering::SeqCst), 4, "those who stood together");
    assert!(is_free(&locks, "order:7").await);
}

#[tokio::test(start_paused = true)]
async fn max_concurrent_limits_the_number_of_running_requests() {
    let locks = LockManager::in_process();
    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let layer = || LockLayer::new(locks.clone(), orders()).max_concurrent(3);
    let counted = {
        let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
        move |request: http::Request<()>| {
            let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
            async move {
                assert!(request.extensions().get::<Locked<Permits>>().is_some());
                let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                sleep(Duration::from_millis(20)).await;
                inside.fetch_sub(1, Ordering::SeqCst);
                done()
            }
        }
    };
    let limited = behind(layer().wait(Duration::from_secs(60)), counted.clone());
    let answers = join_all((0..30).map(|_| status(&limited, post("/orders/7")))).await;
    assert!(answers.iter().all(|status| *status == 200));
    assert_eq!(most.load(Ordering::SeqCst), 3);

    let impatient = behind(layer(), counted);
    let answers = join_all((0..4).map(|_| status(&impatient, post("/orders/7")))).await;
    assert_eq!(answers.iter().filter(|status| **status == 409).count(), 1);
    assert!(is_free(&locks, "order:7").await);
}

#[tokio::test(start_paused = true)]
async fn semaphore_on_a_key_that_is_used_as_a_lock_is_a_server_error() {
    let locks = LockManager::in_process();
    let limited = LockLayer::new(locks.clone(), orders()).max_concurrent(3);
    let service = behind(limited, async |_| done());
    let _alone = locks.lock("order:7").acquire().await.unwrap();
    let answer = problem(send(&service, post("/orders/7")).await).await;
    assert_eq!(answer, (500, "misconfigured".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn semaphore_without_permits_is_a_server_error() {
    let none = LockLayer::new(LockManager::in_process(), orders()).max_concurrent(0);
    let service = behind(none, async |_| done());
    let answer = problem(send(&service, post("/orders/7")).await).await;
    assert_eq!(answer, (500, "misconfigured".to_owned()));
}
