//! `once` on a server: requests per waiter, keys, late results, and a server that fails.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use leasehold::backend::redis::Redis;
use leasehold::{Error, LockManager, MAX_RESULT_BYTES, OnceError, Operation};
use tokio::time::sleep;

use crate::single::server::{Server, waiters};

const WAITERS: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_body_runs_for_a_hundred_waiters_with_two_requests_each() {
    let server = Server::start().await;
    let managers = [
        server.locks().await,
        server.locks().await,
        server.locks().await,
    ];
    let (runs, seen) = (Arc::new(AtomicU32::new(0)), server.locks().await);
    let ended = OnceLock::new();
    let body = async |_| {
        waiters(&seen, WAITERS).await;
        ended.get_or_init(Instant::now);
        Ok::<_, Error>(format!("run {}", runs.fetch_add(1, Ordering::Relaxed)))
    };
    // The server's time is known before the count begins.
    let warm = managers
        .each_ref()
        .map(|it| it.once("warm").run(async |_| Ok::<u8, Error>(1)));
    assert!(join_all(warm).await.iter().all(Result::is_ok));
    let (begun, before) = (Instant::now(), server.scripts().await);
    let calls = (0..=WAITERS).map(|n| managers[n % 3].once("k").run(&body));
    let results = join_all(calls).await;
    // A waiter that is not notified polls after 11 s.
    let took = ended.get().unwrap().elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    let requests = server.scripts().await - before;
    let seconds = begun.elapsed().as_secs();
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let expected = [const { "run 0" }; WAITERS + 1];
    let results: Vec<String> = results.into_iter().map(Result::unwrap).collect();
    assert_eq!(results, expected);
    // Two requests of the holder, and the polls of `waiters`. While the others arrive, the first waiter of each manager
    // polls once a second.
    let polls = inspections(&server).await;
    println!("{requests} requests, of which {polls} inspections");
    assert!(
        requests - polls <= 2 * WAITERS as u64 + 4 + 3 * seconds,
        "{requests} - {polls}"
    );
}

/// Returns how often [`waiters`] has asked. Only an inspection reads a whole hash.
async fn inspections(server: &Server) -> u64 {
    server.told("commandstats", "cmdstat_hgetall:calls").await
}

#[tokio::test]
async fn each_key_of_a_result_has_a_ttl() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let minute = Duration::from_secs(60);
    let body = async |_| Ok::<_, Error>("done".to_owned());
    locks.once("k").keep(minute).run(body).await.unwrap();
    let mut raw = server.raw().await;
    let mut keys: Vec<String> = redis::cmd("KEYS")
        .arg("*")
        .query_async(&mut raw)
        .await
        .unwrap();
    keys.sort();
    assert_eq!(keys, ["{lock:k}:lh1:fence", "{lock:k}:lh1:outcome"]);
    let mut ttl = redis::cmd("PTTL");
    let left: u64 = ttl.arg(&keys[1]).query_async(&mut raw).await.unwrap();
    assert!((50_000..=60_000).contains(&left), "{left} ms");
}

#[tokio::test]
async fn a_result_of_the_maximum_size_is_kept_and_a_larger_one_is_refused() {
    let server = Server::start().await;
    let (here, there) = (server.locks().await, server.locks().await);
    // JSON adds two quotation marks.
    let largest = "x".repeat(MAX_RESULT_BYTES - 2);
    let body = async |_| Ok::<_, Error>(largest.clone());
    here.once("k").run(body).await.unwrap();
    let none = async |_| Err::<String, _>(Error::NoManager);
    assert_eq!(there.once("k").run(none).await.unwrap(), largest);
    let larger = async |_| Ok::<_, Error>(format!("{largest}x"));
    let refused = here.once("larger").run(larger).await.unwrap_err();
    let size = MAX_RESULT_BYTES + 1;
    assert!(
        matches!(&refused, Error::Once(OnceError::TooLarge { size: seen, .. }) if *seen == size),
        "{refused}"
    );
    let shared = there.once("larger").run(none).await.unwrap_err();
    assert!(
        matches!(&shared, Error::Once(OnceError::Failed { .. })),
        "{shared}"
    );
}

#[tokio::test]
async fn the_result_of_a_former_holder_is_refused() {
    let server = Server::start().await;
    let (here, there) = (server.locks().await, server.locks().await);
    let body = async |_| {
        assert!(there.force_release("k").await.unwrap());
        let other = there
            .once("k")
            .run(async |_| Ok::<_, Error>("second".to_owned()));
        assert_eq!(other.await.unwrap(), "second");
        Ok::<_, Error>("first".to_owned())
    };
    let late = here.once("k").run(body).await.unwrap_err();
    assert!(
        matches!(&late, Error::LostInBody(lost) if lost.completed),
        "{late}"
    );
    let none = async |_| Err::<String, _>(Error::NoManager);
    assert_eq!(here.once("k").run(none).await.unwrap(), "second");
}

#[tokio::test]
async fn a_server_failure_before_the_record_is_an_error_and_the_next_body_runs() {
    let server = Server::start().await;
    let backend = Redis::connect(&server.url()).await.unwrap();
    let builder = LockManager::builder().backend_retry_timeout(Duration::from_millis(200));
    let locks = builder.build(backend).unwrap();
    let body = async |_| {
        server.kill();
        Ok::<_, Error>(1)
    };
    let failed = locks.once("k").run(body).await.unwrap_err();
    let is_record = matches!(
        &failed,
        Error::Backend {
            operation: Operation::Record,
            ..
        }
    );
    assert!(is_record, "{failed}");
    server.start_again().await;
    let next = loop {
        match server
            .locks()
            .await
            .once("k")
            .run(async |_| Ok::<_, Error>(2))
            .await
        {
            Ok(next) => break next,
            Err(error) => assert!(error.is_temporary(), "{error}"),
        }
        sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(next, 2);
}

#[tokio::test]
async fn a_full_server_keeps_no_part_of_a_result() {
    let server = Server::with(|it| it.max_memory("4mb", "noeviction")).await;
    let backend = Redis::connect(&server.url()).await.unwrap();
    let builder = LockManager::builder().backend_retry_timeout(Duration::from_millis(200));
    let locks = builder.build(backend).unwrap();
    let body = async |_| {
        let mut raw = server.raw().await;
        let (mut n, mut full) = (0_u32, false);
        while !full {
            let mut set = redis::cmd("SET");
            set.arg(n).arg(vec![b'x'; 64 * 1024]);
            full = set.exec_async(&mut raw).await.is_err();
            n += 1;
        }
        Ok::<_, Error>("x".repeat(256 * 1024))
    };
    let failed = locks.once("k").run(body).await.unwrap_err();
    assert!(
        matches!(
            &failed,
            Error::Backend {
                operation: Operation::Record,
                ..
            }
        ),
        "{failed}"
    );
    let mut raw = server.raw().await;
    let found: u8 = redis::cmd("EXISTS")
        .arg("{lock:k}:lh1:outcome")
        .query_async(&mut raw)
        .await
        .unwrap();
    assert_eq!(found, 0);
}
