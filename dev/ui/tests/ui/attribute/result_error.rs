use leasehold::distributed_lock;

enum ShopError {}

#[distributed_lock("k")]
async fn not_converted() -> Result<(), ShopError> {
    Ok(())
}

#[distributed_lock("k")]
async fn of_std() -> std::io::Result<u32> {
    Ok(1)
}

fn main() {}
