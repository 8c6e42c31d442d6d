//! Checks a lock backend before production.

use std::io::{self, IsTerminal, Write};

use leasehold::check::{CheckReport, Finding, Verdict};
use serde_json::{Value, json};

use crate::args::DoctorArgs;

/// The exit code if the locks do not work, or can be lost.
const FAILED: u8 = 1;

/// Prints the report of a check.
pub(crate) async fn doctor(args: DoctorArgs) -> anyhow::Result<u8> {
    let locks = args.connection.connect().await?;
    let report = locks.check().await;
    let text = match args.json {
        true => as_json(&report).to_string(),
        false if io::stdout().is_terminal() => in_color(&report.to_string()),
        false => report.to_string(),
    };
    writeln!(io::stdout(), "{text}")?;
    // The report is complete, even if the backend does not confirm the end.
    let _closed = locks.shutdown().await;
    Ok(match report.verdict() {
        Verdict::Failure => FAILED,
        _ => 0,
    })
}

fn as_json(report: &CheckReport) -> Value {
    let finding = |it: &Finding| {
        json!({
            "verdict": it.verdict.to_string(),
            "name": it.name,
            "found": it.found,
            "guarantee": it.guarantee,
            "remedy": it.remedy,
        })
    };
    json!({
        "verdict": report.verdict().to_string(),
        "findings": report.findings.iter().map(finding).collect::<Value>(),
    })
}

/// Colors the verdicts of a table.
fn in_color(table: &str) -> String {
    let colors = [
        (Verdict::Good, 32),
        (Verdict::Warning, 33),
        (Verdict::Failure, 31),
    ];
    let line = |line: &str| {
        for (verdict, color) in colors {
            let word = verdict.to_string();
            if let Some(rest) = line.strip_prefix(&word) {
                return format!("\x1b[{color}m{word}\x1b[0m{rest}");
            }
        }
        line.to_owned()
    };
    table.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_colored_and_remedies_are_not() {
        let table = "ok       acquire\nfailure  role\n         touches exclusion";
        let colored = "\x1b[32mok\x1b[0m       acquire\n\x1b[31mfailure\x1b[0m  role\n         touches exclusion";
        assert_eq!(in_color(table), colored);
    }
}
