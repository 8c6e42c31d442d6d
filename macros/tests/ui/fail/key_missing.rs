use leasehold::{Error, distributed_lock};

#[distributed_lock]
async fn nothing_at_all() -> Result<(), Error> {
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

#[distributed_lock("one", "two")]
async fn two_keys() -> Result<(), Error> {
    Ok(())
}

fn main() {}
