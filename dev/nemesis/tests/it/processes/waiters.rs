//! A thousand waiters for one key.

use std::time::{Duration, Instant};

use leasehold::LockManager;
use leasehold_nemesis::clients::Task;
use leasehold_testkit::servers::RedisServer;
use tokio::time::{sleep, timeout};

use crate::processes::start;

const PROCESSES: usize = 50;
const TASKS: usize = 20;
const PATIENCE: Duration = Duration::from_secs(600);

/// Returns how many scripts and pings the server has got.
async fn commands(server: &RedisServer) -> u64 {
    let client = redis::Client::open(server.url()).unwrap();
    // By default, a reply may take only half a second.
    let patient = redis::AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    let connection = client.get_multiplexed_async_connection_with_config(&patient);
    let mut connection = connection.await.unwrap();
    let mut info = redis::cmd("INFO");
    let info = info.arg("commandstats").query_async(&mut connection);
    let info: String = info.await.unwrap();
    let sent = info.lines().filter_map(|line| {
        let (name, stats) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let calls: u64 = stats.split(',').next()?.parse().ok()?;
        ["evalsha", "ping", "script|load"]
            .contains(&name)
            .then_some(calls)
    });
    sent.sum::<u64>()
}

#[tokio::test]
async fn each_of_1000_waiters_sends_at_most_one_command_in_ten_seconds() {
    const WATCHED: Duration = Duration::from_secs(22);
    let server = RedisServer::start().await.unwrap();
    let locks = LockManager::connect(&server.url()).await.unwrap();
    let guard = locks.lock("k").acquire().await.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..PROCESSES {
        waiting.push(start(&server.url(), &Task::Wait(TASKS)));
    }
    let all_wait = async {
        while locks.inspect("k").await.unwrap().waiting < PROCESSES * TASKS {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, all_wait).await.unwrap();

    // The holder's renewals are included. One call contains up to 20 polls of a process. A smaller number of commands
    // would mean that some waiters did not poll, or that a busy machine has delayed them.
    let least = 0.9 / TASKS as f64;
    let mut all = Vec::new();
    while all.last().is_none_or(|each| *each <= least) {
        assert!(all.len() < 10, "some waiters do not poll: {all:?}");
        let (begin, before) = (Instant::now(), commands(&server).await);
        sleep(WATCHED).await;
        let (seconds, sent) = (
            begin.elapsed().as_secs_f64(),
            commands(&server).await - before,
        );
        let waiters = (PROCESSES * TASKS) as f64;
        let each = sent as f64 / seconds * 10.0 / waiters;
        println!("{sent} commands in {seconds:.1} s: {each:.2} per waiter in 10 s");
        assert!(each <= 1.0, "{each}");
        all.push(each);
    }

    let released = Instant::now();
    guard.release().await.unwrap();
    for process in &mut waiting {
        process.success(PATIENCE).await.unwrap();
    }
    println!("all were served within {:?}", released.elapsed());
    assert!(locks.inspect("k").await.unwrap().is_free());
}
