use leasehold::{Error, distributed_lock};

#[distributed_lock("k", tll = "30s", reentrant)]
async fn misspelt() -> Result<(), Error> {
    Ok(())
}

fn main() {}
