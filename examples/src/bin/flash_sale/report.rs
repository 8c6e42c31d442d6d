//! What the reader sees.

use std::error::Error;
use std::io::{IsTerminal, Write, stdout};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::crowd::CLIENTS;
use crate::deployment::{ITEM, STOCK};
use crate::error::BoxError;
use crate::locking::Locking;
use crate::sale::Sale;
use crate::shelf::Shelf;

pub(crate) fn opening(url: Option<&str>, open: Duration) {
    let place = match url {
        None => "two instances in this process",
        Some(_) => "two instances, each a process",
    };
    println!("Flash sale: {STOCK} items, {CLIENTS} clients, {place}, {open:?} each time.\n");
}

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

/// A line that is written over on a terminal, and a line now and then elsewhere.
pub(crate) async fn progress(shelf: &Arc<dyn Shelf>, open: Duration) -> Result<(), BoxError> {
    let end = Instant::now() + open;
    let terminal = stdout().is_terminal();
    let pause = Duration::from_millis(if terminal { 100 } else { 1000 });
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let count = shelf.count(ITEM).await?;
        let (seconds, sold, stock) = (left.as_secs_f32(), count.sold, count.stock);
        let line = format!("  {seconds:3.1} s to go   sold {sold:3}   stock {stock:4}");
        if terminal {
            print!("\r{line}");
            // Progress that cannot be shown is no reason to stop the sale.
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

pub(crate) fn table(sales: &[Sale]) {
    println!("\n{:24} {:>6} {:>6} {:>7}", "", "asked", "sold", "stock");
    for sale in sales {
        let (name, asked) = (sale.locking.name(), sale.asked);
        let (sold, stock) = (sale.count.sold, sale.count.stock);
        let verdict = verdict(sale);
        println!("{name:24} {asked:6} {sold:6} {stock:7}   {verdict}");
    }
}

fn verdict(sale: &Sale) -> String {
    match sale.count.sold - STOCK {
        0 if sale.locking == Locking::Leasehold => "exactly what there was".to_owned(),
        0 => "right this time, by luck".to_owned(),
        over if over > 0 => format!("oversold by {over}"),
        under => format!("{} left unsold", -under),
    }
}

pub(crate) fn next_steps() {
    println!(
        "
What to try next:
  --serve                   a page to buy on, with what happens behind it
  --url redis://127.0.0.1   each instance a process; with --kill, one of them dies
  --database postgres://…   the shop in Postgres; mysql://… for MySQL and MariaDB
  and in examples/src/bin/flash_sale:
  shop.rs     take `#[distributed_lock]` off `sell`, with its fence, and count again
  shop.rs     make LEASE 200 ms and think for longer: the watchdog renews it"
    );
}

pub(crate) fn serves(at: std::net::SocketAddr) {
    println!("The sale is at http://{at}  (Ctrl-C ends it)");
}

/// Tells what went wrong, with all its causes.
pub(crate) fn failed(error: &(dyn Error + 'static)) {
    eprintln!("{error}");
    let mut cause = error.source();
    while let Some(why) = cause {
        eprintln!("  because: {why}");
        cause = why.source();
    }
}
