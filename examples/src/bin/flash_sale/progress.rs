//! The output while a sale is open.

use std::io::{IsTerminal, Write, stdout};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::deployment::ITEM;
use crate::error::BoxError;
use crate::locking::Locking;
use crate::shelf::Tables;

pub(crate) fn sale_opens(locking: Locking) {
    println!("{} …", locking.name());
}

pub(crate) fn killed(instance: &str, sold: i64) {
    let line = if stdout().is_terminal() {
        "\r\x1b[K"
    } else {
        ""
    };
    println!("{line}  instance {instance} was killed, {sold} sold by then");
}

/// Shows the progress: one line that is updated on a terminal, or a line from time to time elsewhere.
pub(crate) async fn show(tables: &Arc<dyn Tables>, open: Duration) -> Result<(), BoxError> {
    let end = Instant::now() + open;
    let terminal = stdout().is_terminal();
    let pause = Duration::from_millis(if terminal { 100 } else { 1000 });
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let count = tables.count(ITEM).await?;
        let (seconds, sold, stock) = (left.as_secs_f32(), count.sold, count.stock);
        let line = format!("  {seconds:3.1} s to go   sold {sold:3}   stock {stock:4}");
        if terminal {
            print!("\r{line}");
            // The sale continues even if the progress cannot be shown.
            let _shown = stdout().flush();
        } else {
            println!("{line}");
        }
        if left.is_zero() {
            if terminal {
                println!();
            }
            return Ok(());
        }
        sleep(pause.min(left)).await;
    }
}
