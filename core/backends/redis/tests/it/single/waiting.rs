//! Waiters whose notifications are lost, whose connections break, and whose server is restarted.

use std::time::Duration;

use leasehold::backend::redis::Redis;
use leasehold::backend::{Attempt, AttemptAnswer, Backend};
use leasehold::{AttemptId, Key, LockGuard, LockManager};
use leasehold_testkit::proxy::{Proxy, Stats};
use leasehold_testkit::servers::RedisBuilder;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use crate::single::server::{Server, waiters};

/// Less than the eleven seconds after which waiters behind the first one poll.
const UNTIL_A_POLL: Duration = Duration::from_secs(10);

/// Waiters in a known order, each with its own connection through one proxy.
struct Line {
    proxy: Proxy,
    granted: mpsc::UnboundedReceiver<(usize, LockGuard)>,
}

impl Line {
    /// Queues the waiters. `look` checks the length of the queue.
    async fn form(server: &Server, look: &LockManager, length: usize) -> Self {
        let proxy = Proxy::start(server.inner().port()).await.unwrap();
        let (sender, granted) = mpsc::unbounded_channel();
        for place in 0..length {
            let url = server.inner().url_at(proxy.port());
            let locks = LockManager::new(Redis::connect(&url).await.unwrap());
            let sender = sender.clone();
            tokio::spawn(async move {
                let guard = locks.lock("k").acquire().await.unwrap();
                sender.send((place, guard)).unwrap();
            });
            waiters(look, place + 1).await;
        }
        Self { proxy, granted }
    }

    /// Returns the waiters in the order in which they get the lock, and the longest wait of one of them.
    async fn served(&mut self, length: usize, limit: Duration) -> (Vec<usize>, Duration) {
        let (mut order, mut longest) = (Vec::new(), Duration::ZERO);
        for _ in 0..length {
            let begin = Instant::now();
            let next = timeout(limit, self.granted.recv()).await;
            let (place, guard) = next.expect("somebody is served").unwrap();
            longest = longest.max(begin.elapsed());
            order.push(place);
            guard.release().await.unwrap();
        }
        (order, longest)
    }
}

