//! A backend that usually has its answers immediately.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use leasehold::backend::{
    Applied, Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, InProcess,
    Inspection, ReleaseAnswer, RenewAnswer, async_trait,
};
use leasehold::{AttemptId, EndReason, Error, Key, LockManager};

use crate::rules::tools::{KEY, settle};

/// How the backend handles a request for an immediate answer.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Mood {
    #[default]
    Prompt,
    /// The answer is not available yet.
    Silent,
    /// The backend executes the request, and then panics.
    Clumsy,
    /// The lease of a grant is over immediately.
    Stingy,
}

#[derive(Debug, Default)]
struct Prompt {
    world: InProcess,
    mood: Mood,
    ids: Mutex<Vec<AttemptId>>,
    calls: Mutex<Vec<(&'static str, AttemptId)>>,
}

impl Prompt {
    fn new(mood: Mood) -> (Arc<Self>, LockManager) {
        let backend = Arc::new(Self {
            mood,
            ..Self::default()
        });
        // An `Arc` of an `Arc` behaves the same.
        let locks = LockManager::new(Arc::clone(&backend));
        (backend, locks)
    }

    fn note(&self, call: &'static str, owner: AttemptId) {
        self.calls.lock().unwrap().push((call, owner));
    }

    /// Returns the calls, each with the index of its id.
    fn calls(&self) -> Vec<(&'static str, usize)> {
        let (calls, ids) = (self.calls.lock().unwrap(), self.ids.lock().unwrap());
        let numbered = calls.iter().map(|(call, owner)| {
            let number = ids.iter().position(|id| id == owner);
            (*call, number.expect("it is an id of this backend"))
        });
        numbered.collect()
    }

    async fn is_free(&self) -> bool {
        let key = Key::new("lock:", KEY).unwrap();
        self.world.inspect(&key).await.unwrap().is_free()
    }
}

#[tokio::test(start_paused = true)]
async fn an_immediate_answer_needs_one_call_with_an_id_of_the_backend() {
    let (backend, locks) = Prompt::new(Mood::Prompt);
    for _ in 0..2 {
        let guard = locks.lock(KEY).acquire().await.unwrap();
        guard.release().await.unwrap();
    }
    let (take, leave) = ("attempt now", "release now");
    assert_eq!(
        backend.calls(),
        [(take, 0), (leave, 0), (take, 1), (leave, 1)]
    );
}

#[tokio::test(start_paused = true)]
async fn without_an_immediate_answer_a_request_is_sent() {
    let (backend, locks) = Prompt::new(Mood::Silent);
    let guard = locks.lock(KEY).acquire().await.unwrap();
    guard.release().await.unwrap();
    assert_eq!(
        backend.calls(),
        [
            ("attempt now", 0),
            ("attempt", 0),
            ("release now", 0),
            ("release", 0)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_acquire_that_is_immediately_busy_queues() {
    let (backend, locks) = Prompt::new(Mood::Prompt);
    let guard = locks.lock(KEY).acquire().await.unwrap();
    assert!(locks.lock(KEY).try_acquire().await.unwrap().is_none());
    let waiting = tokio::spawn(locks.lock(KEY).acquire());
    settle().await;
    let key = Key::new("lock:", KEY).unwrap();
    assert_eq!(backend.world.inspect(&key).await.unwrap().waiting, 1);
    guard.release().await.unwrap();
    let next = waiting.await.unwrap().unwrap();
    next.release().await.unwrap();
    let by = |id| backend.calls().into_iter().filter(move |it| it.1 == id);
    let waiter: Vec<_> = by(2).map(|it| it.0).collect();
    assert_eq!(waiter, ["attempt now", "attempt", "release now"]);
    assert!(backend.is_free().await);
}

#[tokio::test(start_paused = true)]
async fn an_immediate_call_that_panics_is_undone_or_requested_again() {
    let (backend, locks) = Prompt::new(Mood::Clumsy);
    let error = locks.lock(KEY).try_acquire().await.unwrap_err();
    assert!(
        matches!(&error, Error::Backend { applied, .. } if *applied == Applied::Unknown),
        "{error:?}"
    );
    settle().await;
    assert!(backend.is_free().await);
    // The waiter gets the lock under the id that already held it. The second copy of the release confirms it.
    let guard = locks.lock(KEY).acquire().await.unwrap();
    guard.release().await.unwrap();
    assert_eq!(
        backend.calls()[1..],
        [
            ("cleanup", 0),
            ("attempt now", 1),
            ("attempt", 1),
            ("release now", 1),
            ("release", 1)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_immediate_release_reports_a_lost_lock() {
    let (backend, locks) = Prompt::new(Mood::Prompt);
    let guard = locks.lock(KEY).acquire().await.unwrap();
    let key = Key::new("lock:", KEY).unwrap();
    assert!(backend.world.force_release(&key).await.unwrap());
    let released = guard.release().await;
    assert!(matches!(released, Err(Error::Lost(lost)) if lost.reason == EndReason::Gone));
    assert_eq!(backend.calls(), [("attempt now", 0), ("release now", 0)]);
}

#[tokio::test(start_paused = true)]
async fn an_immediate_grant_that_has_expired_is_refused_and_cleaned_up() {
    let (backend, locks) = Prompt::new(Mood::Stingy);
    assert!(locks.lock(KEY).try_acquire().await.is_err());
    settle().await;
    assert_eq!(backend.calls(), [("attempt now", 0), ("cleanup", 0)]);
    assert!(backend.is_free().await);
}

#[async_trait]
impl Backend for Prompt {
    fn capabilities(&self) -> Capabilities {
        self.world.capabilities()
    }

    fn attempt_id(&self) -> AttemptId {
        let id = AttemptId::random();
        self.ids.lock().unwrap().push(id);
        id
    }

    fn attempt_now(
        &self,
        attempt: &Attempt,
        now: Instant,
    ) -> Option<Result<AttemptAnswer, BackendError>> {
        self.note("attempt now", attempt.owner);
        if self.mood == Mood::Silent {
            return None;
        }
        let answer = self.world.attempt_now(attempt, now);
        assert_ne!(self.mood, Mood::Clumsy);
        match answer {
            Some(Ok(AttemptAnswer::Granted { token, .. })) if self.mood == Mood::Stingy => {
                let lease = Duration::from_millis(1);
                Some(Ok(AttemptAnswer::Granted { token, lease }))
            }
            answer => answer,
        }
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        self.note("attempt", attempt.owner);
        self.world.attempt(attempt).await
    }

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        self.world.wait(attempt).await
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        self.world.renew(claims).await
    }

    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        self.world.downgrade(claim).await
    }

    fn release_now(
        &self,
        claim: &Claim,
        now: Instant,
    ) -> Option<Result<ReleaseAnswer, BackendError>> {
        self.note("release now", claim.owner);
        if self.mood == Mood::Silent {
            return None;
        }
        let answer = self.world.release_now(claim, now);
        assert_ne!(self.mood, Mood::Clumsy);
        answer
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        self.note("release", claim.owner);
        self.world.release(claim).await
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        self.note("cleanup", attempt.owner);
        self.world.cleanup(attempt).await
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        self.world.inspect(key).await
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        self.world.force_release(key).await
    }

    async fn interrupted(&self, seen: u64) -> u64 {
        self.world.interrupted(seen).await
    }

    async fn close(&self) {
        self.world.close().await;
    }
}
