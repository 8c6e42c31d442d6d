//! Which task sends a batch, and which requests are sent alone.

use std::future::poll_fn;
use std::mem;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::poll;
use leasehold::backend::redis::Redis;
use leasehold::backend::{Applied, Attempt, AttemptAnswer, Backend};
use leasehold::{Error, Key, LockManager};
use leasehold_testkit::proxy::{Proxy, Which};
use tokio::runtime::{Builder, Handle};
use tokio::time::{sleep, timeout};

use crate::single::batched_requests::{ALONE, beside_a_crowd, beside_locks};
use crate::single::server::{Server, count};

const AT_ONCE: usize = 64;

fn attempt(name: &str) -> Attempt {
    let key = Key::new("lock:", name).unwrap();
    Attempt::new(key, Duration::from_secs(30), false)
}

/// After this call the backend knows the server's time and does not query it again.
async fn use_once(locks: &LockManager) {
    let first = locks.lock("first").acquire().await.unwrap();
    first.release().await.unwrap();
}

#[tokio::test]
async fn a_request_that_is_sent_alone_needs_no_task() {
    let server = Server::start().await;
    let locks = server.locks().await;
    use_once(&locks).await;
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let all = (0..ALONE + 2).map(|number| Box::pin(locks.lock(format!("k{number}")).acquire()));
    let mut all = all.collect::<Vec<_>>();
    for (number, asked) in all.iter_mut().enumerate() {
        assert!(poll!(asked).is_pending());
        let carriers = usize::from(number >= ALONE);
        assert_eq!(tasks(), before + carriers, "the last two have one together");
    }
    for acquired in join_all(all).await {
        acquired.unwrap().release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn requests_of_many_ready_tasks_are_sent_in_few_calls() {
    let server = Server::start().await;
    let locks = server.locks().await;
    use_once(&locks).await;
    let mut all = Vec::new();
    // On a busy machine, some requests may be answered before all are made.
    for round in 0..20 {
        let before = server.scripts().await;
        let of_all = locks.clone();
        let guards = tokio::spawn(async move {
            let tasks: Vec<_> = (0..AT_ONCE)
                .map(|number| tokio::spawn(of_all.lock(format!("k{round}:{number}")).acquire()))
                .collect();
            join_all(tasks).await
        });
        let guards = guards.await.unwrap();
        let calls = server.scripts().await - before;
        for guard in guards {
            guard.unwrap().unwrap().release().await.unwrap();
        }
        // Eight requests are sent alone, and the others in four batches.
        if calls <= 16 {
            return;
        }
        all.push(calls);
    }
    panic!("{all:?} calls");
}

#[tokio::test]
async fn a_large_enough_batch_does_not_wait_for_ready_tasks() {
    let server = Server::start().await;
    let locks = server.locks().await;
    use_once(&locks).await;
    let before = server.scripts().await;
    let of_all = locks.clone();
    let _asking = tokio::spawn(async move {
        let all = (0..ALONE + 7).map(|number| of_all.lock(format!("k{number}")).acquire());
        join_all(all.collect::<Vec<_>>()).await
    });
    let client = redis::Client::open(server.url()).unwrap();
    let mut blocking = client.get_connection().unwrap();
    let calls = ALONE as u64 + 1;
    let due = tokio::spawn(async move {
        let mut was_polled = false;
        poll_fn(|context| {
            // Continue after the tasks that send the batches.
            if mem::replace(&mut was_polled, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) {
            let mut ask = redis::cmd("INFO");
            let info: String = ask.arg("commandstats").query(&mut blocking).unwrap();
            if count(&info, "cmdstat_evalsha:calls") - before >= calls {
                return true;
            }
        }
        false
    });
    assert!(due.await.unwrap(), "they waited for this task to be polled");
}

#[test]
fn a_request_not_sent_before_its_runtime_ended_is_sent_alone() {
    let runtime = || Builder::new_current_thread().enable_all().build().unwrap();
    let (lives, ends) = (runtime(), runtime());
    let (_server, backend) = lives.block_on(async {
        let server = Server::start().await;
        let backend = Redis::connect(&server.url()).await.unwrap();
        backend.attempt(&attempt("first")).await.unwrap();
        (server, backend)
    });
    let attempts: Vec<_> = (0..=ALONE)
        .map(|number| attempt(&format!("k{number}")))
        .collect();
    let asked = attempts.iter().map(|it| Box::pin(backend.attempt(it)));
    let mut asked = asked.collect::<Vec<_>>();
    ends.block_on(async {
        for it in &mut asked {
            assert!(poll!(it).is_pending());
        }
    });
    let gathered = asked.pop().unwrap();
    drop(ends);
    let answer = lives.block_on(async { timeout(Duration::from_secs(5), gathered).await });
    let answer = answer.expect("at once").unwrap();
    assert!(
        matches!(answer, AttemptAnswer::Granted { .. }),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_batch_that_could_not_be_sent_is_reported_as_not_applied() {
    let server = Server::start().await;
    let locks = server.locks().await;
    use_once(&locks).await;
    server.kill();
    // The request that detects the broken connection may have reached the server.
    while let Err(Error::Backend { applied, .. }) = locks.lock("k").try_acquire().await
        && applied == Applied::Unknown
    {}
    let all = (0..AT_ONCE).map(|number| locks.lock(format!("k{number}")).try_acquire());
    for refused in join_all(all.collect::<Vec<_>>()).await {
        let error = refused.unwrap_err();
        let Error::Backend { applied, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(applied, Applied::No);
    }
}

#[tokio::test]
async fn batched_releases_whose_reply_is_lost_return_success() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let url = server.inner().url_at(proxy.port());
    let locks = LockManager::new(Redis::connect(&url).await.unwrap());
    let all = (0..AT_ONCE / 4).map(|number| locks.lock(format!("k{number}")).acquire());
    let guards = join_all(all.collect::<Vec<_>>()).await;
    proxy.cut_after(Which::mentioning("lock:k9").times(1));
    let released = guards.into_iter().map(|it| it.unwrap().release());
    for outcome in join_all(released.collect::<Vec<_>>()).await {
        outcome.unwrap();
    }
    assert!(proxy.stats().connections > 1, "it was cut");
}

#[tokio::test]
async fn a_refused_cleanup_in_a_batch_returns_the_reason() {
    let server = Server::start().await;
    let backend = Redis::connect(&server.url()).await.unwrap();
    let mut list = redis::cmd("RPUSH");
    list.arg("lock:list").arg("no lock");
    let () = list.query_async(&mut server.raw().await).await.unwrap();
    let attempts = ["a", "b", "list", "c"].map(attempt);
    let cleanups = attempts.iter().map(|it| backend.cleanup(it));
    let cleaned_up = beside_a_crowd(&backend, join_all(cleanups)).await;
    for (number, cleaned_up) in cleaned_up.into_iter().enumerate() {
        if number == 2 {
            let refused = cleaned_up.unwrap_err();
            assert!(
                refused.to_string().contains("data of another type"),
                "{refused}"
            );
        } else {
            cleaned_up.unwrap();
        }
    }
}

#[tokio::test]
async fn a_batch_whose_callers_were_all_dropped_ends_its_task() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let backend = Redis::connect(&server.inner().url_at(proxy.port()))
        .await
        .unwrap();
    let tasks = || Handle::current().metrics().num_alive_tasks();
    // After the requests that are sent alone, two further requests are sent one by one, and more are sent in a batch.
    for (count, is_cleanup) in [(2, false), (2, true), (16, false), (16, true)] {
        let alone = (0..ALONE).map(|number| format!("alone{number}"));
        let names = alone.chain((1..=count).map(|number| format!("k{number}")));
        let attempts: Vec<_> = names.map(|name| attempt(&name)).collect();
        backend.attempt(&attempt("first")).await.unwrap();
        let before = tasks();
        let lost = proxy.stats().lost_replies;
        proxy.lose_replies(Which::mentioning("lock:k1").times(1));
        let ask = async |attempt| match is_cleanup {
            true => backend.cleanup(attempt).await,
            false => backend.attempt(attempt).await.map(drop),
        };
        tokio::select! {
            _ = join_all(attempts.iter().map(ask)) => panic!("one is not answered"),
            seen = proxy.until("an answer is lost", |seen| seen.lost_replies > lost) => { seen.unwrap(); }
        }
        let over = async {
            while tasks() > before {
                sleep(Duration::from_millis(10)).await;
            }
        };
        let over = timeout(Duration::from_secs(10), over).await;
        assert!(
            over.is_ok(),
            "{} tasks of {before}: {count}, {is_cleanup}",
            tasks()
        );
    }
}

#[tokio::test]
async fn concurrent_handovers_are_all_accepted() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let mut tickets = Vec::new();
    for key in ["a", "b", "c", "d"] {
        let guard = locks.lock(key).acquire().await.unwrap();
        tickets.push(guard.hand_over().await.unwrap());
    }
    let taken = tickets
        .iter()
        .map(|ticket| locks.accept(ticket).into_future());
    for taken in beside_locks(&locks, join_all(taken.collect::<Vec<_>>())).await {
        taken.unwrap().release().await.unwrap();
    }
}
