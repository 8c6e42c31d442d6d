//! The lines that a process prints.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The number of lines that are stored for errors.
const KEPT: usize = 20;

/// The lines of the output, and the last lines of output and error output.
#[derive(Debug)]
pub(super) struct Lines {
    coming: UnboundedReceiver<String>,
    last: Last,
}

type Last = Arc<Mutex<VecDeque<String>>>;

impl Lines {
    /// Reads both in threads, which end with the outputs.
    pub(super) fn of(
        output: Option<impl Read + Send + 'static>,
        errors: Option<impl Read + Send + 'static>,
    ) -> Self {
        let (sender, coming) = unbounded_channel();
        let last = Last::default();
        if let Some(output) = output {
            let last = Arc::clone(&last);
            thread::spawn(move || follow(output, &last, Some(&sender)));
        }
        if let Some(errors) = errors {
            let last = Arc::clone(&last);
            thread::spawn(move || follow(errors, &last, None));
        }
        Self { coming, last }
    }

    pub(super) async fn next(&mut self) -> Option<String> {
        self.coming.recv().await
    }

    pub(super) fn last_words(&self) -> String {
        let lines: Vec<String> = self
            .last
            .lock()
            .iter()
            .map(|it| format!("  {it}"))
            .collect();
        lines.join("\n")
    }
}

fn follow(from: impl Read, last: &Last, to: Option<&UnboundedSender<String>>) {
    for line in BufReader::new(from).split(b'\n') {
        let Ok(bytes) = line else { return };
        let line = String::from_utf8_lossy(&bytes).into_owned();
        {
            let mut last = last.lock();
            if last.len() == KEPT {
                last.pop_front();
            }
            last.push_back(line.clone());
        }
        // The receiver may already be dropped, and the process must not block.
        if let Some(to) = to {
            drop(to.send(line));
        }
    }
}
