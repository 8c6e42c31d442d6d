//! Methods of `#[async_trait]`, which expands first.
#![deny(warnings)]

use std::time::Duration;

use async_trait::async_trait;
use leasehold::{Error, LockManager, distributed_lock};

struct Path<T>(T);

#[async_trait]
trait Ships: Sync {
    fn locks(&self) -> &LockManager;

    async fn ship(&self, id: u64) -> Result<String, Error>;
    async fn rename(&mut self, name: &str) -> Result<usize, Error>;
    async fn destructured(
        &self,
        Path(id): Path<u64>,
        (a, _): (u8, String),
        _: String,
    ) -> Result<String, Error>;
    async fn generic<T: ToString + Send>(&self, value: T) -> Result<String, Error>;
    async fn associated(id: u64) -> Result<String, Error>;
    async fn consumed(self: Box<Self>) -> Result<u64, Error>;

    #[distributed_lock("default:{self.locks().clone().lock_name()}", manager = self.locks(), guard = lock)]
    async fn by_default(&self) -> Result<String, Error> {
        Ok(lock.key().to_owned())
    }
}

trait Named {
    fn lock_name(&self) -> &'static str;
}

impl Named for LockManager {
    fn lock_name(&self) -> &'static str {
        "name"
    }
}

struct Shop {
    locks: LockManager,
    ttl: Duration,
    name: String,
}

#[async_trait]
impl Ships for Shop {
    fn locks(&self) -> &LockManager {
        &self.locks
    }

    #[distributed_lock("order:{id}:{self.name}", manager = self.locks, ttl = self.ttl, guard = lock)]
    async fn ship(&self, id: u64) -> Result<String, Error> {
        Ok(format!("{}:{}", lock.key(), self.name))
    }

    #[distributed_lock("{name}:{self::tenant()}", manager = self.locks)]
    async fn rename(&mut self, name: &str) -> Result<usize, Error> {
        self.name = name.to_owned();
        Ok(self.name.len())
    }

    #[distributed_lock("{id}:{a}", manager = self.locks, guard = lock)]
    async fn destructured(
        &self,
        Path(id): Path<u64>,
        (a, _): (u8, String),
        _: String,
    ) -> Result<String, Error> {
        Ok(lock.key().to_owned())
    }

    #[distributed_lock("{value.to_string()}", manager = self.locks, guard = lock)]
    async fn generic<T: ToString + Send>(&self, value: T) -> Result<String, Error> {
        if value.to_string().is_empty() {
            return Ok(String::new());
        }
        Ok(lock.key().to_owned())
    }

    #[distributed_lock("{id}", guard = lock)]
    async fn associated(id: u64) -> Result<String, Error> {
        Ok(lock.key().to_owned())
    }

    #[distributed_lock("{self.name}", manager = self.locks)]
    async fn consumed(self: Box<Self>) -> Result<u64, Error> {
        Ok(self.name.len() as u64)
    }
}

fn tenant() -> &'static str {
    "acme"
}

#[async_trait(?Send)]
trait Local {
    async fn work(&self, shared: std::rc::Rc<u32>) -> Result<u32, Error>;
}

#[async_trait(?Send)]
impl Local for Shop {
    #[distributed_lock("local", manager = self.locks)]
    async fn work(&self, shared: std::rc::Rc<u32>) -> Result<u32, Error> {
        tokio::task::yield_now().await;
        Ok(*shared)
    }
}

#[tokio::test]
async fn async_trait_methods_compile_and_run() -> Result<(), Error> {
    let locks = LockManager::in_process();
    let ttl = Duration::from_secs(9);
    let mut shop = Shop {
        locks: locks.clone(),
        ttl,
        name: "ann".to_owned(),
    };
    assert_eq!(shop.ship(42).await?, "order:42:ann:ann");
    assert_eq!(shop.rename("bea").await?, 3);
    let text = String::new;
    assert_eq!(
        shop.destructured(Path(1), (2, text()), text()).await?,
        "1:2"
    );
    assert_eq!(shop.generic(5).await?, "5");
    assert_eq!(shop.by_default().await?, "default:name");
    assert_eq!(locks.as_default(Shop::associated(7)).await?, "7");
    assert_eq!(shop.work(std::rc::Rc::new(3)).await?, 3);
    assert_eq!(Box::new(shop).consumed().await?, 3);
    Ok(())
}
