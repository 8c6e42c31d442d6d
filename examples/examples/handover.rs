//! A handover: one process packs an order, another process ships it, and the lock stays held in between.
//!
//! The ticket of the lock is a line of text. Send it together with the order through any queue. It can be accepted
//! once. The new holder's token is larger than the previous holder's, so fences reject later writes of the previous
//! holder.
//!
//! Run it with `cargo run --example handover`. Two managers represent two processes; add `-- redis://127.0.0.1` to use
//! one Redis. Try: send the ticket twice.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use leasehold::backend::InProcess;
use leasehold::{Error, FenceStore, HandoverTicket, InProcessFenceStore, LockManager};
use tokio::sync::mpsc;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The first step. It does not release its lock, but hands it over with the order.
async fn pack(locks: &LockManager, orders: mpsc::Sender<String>) -> Result<i64, BoxError> {
    let guard = locks.lock("order:42").acquire().await?;
    let token = guard.token();
    println!("packed under token {token}");
    let ticket = guard.hand_over().await?;
    orders.send(ticket.to_string()).await?;
    Ok(token.get())
}

/// The second step.
async fn ship(locks: &LockManager, ticket: &str, shop: &dyn FenceStore) -> Result<i64, BoxError> {
    let ticket: HandoverTicket = ticket.parse()?;
    let guard = locks.accept(&ticket).await?;
    shop.admit("order:42", guard.token()).await?;
    println!("shipped under token {}", guard.token());
    let token = guard.token().get();
    guard.release().await?;
    Ok(token)
}

async fn workflow(packer: &LockManager, shipper: &LockManager) -> Result<[i64; 2], BoxError> {
    let (send, mut receive) = mpsc::channel(1);
    let packed = pack(packer, send).await?;
    let ticket = receive.recv().await.ok_or("the order was not packed")?;
    let busy = packer.lock("order:42").try_acquire().await?.is_none();
    println!(
        "between the two steps the order is {}",
        if busy { "locked" } else { "free" }
    );
    let shipped = ship(shipper, &ticket, &InProcessFenceStore::new()).await?;
    Ok([packed, shipped])
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let (packer, shipper) = two_managers(std::env::args().nth(1)).await?;
    workflow(&packer, &shipper).await?;
    Ok(())
}

async fn two_managers(url: Option<String>) -> Result<(LockManager, LockManager), Error> {
    Ok(match url {
        Some(url) => (
            LockManager::connect(&url).await?,
            LockManager::connect(&url).await?,
        ),
        None => {
            let world = InProcess::new();
            (LockManager::new(world.clone()), LockManager::new(world))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn new_holder_gets_a_larger_token_and_a_ticket_is_accepted_once() {
        let (packer, shipper) = two_managers(None).await.unwrap();
        let [packed, shipped] = workflow(&packer, &shipper).await.unwrap();
        assert!(shipped > packed);

        let (send, mut receive) = mpsc::channel(1);
        pack(&packer, send).await.unwrap();
        let (ticket, shop) = (receive.recv().await.unwrap(), InProcessFenceStore::new());
        ship(&shipper, &ticket, &shop).await.unwrap();
        assert!(ship(&shipper, &ticket, &shop).await.is_err());
    }
}