/// Returns when the inboxes of `length` waiters are open. A waiter without an open inbox is skipped.
async fn all_listen(server: &Server, length: usize) {
    let look = async {
        loop {
            let mut inboxes = redis::cmd("PUBSUB");
            inboxes.arg("CHANNELS").arg("leasehold:inbox:*");
            let open: Vec<String> = inboxes.query_async(&mut server.raw().await).await.unwrap();
            // The holder has an inbox, too.
            if open.len() > length {
                return;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(60), look)
        .await
        .expect("they come back");
}

#[tokio::test]
async fn a_waiter_whose_notification_is_lost_acquires_at_its_next_poll() {
    const LENGTH: usize = 8;
    // The time of an unconfirmed grant, and a refresh interval, on a busy machine. It is less than the 33 s for which a
    // position in the queue lasts.
    let limit = Duration::from_secs(2 + 11) + Duration::from_secs(17);
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = locks.lock("k").acquire().await.unwrap();
    let mut line = Line::form(&server, &locks, LENGTH).await;
    line.proxy.lose_pushes(2);
    guard.release().await.unwrap();
    let (_order, longest) = line.served(LENGTH, limit).await;
    let lost = line.proxy.stats().lost_pushes;
    println!("{lost} wake-ups lost, longest wait {longest:?}");
    assert!(lost >= 2);
}

#[tokio::test]
async fn waiters_whose_connections_break_keep_their_positions() {
    const LENGTH: usize = 4;
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = locks.lock("k").acquire().await.unwrap();
    let mut line = Line::form(&server, &locks, LENGTH).await;
    line.proxy.cut();
    let all_anew = |stats: &Stats| stats.connections >= 2 * LENGTH as u64;
    line.proxy.until("all are back", all_anew).await.unwrap();
    all_listen(&server, LENGTH).await;
    guard.release().await.unwrap();
    let (order, longest) = line.served(LENGTH, Duration::from_secs(20)).await;
    assert_eq!(order, [0, 1, 2, 3]);
    assert!(
        longest < UNTIL_A_POLL,
        "woken by new connections: {longest:?}"
    );
}

#[tokio::test]
async fn waiters_keep_their_order_over_a_restart_that_keeps_the_data() {
    const LENGTH: usize = 4;
    let server = Server::with(RedisBuilder::keeps_data).await;
    let locks = server.locks().await;
    let guard = locks.lock("k").acquire().await.unwrap();
    let mut line = Line::form(&server, &locks, LENGTH).await;
    server.kill();
    sleep(Duration::from_millis(300)).await;
    server.start_again().await;
    all_listen(&server, LENGTH).await;
    guard.release().await.unwrap();
    let (order, _longest) = line.served(LENGTH, Duration::from_secs(20)).await;
    assert_eq!(order, [0, 1, 2, 3]);
}

#[tokio::test]
async fn a_waiter_acquires_soon_after_all_before_it_have_crashed() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let url = server.inner().url_at(proxy.port());
    let lives = server.locks().await;
    let dies = LockManager::new(Redis::connect(&url).await.unwrap());
    let first = lives.lock("k").acquire().await.unwrap();
    let (sender, mut granted) = mpsc::unbounded_channel();
    let line = [("a", &lives), ("b", &dies), ("c", &dies), ("d", &lives)];
    for (place, (name, locks)) in line.into_iter().enumerate() {
        let (lock, sender) = (locks.lock("k").ttl(Duration::from_secs(3)), sender.clone());
        tokio::spawn(async move {
            let guard = lock.acquire().await.unwrap();
            sender.send((name, guard)).unwrap();
        });
        waiters(&lives, place + 1).await;
    }
    first.release().await.unwrap();
    let (name, guard) = granted.recv().await.unwrap();
    assert_eq!(name, "a");
    guard.release().await.unwrap();
    let (name, _held_by_the_dead) = granted.recv().await.unwrap();
    assert_eq!(name, "b");
    proxy.refuse().await.unwrap();
    proxy.cut();
    // The rest of the lease, and two polls.
    let next = timeout(UNTIL_A_POLL, granted.recv()).await;
    let (name, _guard) = next.expect("the second looks").unwrap();
    assert_eq!(name, "d");
}

#[tokio::test]
async fn a_granted_waiter_that_stays_silent_delays_the_queue_only_once() {
    let server = Server::start().await;
    let guard = server.locks().await.lock("k").acquire().await.unwrap();
    // This waiter is subscribed, but never sends another request.
    let silent = Redis::connect(&server.url()).await.unwrap();
    let key = Key::new("lock:", "k").unwrap();
    let attempt = Attempt::new(key, Duration::from_secs(30), true);
    let busy = silent.attempt(&attempt).await.unwrap();
    assert!(matches!(busy, AttemptAnswer::Busy { .. }), "{busy:?}");
    let look = server.locks().await;
    let behind = tokio::spawn(look.lock("k").wait(Duration::from_secs(25)).acquire());
    waiters(&look, 2).await;
    all_listen(&server, 2).await;
    guard.release().await.unwrap();
    let given = look.inspect("k").await.unwrap().owner;
    assert_eq!(given, Some(attempt.owner.to_string()));
    // The silent waiter had two seconds for its confirmation. Its position would have lasted for half a minute.
    assert!(behind.await.unwrap().unwrap().is_valid());
}

#[tokio::test]
async fn one_release_removes_at_most_a_thousand_dead_waiters() {
    let server = Server::start().await;
    let guard = server.locks().await.lock("k").acquire().await.unwrap();
    let mut raw = server.raw().await;
    let mut places = redis::cmd("ZADD");
    places.arg("{lock:k}:lh1:queue");
    for place in 0..1500 {
        places.arg(place).arg(AttemptId::random().to_string());
    }
    let _: usize = places.query_async(&mut raw).await.unwrap();
    guard.release().await.unwrap();
    let mut left = redis::cmd("ZCARD");
    left.arg("{lock:k}:lh1:queue");
    let left: usize = left.query_async(&mut raw).await.unwrap();
    assert_eq!(left, 500);
}
