use leasehold::{Error, distributed_lock};

#[distributed_lock("one")]
#[distributed_lock("two")]
async fn two_locks() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("one")]
#[leasehold::distributed_lock("two", ttl = "30s")]
async fn by_its_path() -> Result<(), Error> {
    Ok(())
}

fn main() {}
