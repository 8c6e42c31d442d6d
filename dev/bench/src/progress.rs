use std::io::{IsTerminal, Write, stderr};

/// A line on a terminal that is written over; nothing elsewhere.
pub(crate) fn show(workload: &str, done: usize, of: usize) {
    let mut out = stderr();
    if out.is_terminal() {
        let line = if done == of {
            "\r\x1b[K".to_owned()
        } else {
            format!("\r\x1b[K{workload}: {done} of {of}")
        };
        // Progress that cannot be shown is no reason to stop.
        let _shown = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}
