//! The exit codes, which follow those of `timeout(1)`.

use std::io;

/// The lock was lost while the command ran.
pub(crate) const LOST: u8 = 123;
/// The lock was busy for the whole wait.
pub(crate) const BUSY: u8 = 124;
/// `leasehold` itself failed: invalid arguments, or a backend that does not reply.
pub(crate) const FAILURE: u8 = 125;
/// The command was found, but cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// The command was not found.
const NOT_FOUND: u8 = 127;

/// The table in the help of `run`.
pub(crate) const TABLE: &str = "\
Exit codes:
  0-255  the exit code of COMMAND; 0 also with --skip, if the lock was busy
  123    the lock was lost while COMMAND ran
  124    the lock was busy for the whole wait; see --conflict-exit-code
  125    leasehold failed: invalid arguments, or the lock backend failed
  126    COMMAND cannot be executed
  127    COMMAND was not found
  128+N  COMMAND was ended by signal N, or leasehold while it waited for the lock";

/// Returns the code for a process that was ended by a signal.
pub(crate) fn of_signal(signal: i32) -> u8 {
    u8::try_from(signal).map_or(u8::MAX, |signal| signal.saturating_add(128))
}

/// Returns the code for a command that cannot be started.
pub(crate) fn of_start_error(error: &io::Error) -> u8 {
    match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_EXECUTABLE,
    }
}
