use leasehold::{Error, distributed_lock};

#[distributed_lock("k", contended = "skip")]
async fn a_number() -> Result<u32, Error> {
    Ok(1)
}

fn main() {}
