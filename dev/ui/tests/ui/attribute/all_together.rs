use leasehold::{Error, distributed_lock};

#[distributed_lock("order:{oder_id}:{}", ttl = 30, wiat = "5s", lost = "ignore", ttl = "1m", guard = lock)]
#[distributed_lock("two")]
fn everything(order_id: u64) -> Result<i64, Error> {
    Ok(lock.token().get())
}

fn main() {}
