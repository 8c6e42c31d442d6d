//! Runs test binaries concurrently.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Binary, Ran};

/// A test binary that has run.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) binary: Binary,
    pub(super) ran: Ran,
    pub(super) took: Duration,
}

enum Said {
    Line(String),
    Done(Done),
}

/// Returns how many test binaries run concurrently. It is more than the number of cores, because most tests mostly
/// wait.
pub(super) fn count() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get) + 1
}

/// Runs test binaries, `lanes` concurrently. Calls `echo` with each printed line, after the name of the binary.
pub(super) fn run(binaries: Vec<Binary>, lanes: usize, mut echo: impl FnMut(&str)) -> Vec<Done> {
    let mut binaries = binaries;
    binaries.sort_by_key(Binary::rank);
    let queue = Mutex::new(VecDeque::from(binaries));
    let (sender, said) = mpsc::channel();
    let mut done = Vec::new();
    thread::scope(|scope| {
        for _ in 0..lanes {
            let (queue, sender) = (&queue, sender.clone());
            scope.spawn(move || {
                while let Some(binary) = next(queue) {
                    run_one(binary, &sender);
                }
            });
        }
        // Only the lanes have senders now, so the loop ends with the lanes.
        drop(sender);
        for said in said {
            match said {
                Said::Line(line) => echo(&line),
                Said::Done(it) => {
                    let word = if it.ran.failure.is_some() {
                        "FAILED"
                    } else {
                        "ok"
                    };
                    let took = it.took.as_secs_f64();
                    echo(&format!("[{}] {word} {took:.1} s", it.binary.name()));
                    done.push(it);
                }
            }
        }
    });
    done
}

fn next(queue: &Mutex<VecDeque<Binary>>) -> Option<Binary> {
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.pop_front()
}

fn run_one(binary: Binary, to: &Sender<Said>) {
    let name = binary.name();
    let begin = Instant::now();
    // The receiver is dropped only if this process is about to end.
    let ran = binary.job.run(&binary.dir, |line| {
        if !line.is_empty() {
            drop(to.send(Said::Line(format!("[{name}] {line}"))));
        }
    });
    let ran = ran.unwrap_or_else(|error| Ran {
        failure: Some(error.to_string()),
        lines: Vec::new(),
    });
    let took = begin.elapsed();
    drop(to.send(Said::Done(Done { binary, ran, took })));
}
