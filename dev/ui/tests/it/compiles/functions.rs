//! Each kind of function.
#![deny(warnings)]

use std::cell::RefCell;
use std::fmt::Display;
use std::future::Future;
use std::rc::Rc;

use leasehold::{Error, LockManager, distributed_lock};

struct Shop {
    locks: LockManager,
    sold: u64,
}

impl Shop {
    #[distributed_lock("shop", manager = self.locks)]
    async fn sold(&self) -> Result<u64, Error> {
        Ok(self.sold)
    }

    #[distributed_lock("shop:{self.sold}", manager = self.locks, guard = lock)]
    async fn sell(&mut self, count: u64) -> Result<String, Error> {
        self.sold += count;
        Ok(lock.key().to_owned())
    }

    #[distributed_lock("shop", manager = self.locks)]
    async fn close(self) -> Result<u64, Error> {
        Ok(self.sold)
    }

    #[distributed_lock("shop", manager = self.locks)]
    async fn open(mut self: Box<Self>) -> Result<Self, Error> {
        self.sold = 0;
        Ok(*self)
    }

    #[distributed_lock("shop")]
    pub(crate) async fn associated() -> Result<(), Error> {
        Ok(())
    }
}

// The function has bounds in both positions, because the expansion copies both.
#[allow(clippy::multiple_bound_locations)]
#[distributed_lock("{first}")]
async fn generic<T: Display, const N: usize>(first: T, others: [T; N]) -> Result<(T, usize), Error>
where
    T: Send,
{
    Ok((first, others.len()))
}

#[distributed_lock("{name}")]
async fn lifetimes<'a>(name: &'a str, other: &str) -> Result<&'a str, Error> {
    Ok(&name[..other.len()])
}

#[distributed_lock("{name}")]
async fn elided(name: &str) -> Result<&str, Error> {
    Ok(name)
}

#[distributed_lock("{name}")]
async fn impl_arguments(name: impl Display, make: impl FnOnce() -> u32) -> Result<u32, Error> {
    Ok(make())
}

#[distributed_lock("k")]
async fn impl_answer() -> Result<impl Display, Error> {
    Ok(42)
}

#[distributed_lock("k")]
async fn coerced(early: bool) -> Result<Box<dyn Display>, Error> {
    if early {
        return Ok(Box::new("early"));
    }
    Ok(Box::new(42))
}

struct Path<T>(T);

struct Point {
    x: u32,
    y: u32,
}

#[distributed_lock("{id}:{x}:{left}:{byte}")]
async fn destructured(
    Path(id): Path<u64>,
    Point { x, y: _ }: Point,
    (left, _): (u8, String),
    _: String,
    &byte: &u8,
    &(_, second): &(u32, u32),
) -> Result<u32, Error> {
    Ok(second + x)
}

/// Fields cannot be moved out of this type.
struct Parcel {
    weight: u32,
    label: String,
}

impl Drop for Parcel {
    fn drop(&mut self) {
        self.label.clear();
    }
}

struct Sealed(u32, String);

impl Drop for Sealed {
    fn drop(&mut self) {
        self.1.clear();
    }
}

#[distributed_lock("{weight}:{first}")]
async fn left_where_it_is(
    Parcel { weight, label: _ }: Parcel,
    Sealed(first, _): Sealed,
    (Ok((number, _)) | Err((_, number))): Result<(u32, String), (String, u32)>,
    both @ (_, _): (String, u32),
    (Sealed(second, _), _): (Sealed, String),
) -> Result<u32, Error> {
    Ok(weight + first + second + number + both.1)
}

#[distributed_lock("k")]
async fn mutable(
    mut count: u32,
    #[cfg(false)] gone: Gone,
    #[cfg(true)] here: u32,
) -> Result<u32, Error> {
    count += here;
    Ok(count)
}

#[distributed_lock("k")]
async fn not_send(shared: Rc<RefCell<u32>>) -> Result<u32, Error> {
    tokio::task::yield_now().await;
    let was = shared.replace(1);
    Ok(was)
}

/// With documentation, and with other attributes.
#[distributed_lock("k")]
#[allow(clippy::unused_async, clippy::double_must_use)]
#[must_use]
pub(crate) async fn attributes() -> Result<(), Error> {
    #![allow(unused_variables)]
    let unused = 1;
    Ok(())
}

#[distributed_lock("k")]
async fn leaves_in_the_middle(early: bool) -> Result<u32, Error> {
    if early {
        return Ok(1);
    }
    let parsed: u32 = match "2".parse() {
        Ok(parsed) => parsed,
        Err(_) => return Ok(0),
    };
    for _ in 0..2 {
        if parsed == 2 {
            break;
        }
    }
    Ok(parsed)
}

