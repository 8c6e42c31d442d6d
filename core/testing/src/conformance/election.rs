//! Elections, tested through managers.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::helpers::{eventually, fresh_name, in_time, short_ttl};
use leasehold_core::backend::Backend;
use leasehold_core::{Election, Error, FencingToken, LockHandle, LockManager};

/// The candidates that lead at the moment, and the terms so far: each with the number of its candidate.
#[derive(Debug, Default)]
struct Terms {
    leading: Vec<usize>,
    all: Vec<(usize, FencingToken)>,
}

/// Two candidates over two connections.
struct Candidates {
    key: String,
    managers: [LockManager; 2],
    elections: [Election; 2],
    terms: Arc<Mutex<Terms>>,
    campaigns: Vec<JoinHandle<Result<(), Error>>>,
}

/// The work of a leader. The term is over when this value is dropped.
struct Work(usize, Arc<Mutex<Terms>>);

impl Work {
    fn begin(candidate: usize, leader: &LockHandle, terms: &Arc<Mutex<Terms>>) -> Self {
        let mut seen = terms.lock();
        assert!(seen.leading.is_empty(), "{candidate} leads, too: {seen:?}");
        seen.leading.push(candidate);
        let last = seen.all.last().map(|(_, token)| *token);
        assert!(Some(leader.token()) > last, "{leader:?} after {last:?}");
        seen.all.push((candidate, leader.token()));
        drop(seen);
        Self(candidate, Arc::clone(terms))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.1.lock().leading.retain(|it| *it != self.0);
    }
}

impl Candidates {
    async fn start<B: Backend>(connect: &impl AsyncFn() -> B, case: &str) -> Self {
        let key = fresh_name(case);
        let backends = [connect().await, connect().await];
        // No stall of a busy machine is long enough for the loss of a term.
        let ttl = (short_ttl(&backends[0]) * 4).max(Duration::from_secs(6));
        let managers = backends.map(LockManager::new);
        let elections = managers
            .each_ref()
            .map(|locks| locks.election(&key).ttl(ttl).poll_interval(ttl / 250));
        let mut candidates = Self {
            key,
            managers,
            elections,
            terms: Arc::default(),
            campaigns: Vec::new(),
        };
        for candidate in 0..2 {
            let terms = Arc::clone(&candidates.terms);
            let campaign = candidates.elections[candidate].campaign(async move |leader| {
                let _work = Work::begin(candidate, &leader, &terms);
                pending().await
            });
            candidates.campaigns.push(tokio::spawn(campaign));
            candidates
                .until("a candidate leads", |terms| !terms.leading.is_empty())
                .await;
        }
        candidates
    }

    async fn until(&self, what: &str, reached: impl Fn(&Terms) -> bool) {
        eventually(what, async || reached(&self.terms.lock())).await;
    }

    fn leader(&self) -> Option<usize> {
        self.terms.lock().leading.first().copied()
    }

    fn end(self) {
        self.campaigns.iter().for_each(JoinHandle::abort);
    }
}

/// Checks that each candidate leads again and again, never both at once, if each leader resigns.
pub async fn leaders_that_resign_take_turns<B: Backend>(connect: impl AsyncFn() -> B) {
    let candidates = Candidates::start(&connect, "resign").await;
    eventually("both have led three times", async || {
        if let Some(leader) = candidates.leader() {
            in_time("a resignation ends", candidates.elections[leader].resign()).await;
        }
        // Without an order of waiters, the other candidate leads by chance.
        sleep(Duration::from_millis(5)).await;
        let terms = candidates.terms.lock();
        [0, 1]
            .iter()
            .all(|it| terms.all.iter().filter(|term| term.0 == *it).count() >= 3)
    })
    .await;
    candidates.end();
}

