use leasehold::{Error, distributed_lock};

#[distributed_lock]
async fn nothing_at_all() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(reentrant)]
async fn reentrant_alone() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(ttl = "30s")]
async fn options_alone() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "order")]
async fn named() -> Result<(), Error> {
    Ok(())
}

const KEY: &str = "order";

#[distributed_lock(KEY)]
async fn no_string() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("")]
async fn empty() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("one", ttl = "30s", "two")]
async fn behind_an_option() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("one", "one")]
async fn twice() -> Result<(), Error> {
    Ok(())
}

fn main() {}
