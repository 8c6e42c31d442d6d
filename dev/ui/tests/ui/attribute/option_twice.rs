use leasehold::{Error, distributed_lock};

#[distributed_lock("k", ttl = "30s", wait = "0s", ttl = "1m")]
async fn twice() -> Result<(), Error> {
    Ok(())
}

fn main() {}
