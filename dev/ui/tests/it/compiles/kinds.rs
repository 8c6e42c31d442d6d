//! Each kind of lock.
#![deny(warnings)]

use leasehold::{Error, LockManager, ReentrancyScope, distributed_lock};

#[distributed_lock("order:{id}", "customer:{customer}", "stock", guard = locks)]
async fn several(id: u64, customer: &str) -> Result<Vec<String>, Error> {
    assert!(locks.is_valid() && locks.token("stock").is_some());
    Ok(locks.keys().map(str::to_owned).collect())
}

#[distributed_lock(
    "a",
    "b",
    mode = "write",
    ttl = "5s",
    wait = "1s",
    max_hold = "1m",
    contended = "skip",
    lost = "continue"
)]
async fn several_with_options() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("prices", mode = "read", guard = lock)]
async fn reads() -> Result<i64, Error> {
    Ok(lock.token().get())
}

#[distributed_lock("prices", mode = "write")]
async fn writes() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("uploads", max_concurrent = 3, guard = lock)]
async fn uploads() -> Result<bool, Error> {
    Ok(lock.is_valid() && lock.key() == "uploads")
}

const MOST: u32 = 2;

#[distributed_lock("downloads", max_concurrent = MOST.min(most))]
async fn downloads(most: u32) -> Result<(), Error> {
    Ok(())
}

struct Shop {
    locks: LockManager,
    most: u32,
}

impl Shop {
    #[distributed_lock("shop", manager = self.locks, max_concurrent = self.most)]
    async fn visit(&self) -> Result<(), Error> {
        Ok(())
    }

    #[distributed_lock("order:{id}", "stock", manager = self.locks)]
    async fn ship(&self, id: u64) -> Result<u64, Error> {
        Ok(id)
    }
}

#[async_trait::async_trait]
trait Visits {
    async fn visit(&self, id: u64) -> Result<u64, Error>;
}

#[async_trait::async_trait]
impl Visits for Shop {
    #[distributed_lock("visit:{id}", "visit:{self.most}", manager = self.locks)]
    async fn visit(&self, id: u64) -> Result<u64, Error> {
        Ok(id)
    }
}

#[distributed_lock("order:{id}", reentrant, guard = lock)]
async fn ship(id: u64) -> Result<i64, Error> {
    assert_eq!(pack(id).await?, lock.token().get());
    Ok(lock.token().get())
}

#[distributed_lock("order:{id}", mode = "write", reentrant, guard = lock, lost = "continue")]
async fn pack(id: u64) -> Result<i64, Error> {
    assert!(ReentrancyScope::current().is_some());
    Ok(lock.token().get())
}

fn assert_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn each_kind_of_lock_compiles_and_runs() -> Result<(), Error> {
    let locks = LockManager::in_process();
    locks.as_default(with_the_current_manager()).await?;
    let shop = Shop { locks, most: 1 };
    assert_send(shop.visit()).await?;
    assert_eq!(assert_send(shop.ship(7)).await?, 7);
    assert_eq!(Visits::visit(&shop, 7).await?, 7);
    Ok(())
}

async fn with_the_current_manager() -> Result<(), Error> {
    let keys = assert_send(several(42, "ann")).await?;
    assert_eq!(keys, ["customer:ann", "order:42", "stock"]);
    several_with_options().await?;
    assert!(assert_send(reads()).await? > 0);
    writes().await?;
    assert!(assert_send(uploads()).await?);
    downloads(5).await?;
    let first = assert_send(ship(42)).await?;
    assert!(pack(42).await? > first);
    Ok(())
}
