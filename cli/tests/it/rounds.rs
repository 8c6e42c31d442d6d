//! A command, and the processes that it has started, end before another `run` for the key starts its own command.

use std::sync::Arc;
use std::time::Duration;

use leasehold_testkit::depth;
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use leasehold_testkit::servers::RedisServer;
use rustix::process::Signal;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::program::{PATIENCE, code, is_alive, leasehold, run, signal, supervisor, until_said};
use crate::writer::{Behaviour, Records};

/// The number of rounds in `cargo test`: one for each fault.
const ROUNDS: u64 = 6;
const AT_ONCE: usize = 10;
/// The last kill comes a twentieth of it before its end, which is enough for a busy machine.
const TTL: &str = "10s";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    LoseConnection,
    CutConnection,
    KillHolder,
    StopHolder,
    KillSupervisor,
    StopSupervisorAndCut,
}

const FAULTS: [Fault; 6] = [
    Fault::LoseConnection,
    Fault::KillHolder,
    Fault::StopHolder,
    Fault::CutConnection,
    Fault::KillSupervisor,
    Fault::StopSupervisorAndCut,
];

#[tokio::test(flavor = "multi_thread")]
async fn command_and_grandchild_end_before_the_next_run_starts() {
    let rounds = usize::try_from(depth::scaled(ROUNDS)).unwrap();
    for (number, violations) in all(rounds, &FAULTS, "kill").await {
        assert_eq!(
            violations,
            0,
            "round {number}, {:?}",
            FAULTS[number % FAULTS.len()]
        );
    }
}

/// The control: it shows that the rounds detect processes that continue.
#[tokio::test(flavor = "multi_thread")]
async fn control_commands_that_continue_after_a_loss_overlap_the_next_run() {
    let faults = [Fault::LoseConnection, Fault::KillHolder, Fault::StopHolder];
    for (number, violations) in all(faults.len(), &faults, "continue").await {
        assert!(violations > 0, "round {number}, {:?}", faults[number]);
    }
}

/// Returns the number of violations of each round.
async fn all(rounds: usize, faults: &[Fault], on_loss: &'static str) -> Vec<(usize, usize)> {
    let server = Arc::new(RedisServer::start().await.unwrap());
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for number in 0..rounds {
        let (server, slots) = (Arc::clone(&server), Arc::clone(&slots));
        let fault = faults[number % faults.len()];
        running.spawn(async move {
            let _slot = slots.acquire().await.unwrap();
            (number, round(&server, number, fault, on_loss).await)
        });
    }
    running.join_all().await
}

async fn round(server: &RedisServer, number: usize, fault: Fault, on_loss: &str) -> usize {
    let key = format!("round-{number}");
    let records = Records::new();
    let proxy = Proxy::start(server.port()).await.unwrap();
    let url = server.url_at(proxy.port());
    let mut first = leasehold().args(["run", "--url", &url, "--key", &key, "--ttl", TTL]);
    first = first.args(["--on-loss", on_loss]);
    if number % 5 == 4 {
        first = first.arg("--foreground");
    }
    let behaviour = Behaviour {
        ignores_term: number.is_multiple_of(2),
        is_detached: number.is_multiple_of(3),
        leaves: false,
    };
    let mut first = records.command(first.arg("--"), behaviour).start().unwrap();
    let token = records.until_writers(2, 0).await;
    let old = records.writers_after(0);

    let next = run(server, &key, &["--ttl", TTL]);
    let mut next = records.command(next, Behaviour::default()).start().unwrap();
    // The fault happens at different times between two renewals.
    tokio::time::sleep(Duration::from_millis(fastrand::u64(0..3300))).await;
    let watcher = supervisor(&first);
    match fault {
        Fault::LoseConnection => {
            proxy.set(Direction::ToServer, Traffic::Drop);
            proxy.set(Direction::ToClient, Traffic::Drop);
        }
        Fault::CutConnection => {
            proxy.refuse().await.unwrap();
            proxy.cut();
        }
        Fault::KillHolder => first.kill(),
        Fault::StopHolder => first.pause().unwrap(),
        Fault::KillSupervisor => signal(watcher, Signal::KILL),
        Fault::StopSupervisorAndCut => {
            signal(watcher, Signal::STOP);
            proxy.refuse().await.unwrap();
            proxy.cut();
        }
    }
    records.until_writers(2, token).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let violations = records.violations();

    if on_loss == "kill" {
        assert!(!old.iter().any(|pid| is_alive(*pid)), "round {number}");
        let expected = match fault {
            Fault::KillHolder => None,
            Fault::KillSupervisor => Some(125),
            _ => Some(123),
        };
        if let Some(expected) = expected {
            first.resume().unwrap_or_default();
            let found = code(&mut first).await;
            assert_eq!(found, expected, "{fault:?}: {}", first.last_words());
            if fault == Fault::StopSupervisorAndCut {
                // The holder does not wait until the lease has ended.
                until_said(&first, "was not renewed in time").await;
            }
        }
    }
    old.iter()
        .filter(|pid| is_alive(**pid))
        .for_each(|pid| signal(*pid, Signal::KILL));
    signal(next.pid(), Signal::TERM);
    let ended = next.end(PATIENCE).await.unwrap().code();
    assert_eq!(ended, Some(143), "{}", next.last_words());
    violations
}
