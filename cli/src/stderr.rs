//! Messages on the standard error.
//!
//! A full pipe without a reader blocks its writer. So a thread writes the messages, and its callers wait for at most a
//! second.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// How long [`print_error`] waits until the message is written.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// How many messages wait for the writer. Further messages are dropped.
const QUEUED: usize = 16;

/// A message, and the other end of a channel that is closed when the message is written.
type Message = (String, SyncSender<()>);

/// The queue of the writer, or `None` if the system has no thread for it.
static WRITER: LazyLock<Option<SyncSender<Message>>> = LazyLock::new(|| {
    let (sender, messages) = sync_channel::<Message>(QUEUED);
    let writer = thread::Builder::new().spawn(move || {
        for (message, _written) in messages {
            write(&message);
        }
    });
    writer.is_ok().then_some(sender)
});

/// Prints an error, without the passwords of URLs in it: a URL may be in a wrong place of the command line.
pub(crate) fn print_error(error: impl Display) {
    let _written_or_late = queue(error).recv_timeout(WRITE_TIMEOUT);
}

/// Prints an error like [`print_error`], but does not wait until it is written.
pub(crate) fn print_in_background(error: impl Display) {
    drop(queue(error));
}

fn queue(error: impl Display) -> Receiver<()> {
    let (written, is_written) = sync_channel(0);
    let message = without_passwords(&error.to_string());
    match &*WRITER {
        Some(writer) => drop(writer.try_send((message, written))),
        None => write(&message),
    }
    is_written
}

fn write(message: &str) {
    // Nothing can be done if the error output is closed.
    let _closed = io::stderr().write_all(message.as_bytes());
}

/// Replaces the user and the password of each URL in `text`.
fn without_passwords(text: &str) -> String {
    let mut parts = text.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let ends = |c: char| c.is_whitespace() || "'\"`".contains(c);
        let (url, rest) = part.split_at(part.find(ends).unwrap_or(part.len()));
        shown.push_str("://");
        match url.rsplit_once('@') {
            Some((_login, host)) => shown.extend(["…@", host]),
            None => shown.push_str(url),
        }
        shown.push_str(rest);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::without_passwords;

    #[test]
    fn errors_do_not_show_the_passwords_of_urls() {
        for (text, shown) in [
            ("no URL, me@host", "no URL, me@host"),
            ("'redis://me:secret@a:1/0' found", "'redis://…@a:1/0' found"),
            (
                "redis://a and x://u:p@q@b\nend",
                "redis://a and x://…@b\nend",
            ),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }
}
