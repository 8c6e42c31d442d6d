use leasehold::{Error, distributed_lock};

struct Shop {
    url: String,
}

impl Shop {
    #[distributed_lock("k", manager = self.url)]
    async fn ship(&self) -> Result<(), Error> {
        Ok(())
    }
}

#[distributed_lock("k", manager = self.locks)]
async fn no_receiver() -> Result<(), Error> {
    Ok(())
}

fn main() {}