#[allow(unused_qualifications)]
#[distributed_lock("k")]
async fn shadows_names() -> Result<u32, Error> {
    #[allow(dead_code)]
    struct Result;
    #[allow(non_camel_case_types, dead_code)]
    type u32 = String;
    std::result::Result::Ok(7)
}

#[distributed_lock("{depth}")]
async fn calls_another(depth: u32) -> Result<u32, Error> {
    let inner = Box::pin(generic(depth + 1, [])).await?;
    Ok(inner.0)
}

trait Ships {
    fn ship(&self, id: u64) -> impl Future<Output = Result<String, Error>> + Send;
    fn count(&self, up_to: u64) -> impl Future<Output = Result<u64, Error>> + Send;
}

impl Ships for Shop {
    #[distributed_lock("order:{id}", manager = self.locks, guard = lock)]
    async fn ship(&self, id: u64) -> Result<String, Error> {
        Ok(lock.key().to_owned())
    }

    #[distributed_lock("orders", manager = self.locks)]
    async fn count(&self, up_to: u64) -> Result<u64, Error> {
        Ok(up_to)
    }
}

#[allow(async_fn_in_trait)]
trait Counts {
    fn locks(&self) -> &LockManager;

    #[distributed_lock("count", manager = self.locks())]
    async fn count_once(&self) -> Result<u32, Error> {
        Ok(1)
    }
}

impl Counts for Shop {
    fn locks(&self) -> &LockManager {
        &self.locks
    }
}

macro_rules! locked {
    ($name:ident, $key:literal, $argument:ident) => {
        #[distributed_lock($key)]
        async fn $name($argument: u32) -> Result<u32, Error> {
            let doubled = $argument * 2;
            Ok(doubled)
        }
    };
}

locked!(from_a_macro, "k:{n}:{n.pow(2)}:{u32::from(n)}", n);

macro_rules! locked_inside {
    ($name:ident) => {
        #[distributed_lock("{point.x}:{n}:{u64::from(n)}:{self.sold}", manager = self.locks, guard = lock)]
        async fn $name(&self, point: Point, n: u32) -> Result<String, Error> {
            Ok(format!("{}:{}", lock.key(), point.y))
        }
    };
}

impl Shop {
    locked_inside!(all_from_a_macro);
}

fn assert_send<F: Future + Send>(future: F) -> F {
    future
}

async fn all(locks: LockManager) -> Result<(), Error> {
    let mut shop = Shop { locks, sold: 1 };
    assert_eq!(assert_send(shop.sold()).await?, 1);
    assert_eq!(assert_send(shop.sell(2)).await?, "shop:1");
    assert_send(Shop::associated()).await?;
    let point = Point { x: 1, y: 2 };
    let key = assert_send(shop.all_from_a_macro(point, 3)).await?;
    assert_eq!(key, "1:3:3:3:2");
    assert_eq!(assert_send(shop.ship(42)).await?, "order:42");
    assert_eq!(assert_send(Ships::count(&shop, 3)).await?, 3);
    assert_eq!(shop.count_once().await?, 1);
    shop = Box::new(shop).open().await?;
    assert_eq!(assert_send(shop.close()).await?, 0);
    assert_eq!(assert_send(generic("a", ["b", "c"])).await?, ("a", 2));
    assert_eq!(assert_send(lifetimes("abc", "x")).await?, "a");
    assert_eq!(elided("abc").await?, "abc");
    assert_eq!(impl_arguments(1, || 2).await?, 2);
    assert_eq!(impl_answer().await?.to_string(), "42");
    assert_eq!(coerced(true).await?.to_string(), "early");
    assert_eq!(coerced(false).await?.to_string(), "42");
    let point = Point { x: 1, y: 2 };
    let text = String::new;
    let patterns = destructured(Path(1), point, (1, text()), text(), &3, &(1, 2));
    assert_eq!(assert_send(patterns).await?, 3);
    let parcel = Parcel {
        weight: 1,
        label: text(),
    };
    let sealed = |number| Sealed(number, text());
    let left = left_where_it_is(
        parcel,
        sealed(10),
        Err((text(), 100)),
        (text(), 1000),
        (sealed(10000), text()),
    );
    assert_eq!(assert_send(left).await?, 11111);
    assert_eq!(mutable(1, 2).await?, 3);
    assert_eq!(not_send(Rc::default()).await?, 0);
    attributes().await?;
    assert_eq!(leaves_in_the_middle(true).await?, 1);
    assert_eq!(leaves_in_the_middle(false).await?, 2);
    assert_eq!(shadows_names().await?, 7);
    assert_eq!(calls_another(1).await?, 2);
    assert_eq!(from_a_macro(2).await?, 4);
    Ok(())
}

#[tokio::test]
async fn each_kind_of_function_compiles_and_runs() -> Result<(), Error> {
    let locks = LockManager::in_process();
    locks.as_default(all(locks.clone())).await
}