/// Checks that the shutdown of the leader's manager ends its body before another candidate leads.
pub async fn another_candidate_leads_after_a_shutdown_of_the_leader<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let mut candidates = Candidates::start(&connect, "shutdown").await;
    let mut leader = None;
    eventually("a candidate leads", async || {
        leader = candidates.leader();
        leader.is_some()
    })
    .await;
    let leader = leader.unwrap();
    in_time("a shutdown ends", candidates.managers[leader].shutdown())
        .await
        .expect("shutdown");
    let campaign = candidates.campaigns.remove(leader);
    let ended = in_time("the campaign ends", campaign)
        .await
        .expect("no panic");
    assert!(matches!(ended, Err(Error::Closed { .. })), "{ended:?}");
    let other = 1 - leader;
    candidates
        .until("the other leads", |terms| terms.leading == [other])
        .await;
    candidates.end();
}

/// Checks that a leader whose lock is forced open stops, and that its candidate leads again when the next leader
/// resigns.
pub async fn a_leader_that_loses_its_lock_campaigns_again<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let key = fresh_name("lost");
    let backend = connect().await;
    let ttl = short_ttl(&backend) * 2;
    let (here, operator) = (LockManager::new(backend), LockManager::new(connect().await));
    let terms = Arc::new(Mutex::new(Terms::default()));
    let campaign = here.election(&key).ttl(ttl).campaign({
        let terms = Arc::clone(&terms);
        async move |leader: LockHandle| {
            let _work = Work::begin(0, &leader, &terms);
            pending::<Result<(), Error>>().await
        }
    });
    let campaign = tokio::spawn(campaign);
    for term in 1..=3 {
        eventually("it leads", async || {
            let terms = terms.lock();
            terms.all.len() >= term && !terms.leading.is_empty()
        })
        .await;
        eventually("an operator's command goes through", async || {
            operator.force_release(&key).await.is_ok()
        })
        .await;
    }
    eventually("it leads again", async || terms.lock().all.len() >= 4).await;
    campaign.abort();
}

/// Checks that an observer on a third connection sees each leader, with its token.
pub async fn an_observer_sees_each_leader<B: Backend>(connect: impl AsyncFn() -> B) {
    let candidates = Candidates::start(&connect, "observed").await;
    let locks = LockManager::new(connect().await);
    let interval = Duration::from_millis(5);
    let mut leaders = locks
        .election(&candidates.key)
        .poll_interval(interval)
        .observe();
    let (mut resigned, mut given_up) = (0, 0);
    while resigned < 3 {
        let seen = in_time("the observer sees a leader", async {
            loop {
                // An outage is an error, and between two terms there is no leader.
                let item = leaders.next().await.expect("the stream does not end");
                if let Ok(Some(leader)) = item {
                    return leader;
                }
            }
        })
        .await;
        assert_eq!(seen.label.as_deref(), Some(locks.label()), "{seen:?}");
        // The clock of a server may differ by some hours.
        let day = Duration::from_secs(60 * 60 * 24);
        let around_now = SystemTime::now() - day..SystemTime::now() + day;
        let is_plausible = seen.since.is_none_or(|since| around_now.contains(&since));
        assert!(is_plausible, "{seen:?}");
        // The observer may see the grant before the candidate does.
        let mut term = None;
        eventually("a candidate has this token, or a larger one", async || {
            let terms = candidates.terms.lock();
            let mut terms = terms.all.iter();
            term = terms.find(|(_, token)| *token >= seen.token).copied();
            term.is_some()
        })
        .await;
        let (leader, token) = term.unwrap();
        if token > seen.token {
            // The candidate had no reply to this attempt, and made another one.
            given_up += 1;
            assert!(given_up < 10, "no candidate has {seen:?}");
            continue;
        }
        let resigns = candidates.elections[leader].resign();
        in_time("a resignation ends", resigns).await;
        resigned += 1;
    }
    in_time("a shutdown ends", locks.shutdown())
        .await
        .expect("shutdown");
    let end = async { while leaders.next().await.is_some() {} };
    in_time("the stream ends", end).await;
    candidates.end();
}
