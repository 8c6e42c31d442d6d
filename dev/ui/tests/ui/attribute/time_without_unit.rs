use leasehold::{Error, distributed_lock};

#[distributed_lock("k", ttl = 30, wait = "5", max_hold = 1.5)]
async fn numbers() -> Result<(), Error> {
    Ok(())
}

fn main() {}
