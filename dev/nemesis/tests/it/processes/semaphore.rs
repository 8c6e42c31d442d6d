//! A semaphore whose holders are killed.

use std::time::{Duration, Instant};

use leasehold::LockManager;
use leasehold_nemesis::clients::Repeat;
use leasehold_testkit::depth;
use leasehold_testkit::history::History;
use leasehold_testkit::servers::RedisServer;
use tokio::time::{sleep, timeout};

use crate::processes::{ENDLESS, started, work};

const PERMITS: u32 = 16;
const TTL: Duration = Duration::from_secs(1);

#[tokio::test]
async fn killed_holders_lose_their_permits_and_the_limit_is_never_exceeded() {
    let count = usize::try_from(depth::scaled(1_000)).unwrap();
    let least_cut_off = usize::try_from(depth::scaled(6)).unwrap();
    let server = RedisServer::start().await.unwrap();
    let work = Repeat {
        ttl: TTL,
        hold: Duration::from_millis(30),
        permits: Some(PERMITS),
        ..work(12, ENDLESS)
    };
    let mut clients = started(3, &server.url(), work);
    let locks = LockManager::connect(&server.url()).await.unwrap();
    let begin = Instant::now();
    let mut random = fastrand::Rng::with_seed(depth::seed());
    let mut kills = 0;
    loop {
        let history = clients.history().unwrap();
        // At most as many as there are permits may still end.
        let has_enough = cut_off(&history) >= least_cut_off + PERMITS as usize;
        let were_all_in_use = history.most_at_once() >= PERMITS as usize;
        if has_enough && were_all_in_use && history.holds().len() >= count {
            break;
        }
        assert!(begin.elapsed() < depth::seconds(300), "too slow");
        sleep(Duration::from_millis(random.u64(300..900))).await;
        clients.group.kill(random.usize(0..3));
        kills += 1;
        clients.start(|client| client).unwrap();
    }
    // The processes are killed while they hold permits. The last permits become free after a TTL.
    clients.group.kill_all();
    let killed = Instant::now();
    let all = locks.semaphore("k", PERMITS).acquire_many(PERMITS);
    let all = timeout(Duration::from_secs(60), all)
        .await
        .unwrap()
        .unwrap();
    let back = killed.elapsed();
    all.release().await.unwrap();

    let history = clients.history().unwrap();
    let cut_off = cut_off(&history);
    let most = history.most_at_once();
    println!(
        "{} acquisitions in {:?} beside {kills} kills; {cut_off} were cut off while they held; at most {most} of {PERMITS} at once; all back {back:?} after the last kill",
        history.holds().len(),
        begin.elapsed(),
    );
    assert_eq!(most, PERMITS as usize, "the limit is exceeded");
    assert!(cut_off >= least_cut_off, "{cut_off}");
    history.check().unwrap();
}

/// Returns the number of holds that have not ended.
fn cut_off(history: &History) -> usize {
    history.holds().iter().filter(|it| !it.ended).count()
}
