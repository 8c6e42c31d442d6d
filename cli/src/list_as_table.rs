//! Locks as rows of a table.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use leasehold::ListedLock;
use leasehold::backend::{HolderInfo, Inspection};
use rustix::termios::tcgetwinsize;

/// Moves the cursor to the first line of the terminal, and clears the terminal.
const CLEAR: &str = "\x1b[H\x1b[2J";

const HEADER: [&str; COLUMNS] = [
    "KEY",
    "HOLDERS",
    "WAITING",
    "HELD FOR",
    "EXPIRES IN",
    "HELD BY",
];
const COLUMNS: usize = 6;

/// A longer key makes its own row wider, but not the table.
const WIDEST: usize = 40;

/// More holders of a lock are counted, and not named.
const NAMED: usize = 3;

/// Prints the table of these locks. In a terminal, it replaces the last table and fits on the screen.
pub(crate) fn show(held: &[ListedLock]) -> io::Result<()> {
    let mut lines = lines(held);
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

/// Returns the table of these locks, with its header.
pub(crate) fn lines(held: &[ListedLock]) -> Vec<String> {
    let rows = held.iter().map(|lock| row(&lock.key, &lock.state));
    aligned(
        [HEADER.map(str::to_owned)]
            .into_iter()
            .chain(rows)
            .collect(),
    )
}

/// The names of the holders are the last column, because a narrow terminal cuts the end of a line.
fn row(key: &str, state: &Inspection) -> [String; COLUMNS] {
    [
        key.escape_debug().to_string(),
        state.holders.to_string(),
        state.waiting.to_string(),
        or_dash(held_for(state).map(rounded)),
        or_dash(state.expires_in.map(seconds)),
        held_by(&state.held_by),
    ]
}

/// Numbers and times are aligned to the right.
fn aligned(rows: Vec<[String; COLUMNS]>) -> Vec<String> {
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or_default().min(WIDEST)
    };
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let line = |[key, holders, waiting, held_for, expires, held_by]: [String; COLUMNS]| {
        let [first, second, third, fourth, fifth, _] = widths;
        format!(
            "{key:<first$}  {holders:>second$}  {waiting:>third$}  {held_for:>fourth$}  {expires:>fifth$}  {held_by}"
        )
    };
    rows.into_iter().map(line).collect()
}

/// Sorts the names, because the backend returns the holders in any order, and `watch` should not shuffle them.
fn held_by(holders: &[HolderInfo]) -> String {
    let names = holders.iter().map(|it| match it.permits {
        2.. => format!("{} ×{}", shown(it), it.permits),
        _ => shown(it),
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    let others = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    match others {
        0 => names.join(", "),
        _ => format!("{} and {others} more", names.join(", ")),
    }
}

/// Returns how long the only holder has held the lock, if the clocks of this machine and of the backend agree.
pub(crate) fn held_for(state: &Inspection) -> Option<Duration> {
    state.owner.as_ref()?;
    Some(state.granted_at?.elapsed().unwrap_or_default())
}

/// Returns a time in its two largest units, such as `3h 12m`.
pub(crate) fn rounded(time: Duration) -> String {
    let text = humantime::format_duration(Duration::from_secs(time.as_secs())).to_string();
    let units: Vec<&str> = text.split(' ').take(2).collect();
    units.join(" ")
}

/// Returns the label of a holder, or its id. Another program may have written this text, so the text must not control
/// the terminal.
pub(crate) fn shown(holder: &HolderInfo) -> String {
    let name = holder.label.as_ref().unwrap_or(&holder.id);
    name.escape_debug().to_string()
}

pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

pub(crate) fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{aligned, fit, rounded};

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_a_long_key_widens_its_row_only() {
        let long = "x".repeat(50);
        let rows = [
            ["KEY", "N", "T"],
            ["äö:1", "10", "1s"],
            [&long, "1", "1m 2s"],
        ];
        let rows = rows.map(|[key, n, time]| [key, n, n, time, time, "me"].map(str::to_owned));
        let key = |key: &str| format!("{key:<40}");
        assert_eq!(
            aligned(rows.into()),
            [
                format!("{}   N   N      T      T  me", key("KEY")),
                format!("{}  10  10     1s     1s  me", key("äö:1")),
                format!("{long}   1   1  1m 2s  1m 2s  me"),
            ]
        );
    }

    #[test]
    fn duration_is_shown_in_its_two_largest_units() {
        for (millis, text) in [(999, "0s"), (192_500, "3m 12s"), (93_784_000, "1day 2h")] {
            assert_eq!(rounded(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn table_is_cut_to_the_size_of_the_terminal() {
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
