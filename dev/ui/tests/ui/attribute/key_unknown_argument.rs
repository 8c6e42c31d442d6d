use leasehold::{Error, distributed_lock};

#[distributed_lock("order:{oder_id}:{user.id}")]
async fn misspelt(order_id: u64, usr: &str) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("order:{self.id}")]
async fn no_receiver() -> Result<(), Error> {
    Ok(())
}

fn main() {}
