use leasehold::distributed_lock;

#[distributed_lock("k")]
async fn nothing() {}

#[distributed_lock("k")]
async fn a_number() -> u32 {
    1
}

#[distributed_lock("k")]
async fn an_option() -> Option<u32> {
    None
}

fn main() {}
