use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::clock;

/// How often it sings.
const BEAT: Duration = Duration::from_millis(2);

/// A thread that notices when the machine stands still.
///
/// A thread and not a task: a runtime that is kept busy by a contestant is that contestant's own doing.
#[derive(Debug)]
pub(crate) struct StallMonitor {
    song: Arc<Song>,
}

/// In nanoseconds.
#[derive(Debug, Default)]
struct Song {
    longest: AtomicU64,
    cpu: AtomicU64,
}

impl StallMonitor {
    /// Sings until it is dropped.
    pub(crate) fn start() -> Self {
        let song = Arc::new(Song::default());
        let heard = Arc::downgrade(&song);
        std::thread::spawn(move || {
            let mut last = Instant::now();
            while let Some(song) = heard.upgrade() {
                let late = last.elapsed().saturating_sub(BEAT);
                last = Instant::now();
                song.longest.fetch_max(nanos(late), Ordering::Relaxed);
                let cpu = nanos(clock::cpu_of_thread());
                song.cpu.store(cpu, Ordering::Relaxed);
                drop(song);
                std::thread::sleep(BEAT);
            }
        });
        Self { song }
    }

    /// The longest stall since this was asked last.
    pub(crate) fn longest_stall(&self) -> Duration {
        Duration::from_nanos(self.song.longest.swap(0, Ordering::Relaxed))
    }

    /// How long it has run itself: no part of what it watches.
    pub(crate) fn cpu(&self) -> Duration {
        Duration::from_nanos(self.song.cpu.load(Ordering::Relaxed))
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
