//! Charts of the measured figures, for `docs/speed`.

mod bars;
mod growth;
mod network;

use std::fs;
use std::path::Path;

use crate::BoxError;
use crate::ledger::Ledger;

/// Writes a file for each chart that has figures in this run.
pub(crate) fn draw(folder: &Path, ledger: &Ledger) -> Result<(), BoxError> {
    let charts = [
        ("owner-changes.svg", bars::owner_changes(ledger)?),
        ("fairness.svg", bars::fairness(ledger)?),
        ("hand-off.svg", bars::hand_off(ledger)?),
        ("growth-tasks.svg", growth::tasks(ledger)?),
        ("growth-keys.svg", growth::keys(ledger)?),
        ("network-pairs.svg", network::pairs(ledger)?),
        ("network-grants.svg", network::grants(ledger)?),
    ];
    fs::create_dir_all(folder)?;
    for (name, svg) in charts {
        if let Some(svg) = svg {
            let file = folder.join(name);
            fs::write(&file, svg)?;
            println!("{}", file.display());
        }
    }
    Ok(())
}
