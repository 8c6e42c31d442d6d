//! Failures of an ensemble while a lock is held.

use std::time::Duration;

use leasehold::backend::{Attempt, AttemptAnswer, Backend, Mode};
use leasehold::{Key, LockManager};
use leasehold_testkit::servers::{ZooKeeperEnsemble, ZooKeeperServer};
use tokio::time::{Instant, sleep, timeout};

use crate::server::{
    LASTING, SESSION, becomes_free, connect, patient, short_sessions, take, with_sessions,
};

const SOON: Duration = Duration::from_secs(120);

async fn start() -> ZooKeeperEnsemble {
    // The timeouts between followers and leader are longer than these tests.
    let builder = ZooKeeperServer::builder().sync_limit(60);
    builder.start_three().await.unwrap()
}

/// The leader counts from the last contact with the follower, which may be earlier than the holder's last contact.
#[tokio::test]
async fn a_holder_at_a_disconnected_follower_is_lost_before_the_next_grant() {
    let three = start().await;
    let (leader, follower) = (
        three.leader().await.unwrap(),
        three.follower().await.unwrap(),
    );
    let other = with_sessions(LASTING, &three.nodes()[leader].address()).await;
    let other = patient().build(other).unwrap();
    let (mut judged, mut round) = (0, 0);
    while judged < 3 {
        round += 1;
        assert!(round < 30, "sessions end too early: {judged} of {round}");
        let locks = short_sessions(&three.nodes()[follower].address()).await;
        let key = format!("follower:{round}");
        let guard = locks.lock(&key).acquire().await.unwrap();
        sleep(SESSION).await;
        let waiting = tokio::spawn(other.lock(&key).acquire());
        while guard.is_valid() && other.inspect(&key).await.unwrap().waiting == 0 {
            sleep(Duration::from_millis(5)).await;
        }
        if guard.renew().await.is_err() {
            // On a busy machine, the session has ended before the cut.
            drop(timeout(SOON, waiting).await.unwrap().unwrap());
            continue;
        }
        judged += 1;
        three.cut_off(follower);
        let cut_off = Instant::now();
        let next = timeout(SOON, waiting).await.unwrap().unwrap().unwrap();
        assert!(
            !guard.is_valid(),
            "let in after {:?}, and the first valid for {:?} more",
            cut_off.elapsed(),
            guard.valid_for()
        );
        assert!(next.token() > guard.token());
        next.release().await.unwrap();
        three.reconnect(follower);
        three.nodes()[follower].until_ready().await.unwrap();
        becomes_free(&other, &key, SOON).await;
    }
}

/// A follower may return outdated data. So the next waiter holds the lock only when the leader confirms it.
#[tokio::test]
async fn a_disconnected_follower_grants_no_lock_although_the_holder_released() {
    let three = start().await;
    let leader = three.nodes()[three.leader().await.unwrap()].address();
    let follower = three.follower().await.unwrap();
    let (there, here) = (
        connect(&leader).await,
        connect(&three.nodes()[follower].address()).await,
    );
    for is_cut_off in [false, true] {
        let key = Key::new("lock:", &format!("shown:{is_cut_off}")).unwrap();
        let [held, waiting] =
            [false, true].map(|queue| Attempt::new(key.clone(), Duration::from_secs(30), queue));
        let answer = there.attempt(&held).await.unwrap();
        let AttemptAnswer::Granted { token, .. } = answer else {
            panic!("{answer:?}");
        };
        let answer = here.attempt(&waiting).await.unwrap();
        assert!(matches!(answer, AttemptAnswer::Busy { .. }), "{answer:?}");
        there.release(&held.claim(token)).await.unwrap();
        // The waiter has got the notification from the follower.
        timeout(SOON, here.wait(&waiting)).await.unwrap().unwrap();
        if is_cut_off {
            three.cut_off(follower);
        }
        let limit = if is_cut_off {
            Duration::from_secs(1)
        } else {
            SOON
        };
        let answer = timeout(limit, here.attempt(&waiting)).await;
        let granted = matches!(answer, Ok(Ok(AttemptAnswer::Granted { .. })));
        assert_eq!(granted, !is_cut_off, "{answer:?}");
    }
}

/// A release by the waiter's session confirms the waiter's lock only if no other node was in front.
#[tokio::test]
async fn a_release_behind_a_holder_confirms_no_waiter_at_a_disconnected_follower() {
    let three = start().await;
    let leader = three.nodes()[three.leader().await.unwrap()].address();
    let follower = three.follower().await.unwrap();
    let there = connect(&leader).await;
    let mut waiters = Vec::new();
    for mode in [Mode::Exclusive, Mode::Shared] {
        // A request without a reply delays the later requests of its session.
        let here = connect(&three.nodes()[follower].address()).await;
        let key = Key::new("lock:", &format!("behind:{mode:?}")).unwrap();
        let attempt = |mode| Attempt::new(key.clone(), Duration::from_secs(30), true).in_mode(mode);
        let [first, second, waiting] = [mode, mode, Mode::Exclusive].map(attempt);
        let first = take(&there, &first).await;
        here.attempt(&second).await.unwrap();
        here.attempt(&waiting).await.unwrap();
        here.cleanup(&second).await.unwrap();
        timeout(SOON, here.wait(&waiting)).await.unwrap().unwrap();
        there.release(&first).await.unwrap();
        // The follower soon shows that all others have left.
        let all_left = async {
            loop {
                let seen = here.inspect(&key).await.unwrap();
                if (seen.holders, seen.waiting) == (1, 0) {
                    return;
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(SOON, all_left).await.unwrap();
        waiters.push((here, waiting));
    }
    three.cut_off(follower);
    for (here, waiting) in waiters {
        let answer = timeout(Duration::from_secs(1), here.attempt(&waiting)).await;
        let granted = matches!(answer, Ok(Ok(AttemptAnswer::Granted { .. })));
        assert!(!granted, "{answer:?}");
    }
}

#[tokio::test]
async fn when_the_leader_is_killed_a_lock_is_held_or_lost_and_never_both() {
    let three = start().await;
    let here = short_sessions(&three.addresses()).await;
    let there = short_sessions(&three.addresses()).await;
    let key = "leader";
    let guard = here.lock(key).acquire().await.unwrap();
    let waiting = tokio::spawn(there.lock(key).acquire());
    while here.inspect(key).await.is_ok_and(|it| it.waiting == 0) {
        sleep(Duration::from_millis(5)).await;
    }
    three.nodes()[three.leader().await.unwrap()].kill();
    // The lease may or may not outlive the election.
    sleep(SESSION / 2).await;
    let token = guard.token();
    let handle = guard.handle();
    drop(guard);
    let next = timeout(SOON, waiting).await.unwrap().unwrap();
    // The waiter's own session may have ended. Then it returns an error.
    if let Ok(next) = next {
        assert!(next.token() > token && !handle.is_valid());
        next.release().await.ok();
    }
    let again = timeout(SOON, acquire_somehow(&there, key)).await.unwrap();
    assert!(again > token);
}

async fn acquire_somehow(locks: &LockManager, key: &str) -> leasehold::FencingToken {
    loop {
        if let Ok(guard) = locks.lock(key).acquire().await {
            let token = guard.token();
            guard.release().await.ok();
            return token;
        }
    }
}
