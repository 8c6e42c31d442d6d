use leasehold::{Error, distributed_lock};

#[distributed_lock("k")]
fn blocks() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k")]
const fn constant() -> Result<(), Error> {
    Ok(())
}

#[tokio::test]
#[distributed_lock("k")]
async fn test_above() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k")]
struct NoFunction;

fn main() {}
