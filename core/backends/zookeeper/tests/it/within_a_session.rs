//! A lock passes between two attempts of one session.

use std::time::Duration;

use leasehold::Key;
use leasehold::backend::zookeeper::ZooKeeper;
use leasehold::backend::{Attempt, AttemptAnswer, Backend, Claim, Mode};
use leasehold_testkit::servers::ZooKeeperServer;
use tokio::time::{Instant, sleep, timeout};

use crate::server::{LASTING, SESSION, SOON, connect, take, with_sessions};

const TTL: Duration = Duration::from_secs(30);

fn attempts<const N: usize>(key: &str, modes: [Mode; N]) -> [Attempt; N] {
    let key = Key::new("lock:", key).unwrap();
    modes.map(|mode| Attempt::new(key.clone(), TTL, true).in_mode(mode))
}

async fn is_busy(backend: &ZooKeeper, attempt: &Attempt) {
    let answer = backend.attempt(attempt).await.unwrap();
    assert!(matches!(answer, AttemptAnswer::Busy { .. }), "{answer:?}");
}

/// Returns the holder, after the waiter behind it has received the notification of its release.
async fn passes(backend: &ZooKeeper, [held, waiting]: &[Attempt; 2]) -> Claim {
    let held = take(backend, held).await;
    is_busy(backend, waiting).await;
    backend.release(&held).await.unwrap();
    let woken = timeout(SOON, backend.wait(waiting)).await;
    woken.unwrap().unwrap();
    held
}

/// Tokens count the transactions of this server. The transactions are two creations and two deletions.
#[tokio::test]
async fn a_waiter_checks_with_the_leader_only_if_the_last_proof_of_its_session_is_old() {
    let server = ZooKeeperServer::start().await.unwrap();
    let session = SESSION * 2;
    let [long, short] = [
        with_sessions(LASTING, &server.address()).await,
        with_sessions(session, &server.address()).await,
    ];
    let [first] = attempts("counted", [Mode::Exclusive]);
    long.release(&take(&long, &first).await).await.unwrap();
    for (backend, pause, transactions) in [(&long, Duration::ZERO, 4), (&short, session / 2, 5)] {
        for round in 0.. {
            assert!(round < 20, "the last proof is old each time");
            let [held, waiting, next] = attempts("counted", [Mode::Exclusive; 3]);
            let begun = Instant::now();
            let held = passes(backend, &[held, waiting.clone()]).await;
            sleep(pause).await;
            let claim = take(backend, &waiting).await;
            let took = begun.elapsed();
            backend.release(&claim).await.unwrap();
            let next = take(backend, &next).await;
            backend.release(&next).await.unwrap();
            // On a busy machine, the proof may be older than the pause.
            if took < pause + LASTING / 10 {
                assert_eq!(next.token.get() - held.token.get(), transactions);
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_waiter_whose_node_was_deleted_queues_again() {
    let server = ZooKeeperServer::start().await.unwrap();
    let (here, there) = (
        connect(&server.address()).await,
        connect(&server.address()).await,
    );
    let [held, waiting] = attempts("deleted", [Mode::Exclusive; 2]);
    passes(&here, &[held, waiting.clone()]).await;
    let seen = here.inspect(&waiting.key).await.unwrap();
    assert!(there.force_release(&waiting.key).await.unwrap());
    assert!(here.inspect(&waiting.key).await.unwrap().is_free());
    let claim = take(&here, &waiting).await;
    assert!(Some(claim.token) > seen.token, "{claim:?} {seen:?}");
    here.release(&claim).await.unwrap();
}
