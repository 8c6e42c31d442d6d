//! Locks as rows of a table.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use leasehold::ListedLock;
use leasehold::backend::HolderInfo;
use rustix::termios::tcgetwinsize;

/// Moves the cursor to the first line of the terminal, and clears the terminal.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Prints the table of these locks. In a terminal, it replaces the last table and fits on the screen.
pub(crate) fn show(held: &[ListedLock]) -> io::Result<()> {
    let mut lines = vec![header()];
    lines.extend(held.iter().map(row));
    let mut output = io::stdout().lock();
    if let Ok(size) = tcgetwinsize(&output)
        && output.is_terminal()
    {
        fit(&mut lines, size.ws_row.into(), size.ws_col.into());
        write!(output, "{CLEAR}{}", lines.join("\r\n"))?;
    } else {
        writeln!(output, "{}", lines.join("\n"))?;
    }
    output.flush()
}

/// Shortens the table to the size of a terminal. The last line is the number of locks that are not shown.
fn fit(lines: &mut Vec<String>, rows: usize, columns: usize) {
    if lines.len() > rows {
        let hidden = lines.split_off(rows.saturating_sub(1)).len();
        lines.push(format!("… {hidden} more"));
    }
    for line in lines {
        if let Some((end, _)) = line.char_indices().nth(columns) {
            line.truncate(end);
        }
    }
}

pub(crate) fn header() -> String {
    columns("KEY", "HELD BY", "HOLDERS", "EXPIRES", "WAITING")
}

pub(crate) fn row(lock: &ListedLock) -> String {
    let (key, state) = (lock.key.escape_debug().to_string(), &lock.state);
    let mut held_by = state.held_by.first().map(shown).unwrap_or_default();
    if let Some(others @ 1..) = state.held_by.len().checked_sub(1) {
        held_by.push_str(&format!(" and {others} more"));
    }
    columns(
        &key,
        &held_by,
        &state.holders.to_string(),
        &expires(state.expires_in),
        &state.waiting.to_string(),
    )
}

fn columns(key: &str, held_by: &str, holders: &str, expires: &str, waiting: &str) -> String {
    format!("{key:<30} {held_by:<28} {holders:>7} {expires:>11} {waiting:>7}")
}

/// Returns the label of a holder, or its id. Another program may have written this text, so the text must not control
/// the terminal.
pub(crate) fn shown(holder: &HolderInfo) -> String {
    let name = holder.label.as_ref().unwrap_or(&holder.id);
    name.escape_debug().to_string()
}

pub(crate) fn expires(left: Option<Duration>) -> String {
    left.map_or_else(
        || "-".to_owned(),
        |left| format!("in {:.1} s", left.as_secs_f64()),
    )
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn a_table_fits_into_the_terminal() {
        let table: Vec<String> = ["KEY", "äöü", "b", "c"].map(str::to_owned).into();
        for (rows, columns, shown) in [
            (4, 80, &["KEY", "äöü", "b", "c"][..]),
            (3, 80, &["KEY", "äöü", "… 2 more"]),
            (4, 2, &["KE", "äö", "b", "c"]),
        ] {
            let mut table = table.clone();
            fit(&mut table, rows, columns);
            assert_eq!(table, shown);
        }
    }
}
