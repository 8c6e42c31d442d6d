use leasehold::{Error, distributed_lock};

#[distributed_lock("k", ttl = "30sec", wait = "1.5s", max_hold = "1h30m")]
async fn units() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", ttl = "0s", wait = "0ms", max_hold = "0h")]
async fn zeros() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", ttl = "25h", wait = "99999999999999999999s", max_hold = "soon")]
async fn sizes() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", hold_at_least = "1.5m")]
async fn holds() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", hold_at_least = "0s")]
async fn holds_for_nothing() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", hold_at_least = "25h")]
async fn holds_for_too_long() -> Result<(), Error> {
    Ok(())
}

fn main() {}
