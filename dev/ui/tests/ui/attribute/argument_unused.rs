#![deny(unused_variables)]

use leasehold::{Error, distributed_lock};

#[distributed_lock("order:{id}")]
async fn ship(id: u64, by: String, (from, to): (u64, u64)) -> Result<u64, Error> {
    Ok(to)
}

struct Shop {
    by: u64,
}

impl Shop {
    #[distributed_lock("k")]
    async fn sell(&self, by: u64) -> Result<u64, Error> {
        Ok(self.by)
    }
}

fn main() {}
