//! Your own backend, and the conformance suite that tests it.
//!
//! `table.rs` stores one row per key, like a database. Here the rows are in memory, and each method corresponds to one
//! statement. The manager adds watchdog, loss signal, queue order and cleanup. The conformance suite tests everything
//! that the manager relies on.
//!
//! Run it with `cargo run --example own_backend`, and the suite with `cargo test --example own_backend`. Try: in
//! `table.rs` let `renew` extend any row, and see which test fails.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

mod table;

use leasehold::{Error, LockManager};

use crate::table::Table;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let table = Table::default();
    // Two managers on one table represent two processes.
    let (here, there) = (LockManager::new(table.clone()), LockManager::new(table));
    let guard = here.lock("order:42").acquire().await?;
    println!("the first manager has token {}", guard.token());
    println!(
        "the lock is busy for the second manager: {}",
        there.lock("order:42").try_acquire().await?.is_none()
    );
    guard.release().await?;
    println!(
        "the second manager has token {}",
        there.lock("order:42").acquire().await?.token()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    leasehold::conformance_tests! {
        mod suite {
            #[tokio::test(start_paused = true)]
            contract, behaviour, hold_at_least => {
                let table = Table::default();
                async move || table.clone()
            }
        }
    }
}
