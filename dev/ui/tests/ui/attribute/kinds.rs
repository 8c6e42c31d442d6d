use leasehold::{Error, distributed_lock};

#[distributed_lock("a", "b", reentrant, mode = "read", max_concurrent = 2)]
async fn several() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", reentrant, mode = "read")]
async fn reentrant_reader() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", reentrant, max_concurrent = 2)]
async fn reentrant_semaphore() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", mode = "write", max_concurrent = 2)]
async fn semaphore_with_a_writer() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", max_concurrent = 0)]
async fn no_permits() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", max_concurrent = "3")]
async fn permits_as_text() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", max_concurrent = -1)]
async fn no_number() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", mode = "shared")]
async fn no_mode() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", reentrant = true)]
async fn with_a_value() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", reentrant, reentrant)]
async fn twice() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", max_concurrent = 2, guard = lock)]
async fn a_semaphore_has_no_fencing_token() -> Result<i64, Error> {
    Ok(lock.token().get())
}

fn main() {}
