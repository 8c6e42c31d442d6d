//! A semaphore whose holders are killed.

use std::time::{Duration, Instant};

use leasehold::LockManager;
use leasehold_nemesis::clients::Repeat;
use leasehold_testkit::servers::RedisServer;
use tokio::time::{sleep, timeout};

use crate::{ENDLESS, started, work};

const PERMITS: u32 = 16;
const TTL: Duration = Duration::from_secs(1);

#[tokio::test]
async fn of_100_000_acquisitions_never_more_hold_than_there_are_permits_and_the_killed_give_theirs_back()
 {
    const COUNT: usize = 100_000;
    const SEED: u64 = 20_261_121;
    let server = RedisServer::start().await.unwrap();
    let work = Repeat {
        ttl: TTL,
        hold: Duration::from_millis(3),
        permits: Some(PERMITS),
        ..work(12, ENDLESS)
    };
    let mut clients = started(3, &server.url(), work);
    let locks = LockManager::connect(&server.url()).await.unwrap();
    let begin = Instant::now();
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut kills = 0;
    while clients.history().unwrap().holds().len() < COUNT {
        assert!(begin.elapsed() < Duration::from_secs(300), "too slow");
        sleep(Duration::from_millis(random.u64(1_500..4_500))).await;
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
    let cut_off = history.holds().iter().filter(|hold| !hold.ended).count();
    let most = history.most_at_once();
    println!(
        "{} acquisitions in {:?} beside {kills} kills; {cut_off} were cut off while they held; at most {most} of {PERMITS} at once; all back {back:?} after the last kill",
        history.holds().len(),
        begin.elapsed(),
    );
    assert_eq!(most, PERMITS as usize, "all were in use, and no more");
    assert!(cut_off > 10, "{cut_off}");
    history.check().unwrap();
}
