#![deny(warnings)]

async fn forgets_to_bind(locks: &leasehold::LockManager) -> Result<(), leasehold::Error> {
    locks.lock("order:42").acquire().await?;
    Ok(())
}

fn main() {}
