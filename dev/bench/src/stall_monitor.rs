use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::clock;

/// The interval between two checks.
const BEAT: Duration = Duration::from_millis(2);

/// A thread that detects stalls of the machine.
///
/// This is a thread and not a task, because a contestant that blocks the runtime must not look like a stalled machine.
#[derive(Debug)]
pub(crate) struct StallMonitor {
    song: Arc<Song>,
}

/// The times are in nanoseconds.
#[derive(Debug, Default)]
struct Song {
    longest: AtomicU64,
    cpu: AtomicU64,
}

impl StallMonitor {
    /// Starts the thread, which runs until this value is dropped.
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

    /// Returns the longest stall since the last call.
    pub(crate) fn longest_stall(&self) -> Duration {
        Duration::from_nanos(self.song.longest.swap(0, Ordering::Relaxed))
    }

    /// Returns the CPU time of the monitor, which is not part of the measured time.
    pub(crate) fn cpu(&self) -> Duration {
        Duration::from_nanos(self.song.cpu.load(Ordering::Relaxed))
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
