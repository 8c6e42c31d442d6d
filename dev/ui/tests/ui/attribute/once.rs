use leasehold::{Error, distributed_lock};

#[distributed_lock("k", once = "1h", contended = "skip", lost = "continue")]
async fn skips() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("a", "b", once = "1h")]
async fn several_keys() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", once = "1h", mode = "read")]
async fn reads() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", once = "1h", max_concurrent = 2)]
async fn semaphore() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", once = "1h", reentrant)]
async fn reentrant() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", once = "1h", hold_at_least = "1m")]
async fn held_at_least() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", keep_failure = "1s", slot = "0 3 * * *")]
async fn without_once() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", once = "0s", keep_failure = 1)]
async fn times() -> Result<(), Error> {
    Ok(())
}

fn main() {}
