//! A lock that goes with the work: one process packs an order, another one ships it, and nobody comes between.
//!
//! The lock passes as a line of text, beside the order in whatever queue you use, and can be taken up once. The taker's
//! token is larger than the giver's: should the giver write once more, it is refused.
//!
//! Run it with `cargo run --example handover`; two managers stand for two processes, on one Redis with
//! `-- redis://127.0.0.1`. Try: send the ticket twice.

#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

use leasehold::backend::InProcess;
use leasehold::{Error, FenceStore, HandoverTicket, InProcessFenceStore, LockManager};
use tokio::sync::mpsc;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The first step. The lock outlives it: it goes with the order.
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
    let guard = locks.take_up(&ticket).acquire().await?;
    shop.admit("order:42", guard.token()).await?;
    println!("shipped under token {}", guard.token());
    let token = guard.token().get();
    guard.release().await?;
    Ok(token)
}

async fn workflow(packer: &LockManager, shipper: &LockManager) -> Result<[i64; 2], BoxError> {
    let (send, mut receive) = mpsc::channel(1);
    let packed = pack(packer, send).await?;
    let ticket = receive.recv().await.ok_or("nobody packed")?;
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
    async fn the_taker_has_the_larger_token_and_a_ticket_is_good_once() {
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
