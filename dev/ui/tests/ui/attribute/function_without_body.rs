use leasehold::{Error, distributed_lock};

trait Ships {
    #[distributed_lock("k")]
    async fn ship(&self) -> Result<(), Error>;
}

fn main() {}
