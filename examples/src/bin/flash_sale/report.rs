//! The output before and after the sales.

use std::net::SocketAddr;
use std::time::Duration;

use axum::http::StatusCode;

use crate::clients::CLIENTS;
use crate::deployment::STOCK;
use crate::locking::Locking;
use crate::sale::Sale;

pub(crate) fn opening(open: Duration) {
    println!("Flash sale: {STOCK} items, {CLIENTS} clients, two processes, {open:?} each time.\n");
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

/// Prints what became of the late writes.
pub(crate) fn losses(sales: &[Sale]) {
    println!(
        "\nIn the last two sales, a holder stalls for longer than its lease, and then writes."
    );
    for sale in sales {
        let pool = match sale.locking {
            Locking::Leasehold => "fenced",
            _ => "plain",
        };
        let fate = match sale.late {
            None => continue,
            Some(StatusCode::OK) => "accepted".to_owned(),
            Some(StatusCode::PRECONDITION_FAILED) => "refused by the database".to_owned(),
            Some(status) => format!("not confirmed: {status}"),
        };
        let lost = (sale.count.sold - STOCK).max(0);
        println!("Lost with the {pool} pool: {lost}. The late write was {fate}.");
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
  --serve                   an interactive page that shows the locks
  --kill                    one of the two processes is killed during the sale
  --url redis://127.0.0.1   the locks in Redis
  --database postgres://…   the shop and its locks in Postgres; mysql://… for MySQL and MariaDB
  and in examples/src/bin/flash_sale:
  shop.rs     call `read_think_write` instead of `sell` for `Unfenced`, and count again
  shop.rs     set LEASE to 50 ms and use longer purchases: the watchdog renews it"
    );
}

pub(crate) fn serves(at: SocketAddr) {
    println!("The sale is at http://{at}  (Ctrl-C ends it)");
}
