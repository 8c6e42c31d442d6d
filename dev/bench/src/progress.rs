use std::io::{IsTerminal, Write, stderr};

/// Shows the progress in one line that is updated on a terminal. Shows nothing elsewhere.
pub(crate) fn show(workload: &str, done: usize, of: usize) {
    let mut out = stderr();
    if out.is_terminal() {
        let line = if done == of {
            "\r\x1b[K".to_owned()
        } else {
            format!("\r\x1b[K{workload}: {done} of {of}")
        };
        // The benchmark continues even if the progress cannot be shown.
        let _shown = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}
