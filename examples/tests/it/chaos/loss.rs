//! Work after a loss, a task that outlives its lock, a swallowed error, and a retry that is not idempotent.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use leasehold::{Error, LockManager};
use tokio::time::sleep;

use crate::chaos::{found, passes, succeeded};

const STEP: Duration = Duration::from_secs(15);

/// Imports in three steps, and notes the token of each step.
async fn import(locks: &LockManager, steps: &RefCell<Vec<i64>>, stops: bool) -> Result<(), Error> {
    let guard = locks.lock("import").acquire().await?;
    let token = guard.token().get();
    let work = async || {
        for _ in 0..3 {
            steps.borrow_mut().push(token);
            sleep(STEP).await;
        }
        Ok::<_, Error>(())
    };
    match stops {
        true => guard.run(async |_| work().await).await?,
        false => work().await?,
    }
    guard.release().await
}

async fn steps_are_in_order(chaos: leasehold::chaos::Chaos, stops: bool) {
    let steps = RefCell::new(Vec::new());
    chaos
        .clients(2, async |locks| import(&locks, &steps, stops).await)
        .await;
    let steps = steps.into_inner();
    assert!(steps.is_sorted(), "a step after the loss: {steps:?}");
}

#[test]
fn work_after_a_loss_is_found() {
    found(async |chaos| steps_are_in_order(chaos, false).await);
}

#[test]
fn work_that_stops_at_the_loss_passes() {
    passes(async |chaos| steps_are_in_order(chaos, true).await);
}

/// Adds 1 slowly. `spawns` is the mistake: the guard does not wait for the task.
async fn count(locks: &LockManager, counter: &Arc<AtomicI64>, spawns: bool) -> Result<(), Error> {
    let guard = locks.lock("counter").acquire().await?;
    let counter = Arc::clone(counter);
    let add = async move {
        let read = counter.load(Ordering::Relaxed);
        sleep(Duration::from_millis(10)).await;
        counter.store(read + 1, Ordering::Relaxed);
    };
    if spawns {
        tokio::spawn(add);
    } else {
        guard
            .run(async |_| {
                add.await;
                Ok::<_, Error>(())
            })
            .await?;
    }
    guard.release().await
}

async fn count_is_right(chaos: leasehold::chaos::Chaos, spawns: bool) {
    let counter = Arc::new(AtomicI64::new(0));
    let ends = chaos.clients(3, async |locks| count(&locks, &counter, spawns).await);
    let counted = succeeded(&ends.await);
    sleep(Duration::from_secs(60)).await;
    assert!(counter.load(Ordering::Relaxed) >= counted);
}

#[test]
fn task_that_outlives_its_lock_is_found() {
    found(async |chaos| count_is_right(chaos, true).await);
}

#[test]
fn awaited_work_passes() {
    passes(async |chaos| count_is_right(chaos, false).await);
}

/// Ships an order. `swallows` is the mistake: a lost lock counts as success.
async fn ship(locks: &LockManager, shipped: &Cell<i64>, swallows: bool) -> Result<(), Error> {
    let guard = locks.lock("order:42").acquire().await?;
    let work = guard.run(async |_| {
        sleep(Duration::from_millis(10)).await;
        shipped.set(shipped.get() + 1);
        Ok::<_, Error>(())
    });
    match work.await {
        Err(_lost) if swallows => {}
        end => end?,
    }
    Ok(())
}

async fn success_means_shipped(chaos: leasehold::chaos::Chaos, swallows: bool) {
    let shipped = Cell::new(0);
    let ends = chaos.clients(2, async |locks| ship(&locks, &shipped, swallows).await);
    let reported = succeeded(&ends.await);
    assert!(
        shipped.get() >= reported,
        "{reported} reported, {} shipped",
        shipped.get()
    );
}

#[test]
fn swallowed_loss_is_found() {
    found(async |chaos| success_means_shipped(chaos, true).await);
}

#[test]
fn returned_loss_passes() {
    passes(async |chaos| success_means_shipped(chaos, false).await);
}

/// A payment provider. It executes a request without an idempotency key each time.
#[derive(Default)]
struct Provider {
    payments: Cell<u32>,
    keys: RefCell<BTreeSet<&'static str>>,
}

impl Provider {
    async fn charge(&self, key: Option<&'static str>) {
        sleep(Duration::from_millis(10)).await;
        if key.is_none_or(|key| self.keys.borrow_mut().insert(key)) {
            self.payments.set(self.payments.get() + 1);
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Pays an invoice, and retries after a loss.
async fn pay(
    locks: &LockManager,
    provider: &Provider,
    paid: &Cell<bool>,
    key: Option<&'static str>,
) -> Result<(), Error> {
    loop {
        let pay = locks.lock("invoice:7").run(async |_| {
            if !paid.get() {
                provider.charge(key).await;
                paid.set(true);
            }
            Ok::<_, Error>(())
        });
        match pay.await {
            Err(error) if error.is_lost() => {}
            end => return end,
        }
    }
}

async fn invoice_is_paid_once(chaos: leasehold::chaos::Chaos, key: Option<&'static str>) {
    let (provider, paid) = (Provider::default(), Cell::new(false));
    chaos
        .clients(2, async |locks| pay(&locks, &provider, &paid, key).await)
        .await;
    assert!(
        provider.payments.get() <= 1,
        "{} payments",
        provider.payments.get()
    );
}

#[test]
fn retry_that_is_not_idempotent_is_found() {
    found(async |chaos| invoice_is_paid_once(chaos, None).await);
}

#[test]
fn retry_with_an_idempotency_key_passes() {
    passes(async |chaos| invoice_is_paid_once(chaos, Some("invoice:7")).await);
}
