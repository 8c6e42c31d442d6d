//! What the reader sees.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::buyers::{BUYERS, DURATION};
use crate::sale::{Place, Sale};
use crate::shop::{STOCK, Shop};

pub(crate) fn opening(place: Place<'_>) {
    let place = match place {
        Place::Here => "in one process",
        Place::TwoProcesses { .. } => "in two processes",
    };
    println!("Flash sale: {STOCK} items, {BUYERS} buyers {place}, {DURATION:?} each time.\n");
}

pub(crate) fn sale_opens(name: &str) {
    println!("{name} …");
}

pub(crate) fn killed() {
    println!("  one of the two processes was killed");
}

/// A line that is written over on a terminal, and a line now and then elsewhere.
pub(crate) async fn progress(shop: Shop) -> sqlx::Result<()> {
    let end = Instant::now() + DURATION;
    let terminal = stdout().is_terminal();
    let pause = Duration::from_millis(if terminal { 100 } else { 1000 });
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let (sold, stock) = (shop.sold().await?, shop.stock().await?);
        let seconds = left.as_secs_f32();
        let line = format!("  {seconds:3.1} s to go   sold {sold:3}   stock {stock:4}");
        if terminal {
            print!("\r{line}");
            // Progress that cannot be shown is no reason to stop the sale.
            let _shown = stdout().flush();
        } else {
            println!("{line}");
        }
        if left.is_zero() {
            println!();
            return Ok(());
        }
        sleep(pause.min(left)).await;
    }
}

pub(crate) fn table(sales: &[&Sale]) {
    println!("{:16} {:>7} {:>6} {:>7}", "", "asked", "sold", "stock");
    for sale in sales {
        let Sale {
            name,
            asked,
            sold,
            stock,
        } = sale;
        println!(
            "{name:16} {asked:7} {sold:6} {stock:7}   {}",
            verdict(*sold)
        );
    }
}

fn verdict(sold: i64) -> String {
    match sold - STOCK {
        0 => "exactly what there was".to_owned(),
        over if over > 0 => format!("oversold by {over}"),
        under => format!("{} left unsold", -under),
    }
}

pub(crate) fn next_steps() {
    println!(
        "
What to try next:
  --url redis://127.0.0.1   two processes that share the lock; with --kill, one of them dies
  and in examples/src/bin/quickstart:
  buyers.rs   take `acquire` out, and count again
  buyers.rs   make TTL 20 ms and add `.without_renewal()`: a buyer is told that the lock was lost
  shop.rs     think longer: the watchdog renews the lease for as long as it takes"
    );
}
