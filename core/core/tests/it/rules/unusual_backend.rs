//! A correct backend that is as unusual as the contract allows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leasehold::backend::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, InProcess, Inspection,
    ReleaseAnswer, RenewAnswer, async_trait,
};
use leasehold::{Key, LockManager};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::rules::tools::{KEY, TTL};

/// The maximum lease that it grants, like the limit of a server.
const CLAMP: Duration = Duration::from_secs(5);

/// More meaningless notifications than needed to detect that they are noise.
const TOO_MANY: usize = 1000;

#[derive(Debug)]
struct Odd {
    world: InProcess,
    clamp: Duration,
    /// The number of meaningless notifications, if all are meaningless.
    noise: Option<AtomicUsize>,
    interruptions: watch::Sender<u64>,
    /// The number of reported interruptions, if it reports them without end.
    unrest: Option<AtomicUsize>,
    renewals: AtomicUsize,
}

impl Odd {
    fn new(world: &InProcess) -> Self {
        Self {
            world: world.clone(),
            clamp: Duration::MAX,
            noise: None,
            interruptions: watch::Sender::default(),
            unrest: None,
            renewals: AtomicUsize::new(0),
        }
    }

    fn renewals(&self) -> usize {
        self.renewals.load(Ordering::Relaxed)
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_granted_shorter_than_requested_is_renewed_in_time() {
    let world = InProcess::new();
    let locks = LockManager::new(Odd {
        clamp: CLAMP,
        ..Odd::new(&world)
    });
    let guard = locks.lock(KEY).ttl(TTL).acquire().await.unwrap();
    sleep(TTL).await;
    assert!(guard.is_valid());
}

#[tokio::test(start_paused = true)]
async fn spurious_notifications_make_a_waiter_poll_but_not_spin() {
    let world = InProcess::new();
    let backend = Arc::new(Odd {
        noise: Some(AtomicUsize::new(0)),
        ..Odd::new(&world)
    });
    let (locks, other) = (
        LockManager::new(Arc::clone(&backend)),
        LockManager::new(world),
    );
    let guard = other.lock(KEY).acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock(KEY).acquire());
    sleep(Duration::from_secs(10)).await;
    let noise = backend.noise.as_ref().unwrap().load(Ordering::Relaxed);
    assert!((20..60).contains(&noise), "woken {noise} times in 10 s");
    guard.release().await.unwrap();
    let released = Instant::now();
    drop(waiting.await.unwrap().unwrap());
    assert!(released.elapsed() <= Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn only_an_interruption_renews_all_held_locks_immediately() {
    let backend = Arc::new(Odd::new(&InProcess::new()));
    let locks = LockManager::new(Arc::clone(&backend));
    let _one = locks.lock("one").acquire().await.unwrap();
    let _two = locks.lock("two").acquire().await.unwrap();
    for interruption in 1..=3 {
        sleep(TTL / 10).await;
        assert_eq!(backend.renewals(), 2 * (interruption - 1));
        backend.interruptions.send_modify(|count| *count += 1);
        sleep(Duration::from_millis(101)).await;
        assert_eq!(backend.renewals(), 2 * interruption);
    }
}

#[tokio::test(start_paused = true)]
async fn endless_interruptions_renew_at_most_ten_times_per_second() {
    let backend = Arc::new(Odd {
        unrest: Some(AtomicUsize::new(0)),
        ..Odd::new(&InProcess::new())
    });
    let locks = LockManager::new(Arc::clone(&backend));
    let _guard = locks.lock(KEY).acquire().await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let renewals = backend.renewals();
    assert!((40..=51).contains(&renewals), "{renewals} renewals in 5 s");
}

#[async_trait]
impl Backend for Odd {
    fn capabilities(&self) -> Capabilities {
        self.world.capabilities()
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        let mut attempt = attempt.clone();
        attempt.ttl = attempt.ttl.min(self.clamp);
        self.world.attempt(&attempt).await
    }

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        match &self.noise {
            Some(woken) if woken.fetch_add(1, Ordering::Relaxed) < TOO_MANY => Ok(()),
            _ => self.world.wait(attempt).await,
        }
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        self.renewals.fetch_add(claims.len(), Ordering::Relaxed);
        let mut claims = claims.to_vec();
        for claim in &mut claims {
            claim.ttl = claim.ttl.min(self.clamp);
        }
        self.world.renew(&claims).await
    }

    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        self.world.downgrade(claim).await
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        self.world.release(claim).await
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        self.world.cleanup(attempt).await
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        self.world.inspect(key).await
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        self.world.force_release(key).await
    }

    async fn interrupted(&self, seen: u64) -> u64 {
        if let Some(said) = &self.unrest
            && said.fetch_add(1, Ordering::Relaxed) < TOO_MANY
        {
            return seen + 1;
        }
        let mut interruptions = self.interruptions.subscribe();
        let more = interruptions.wait_for(|count| *count > seen).await;
        more.map(|count| *count).unwrap()
    }

    async fn close(&self) {
        self.world.close().await;
    }
}
