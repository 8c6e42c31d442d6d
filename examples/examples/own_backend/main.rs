//! A backend of one's own, and the suite that says whether it keeps its word.
//!
//! `table.rs` keeps locks as a database would, a row per key: here the rows are in memory, and each method is what would
//! be one statement. The manager gives it watchdog, loss signal, queue order and cleanup; the conformance suite asks it
//! for everything the manager relies on.
//!
//! Run it with `cargo run --example own_backend`, and the suite with `cargo test --example own_backend`. Try: in `table.rs`
//! let `renew` extend whatever it finds, and see which case notices.

#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

mod table;

use leasehold::{Error, LockManager};

use crate::table::Table;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let table = Table::default();
    // Two processes at one table.
    let (here, there) = (LockManager::new(table.clone()), LockManager::new(table));
    let guard = here.lock("order:42").acquire().await?;
    println!("here has token {}", guard.token());
    println!(
        "there it is busy: {}",
        there.lock("order:42").try_acquire().await?.is_none()
    );
    guard.release().await?;
    println!(
        "there has token {}",
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
            contract, behaviour => {
                let table = Table::default();
                async move || table.clone()
            }
        }
    }
}
