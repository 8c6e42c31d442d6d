//! Five candidates that are killed, stopped, cut off and resumed at random, on Redis, Postgres and `ZooKeeper`.
//!
//! A candidate records every 2 ms whether its handle is valid, by the clock that all processes share. A gap is the time
//! from the last moment in which a leader was valid to the begin of the next term.

mod candidates;

use std::time::{Duration, Instant};

use leasehold_sqlx::ddl;
use leasehold_testkit::depth;
use leasehold_testkit::servers::{PostgresServer, RedisServer, ZooKeeperServer};
use sqlx::PgPool;
use tokio::time::sleep;

use candidates::Incident::{CutOff, Pause, Resign, Stop};
use candidates::{Candidates, Incident, Server};

/// The time of faults in `cargo test`, in seconds.
const SECONDS: u64 = 8;
/// The longest time without a leader after a crash, in addition to the lease, on a machine that is not busy.
const AFTER_LEASE: Duration = Duration::from_secs(1);
/// The same on a busy machine.
const LATE: Duration = Duration::from_secs(10);
/// The longest time without a leader after an orderly end, on a machine that is not busy.
const ORDERLY: Duration = Duration::from_millis(50);

async fn never_two_leaders(name: &str, server: Server) {
    let time = depth::seconds(SECONDS);
    let mut chance = fastrand::Rng::with_seed(depth::seed());
    let mut candidates = Candidates::start(&server, false).await;
    let begin = Instant::now();
    let mut first = [&Incident::ALL[..], &[Stop, Resign]].concat();
    chance.shuffle(&mut first);
    while begin.elapsed() < time || !first.is_empty() {
        let mut any = || *chance.choice(&Incident::ALL).unwrap();
        let (one, other) = (any(), any());
        match (first.pop(), chance.u8(..6)) {
            (Some(incident), _) => candidates.strike_leader(incident).await,
            (None, 0 | 1) => {
                let waiter = candidates.waiter(&mut chance);
                let then = chance.bool().then_some(other);
                candidates.strike_waiter(waiter, one, then).await;
            }
            (None, _) => candidates.strike_leader(one).await,
        }
        sleep(Duration::from_millis(chance.u64(50..300))).await;
    }
    let history = candidates.end().await;
    let (mut orderly, mut crashes) = (Vec::new(), Vec::new());
    for pair in history.holds().windows(2) {
        let [term, next] = pair else { continue };
        assert!(term.token < next.token, "{term}\n{next}");
        let gap = candidates.gap(term, next);
        let is_orderly = gap.cause.is_some_and(Incident::is_orderly);
        if is_orderly && gap.time > ORDERLY {
            candidates.explain(term, next, &gap);
        }
        if is_orderly {
            orderly.push(gap.time);
        } else {
            crashes.push((gap.time, gap.cause));
        }
    }
    orderly.sort_unstable();
    crashes.sort_unstable_by_key(|(gap, _)| *gap);
    let (median, longest) = (orderly[orderly.len() / 2], *orderly.last().unwrap());
    let (after_crash, cause) = *crashes.last().unwrap();
    println!(
        "{name}: {} terms, {} incidents; without a leader after {} orderly ends: median {median:.1?}, longest \
         {longest:.1?}; after {} crashes, pauses and cuts: longest {after_crash:.2?} ({cause:?}), lease {:?}",
        history.holds().len(),
        candidates.incidents.len(),
        orderly.len(),
        crashes.len(),
        server.lease(),
    );
    history.check().unwrap();
    let silent = server.delay_by_silent();
    let within = |gap: Duration, more: Duration| gap <= server.lease() + silent + more;
    assert!(within(after_crash, LATE));
    assert!(!depth::is_deep() || within(after_crash, AFTER_LEASE));
    // A kind of incident after which the next leader comes late makes it late each time. The gaps are sorted.
    for kind in Incident::ALL.map(Some) {
        let first = crashes.iter().find(|(_, cause)| *cause == kind);
        assert!(first.is_none_or(|(gap, _)| within(*gap, AFTER_LEASE)));
    }
    // This time depends on the other programs of the machine. So by default the test checks only that others need not
    // wait for the end of the lease.
    assert!(median <= server.lease() / 2);
    assert!(!depth::is_deep() || longest <= ORDERLY + silent);
}

#[tokio::test]
async fn on_redis_only_one_candidate_leads_and_the_next_one_leads_in_time() {
    let server = Server::Redis(RedisServer::start().await.unwrap());
    never_two_leaders("Redis", server).await;
}

#[tokio::test]
async fn on_postgres_only_one_candidate_leads_and_the_next_one_leads_in_time() {
    let server = PostgresServer::start().await.unwrap();
    let pool = PgPool::connect(&server.url()).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    never_two_leaders("Postgres", Server::Postgres(server)).await;
}

#[tokio::test]
async fn on_zookeeper_only_one_candidate_leads_and_the_next_one_leads_in_time() {
    let server = Server::ZooKeeper(ZooKeeperServer::start().await.unwrap());
    never_two_leaders("ZooKeeper", server).await;
}

/// The control: work that outlives its term is found.
#[tokio::test]
async fn control_leader_that_works_after_a_loss_overlaps_the_next_one() {
    let server = Server::Redis(RedisServer::start().await.unwrap());
    for incident in [Pause, CutOff, Resign] {
        let mut candidates = Candidates::start(&server, true).await;
        candidates.strike_leader(incident).await;
        sleep(Duration::from_millis(100)).await;
        let found = candidates.end().await.exclusion();
        assert!(!found.is_empty(), "{incident:?}");
    }
}

/// A waiter in an ordered queue would get the lock in its turn, and others would wait until its grant or session ends.
#[tokio::test]
async fn unresponsive_candidates_do_not_delay_the_next_leader() {
    for server in [
        Server::Redis(RedisServer::start().await.unwrap()),
        Server::ZooKeeper(ZooKeeperServer::start().await.unwrap()),
    ] {
        for incident in [Pause, CutOff] {
            let mut all = Vec::new();
            // A busy machine may be late in some rounds. Who waits for a silent candidate is late in each.
            while all
                .last()
                .is_none_or(|longest| *longest > server.lease() / 2)
            {
                assert!(all.len() < 10, "{incident:?}: {all:?}");
                let mut candidates = Candidates::start(&server, false).await;
                candidates.all_lead_once().await;
                candidates.resign_among_silent(incident).await;
                let history = candidates.end().await;
                let longest = history.holds().windows(2).map(|pair| {
                    let [term, next] = pair else { unreachable!() };
                    candidates.gap(term, next).time
                });
                all.push(longest.max().unwrap());
            }
            println!("{incident:?}: {all:.1?}");
        }
    }
}
