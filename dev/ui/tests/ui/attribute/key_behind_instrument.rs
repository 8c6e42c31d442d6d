use async_trait::async_trait;
use leasehold::{Error, distributed_lock};

struct Path<T>(T);

struct Shop;

#[async_trait]
trait Ships {
    async fn ship(&self, path: Path<u64>) -> Result<u64, Error>;
}

#[async_trait]
impl Ships for Shop {
    #[tracing::instrument(skip_all)]
    #[distributed_lock("order:{id}")]
    async fn ship(&self, Path(id): Path<u64>) -> Result<u64, Error> {
        Ok(id)
    }
}

fn main() {}
