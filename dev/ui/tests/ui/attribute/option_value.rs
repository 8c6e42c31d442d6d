use leasehold::{Error, distributed_lock};

#[distributed_lock("k", contended = "ignore", lost = "cancel", guard = _, wait = )]
async fn values() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", contended = "skip", wait = "forever")]
async fn never_skips() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k" ttl = "30s")]
async fn no_comma() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", ttl = 1 + 1)]
async fn no_duration() -> Result<(), Error> {
    Ok(())
}

fn main() {}
