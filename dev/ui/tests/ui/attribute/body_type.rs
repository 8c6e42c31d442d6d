use leasehold::{Error, distributed_lock};

#[distributed_lock("k")]
async fn nothing_answered() -> Result<u32, Error> {
    let _one = 1;
}

#[distributed_lock("k")]
async fn another_type() -> Result<u32, Error> {
    Ok("one")
}

#[distributed_lock("k", guard = lock)]
async fn handle_cannot_release() -> Result<(), Error> {
    lock.release().await;
    Ok(())
}

fn main() {}
