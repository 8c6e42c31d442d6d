//! A world that records the terms of candidates and the requests that reach the backend.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold::backend::InProcess;
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::{Election, Error, LockHandle, LockManager};
use tokio::task::JoinHandle;
use tokio::time::sleep;

pub(crate) const KEY: &str = "reports";
pub(crate) const TTL: Duration = Duration::from_secs(10);

/// What happened, in order: `a leads`, `a stops`, `release`.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, what: &str) {
        self.0.lock().unwrap().push(what.to_owned());
    }

    pub(crate) fn peek(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Returns and removes the entries.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

pub(crate) struct World {
    pub(crate) log: Log,
    pub(crate) backend: InProcess,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            log: Log::default(),
            backend: InProcess::new(),
        }
    }

    /// Returns a manager whose requests have the faults of `plan`. The log contains its releases.
    pub(crate) fn manager_with(
        &self,
        mut plan: impl FnMut(Command) -> Fault + Send + 'static,
    ) -> LockManager {
        let log = self.log.clone();
        LockManager::new(Faulty::new(self.backend.clone(), move |call| {
            if call.command == Command::Release {
                log.add("release");
            }
            plan(call.command)
        }))
    }

    pub(crate) fn manager(&self) -> LockManager {
        self.manager_with(|_| Fault::None)
    }

    pub(crate) async fn is_free(&self) -> bool {
        let locks = LockManager::new(self.backend.clone());
        locks.inspect(KEY).await.unwrap().is_free()
    }

    /// Returns the work of a leader, which never ends. The log contains its begin, and its drop.
    pub(crate) fn work(&self, name: &'static str) -> Work {
        self.log.add(&format!("{name} leads"));
        Work {
            name,
            log: self.log.clone(),
        }
    }

    /// Starts a campaign whose body works until the term ends.
    pub(crate) fn candidate(
        self: &Arc<Self>,
        election: &Election,
        name: &'static str,
    ) -> JoinHandle<Result<(), Error>> {
        let world = Arc::clone(self);
        tokio::spawn(election.campaign(async move |_leader: LockHandle| {
            let _work = world.work(name);
            pending().await
        }))
    }
}

/// The work of a leader, which records its drop.
pub(crate) struct Work {
    name: &'static str,
    log: Log,
}

impl Drop for Work {
    fn drop(&mut self) {
        self.log.add(&format!("{} stops", self.name));
    }
}

pub(crate) fn election(locks: &LockManager) -> Election {
    locks.election(KEY).ttl(TTL)
}

/// Lets other tasks run, with almost no time passing.
pub(crate) async fn settle() {
    sleep(Duration::from_millis(1)).await;
}
