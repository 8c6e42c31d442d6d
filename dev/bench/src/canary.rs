use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often it sings.
const BEAT: Duration = Duration::from_millis(2);

/// A thread that notices when the machine stands still.
///
/// A thread and not a task: a runtime that is kept busy by a contestant is that contestant's own doing.
#[derive(Debug)]
pub(crate) struct Canary {
    longest: Arc<AtomicU64>,
}

impl Canary {
    /// Sings until it is dropped.
    pub(crate) fn start() -> Self {
        let longest = Arc::new(AtomicU64::new(0));
        let heard = Arc::downgrade(&longest);
        std::thread::spawn(move || {
            let mut last = Instant::now();
            while let Some(longest) = heard.upgrade() {
                let late = last.elapsed().saturating_sub(BEAT);
                last = Instant::now();
                let late = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
                longest.fetch_max(late, Ordering::Relaxed);
                drop(longest);
                std::thread::sleep(BEAT);
            }
        });
        Self { longest }
    }

    /// The longest stall since this was asked last.
    pub(crate) fn longest_stall(&self) -> Duration {
        Duration::from_nanos(self.longest.swap(0, Ordering::Relaxed))
    }
}
