use leasehold::{Error, distributed_lock};

#[distributed_lock("k", tll = "30s", permanent)]
async fn misspelt() -> Result<(), Error> {
    Ok(())
}

fn main() {}
