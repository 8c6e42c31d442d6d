use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold::backend::{Backend, InProcess};
use leasehold::conformance::{BackendCall, Command, Fault, Faulty};
use leasehold::{AttemptId, Key, LockManager};
use tokio::time::Instant;

pub(crate) const TTL: Duration = Duration::from_secs(30);
pub(crate) const KEY: &str = "order:42";

/// The calls that reached the backend, with their times.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<(Instant, BackendCall)>>>);

impl Log {
    pub(crate) fn calls(&self, command: Command) -> Vec<(Instant, BackendCall)> {
        let calls = self.0.lock().unwrap();
        let matching = calls.iter().filter(|(_, call)| call.command == command);
        matching.cloned().collect()
    }

    pub(crate) fn count(&self, command: Command) -> usize {
        self.calls(command).len()
    }

    pub(crate) fn owners(&self, command: Command) -> Vec<AttemptId> {
        let calls = self.calls(command).into_iter();
        calls.flat_map(|(_, call)| call.owners).collect()
    }
}

/// A world in which the nth call (from 1) of each command has the fault of `plan`.
pub(crate) struct Scene {
    pub(crate) world: InProcess,
    pub(crate) locks: LockManager,
    pub(crate) log: Log,
}

impl Scene {
    pub(crate) fn new(mut plan: impl FnMut(Command, usize) -> Fault + Send + 'static) -> Self {
        let (world, log) = (InProcess::new(), Log::default());
        let calls = log.clone();
        let faulty = Faulty::new(world.clone(), move |call| {
            calls.0.lock().unwrap().push((Instant::now(), call.clone()));
            plan(call.command, calls.count(call.command))
        });
        Self {
            locks: LockManager::new(faulty),
            world,
            log,
        }
    }

    pub(crate) fn calm() -> Self {
        Self::new(|_, _| Fault::None)
    }

    /// Returns a manager of another process, without faults.
    pub(crate) fn other(&self) -> LockManager {
        LockManager::new(self.world.clone())
    }

    pub(crate) async fn is_free(&self) -> bool {
        let key = Key::new("lock:", KEY).unwrap();
        self.world.inspect(&key).await.unwrap().is_free()
    }
}

/// Lets background tasks run, with almost no time passing.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
