async fn two_of_one(locks: &leasehold::LockManager) -> Result<(), leasehold::Error> {
    let guard = locks.lock("order:42").acquire().await?;
    let _second = guard.clone();
    Ok(())
}

fn main() {}
