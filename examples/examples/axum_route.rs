//! An axum service with a lock and a fenced pool: one request per order at a time, over all instances.
//!
//! The handler reads the total of an order, asks a carrier for the price of one more parcel, and writes the new total.
//! A request may hold the lock for one second. Then the handler continues without it, and `FencedPool` refuses its
//! write. The handler names no token, and is the same with a plain pool.
//!
//! Run it with `cargo run --example axum_route`. The carrier is slow for the first request. Run
//! `curl -iX POST localhost:3000/orders/42/ship`, and repeat it in another terminal: it gets a 409, and after one second
//! a 200. Then the first request gets a 503, and nothing is lost. With `-- --unfenced` the pool is a plain one: both
//! requests get a 200, and the order has the price of only one parcel. Add `redis://127.0.0.1` to keep the locks in
//! Redis. Try: `.wait(Duration::from_secs(5))` on the layer.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::time::Duration;

use axum::extract::{Path, State};
use axum::{Router, routing::post};
use leasehold::LockManager;
use leasehold_sqlx::{Error, FencedPool, ddl};
use leasehold_tower::{BoxError, LockLayer, OnLoss, Problem, key};
use sqlx::sqlite::{Sqlite, SqlitePool, SqlitePoolOptions};
use sqlx::{Executor, query, query_scalar};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

/// The usual price of a parcel.
const PRICE: i64 = 10;
const MAX_HOLD: Duration = Duration::from_secs(1);

/// The requests to the carrier, which returns a price.
type Carrier = mpsc::Sender<oneshot::Sender<i64>>;

#[derive(Clone)]
struct Shop<P> {
    db: P,
    carrier: Carrier,
}

impl<P> Shop<P>
where
    for<'p> &'p P: Executor<'p, Database = Sqlite>,
{
    /// Adds the price of one more parcel to the order. This is only correct for one request at a time.
    async fn add_parcel(&self, order: i64) -> Result<i64, Error> {
        let total = query_scalar("SELECT total FROM orders WHERE id = ?").bind(order);
        let total: i64 = total.fetch_one(&self.db).await?;
        let (answer, price) = oneshot::channel();
        drop(self.carrier.send(answer).await);
        // Without a carrier, the usual price applies.
        let total = total + price.await.unwrap_or(PRICE);
        let write = query("UPDATE orders SET total = ? WHERE id = ?");
        write.bind(total).bind(order).execute(&self.db).await?;
        Ok(total)
    }
}

async fn ship<P>(State(shop): State<Shop<P>>, Path(order): Path<i64>) -> Result<String, Problem>
where
    for<'p> &'p P: Executor<'p, Database = Sqlite>,
{
    match shop.add_parcel(order).await {
        Ok(total) => Ok(format!("order {order} costs {total}\n")),
        // Nothing was written.
        Err(Error::Lock(error)) => Err(error.into()),
        Err(error) => Err(error.into()),
    }
}

fn app<P>(locks: LockManager, shop: Shop<P>, max_hold: Duration) -> Router
where
    P: Clone + Send + Sync + 'static,
    for<'p> &'p P: Executor<'p, Database = Sqlite>,
{
    // Parsed as in the handler: `/orders/42` and `/orders/042` use the same lock.
    let key = key::path("order:{order}").typed::<i64>("order");
    let lock = LockLayer::new(locks, key).max_hold(max_hold);
    Router::new()
        .route("/orders/{order}/ship", post(ship::<P>))
        .route_layer(lock.on_loss(OnLoss::Continue))
        .with_state(shop)
}

async fn database() -> Result<SqlitePool, Error> {
    // The connections share the database, which exists as long as one of them is open.
    let db = SqlitePoolOptions::new()
        .min_connections(4)
        .max_connections(4);
    let db = db.connect("sqlite::memory:").await?;
    db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER NOT NULL)")
        .await?;
    db.execute("INSERT INTO orders VALUES (42, 0), (7, 0)")
        .await?;
    ddl::add_column(&db, "orders").await?;
    Ok(db)
}

/// Answers all requests. The first answer takes longer than a request may hold its lock.
async fn carrier(mut requests: mpsc::Receiver<oneshot::Sender<i64>>) {
    let mut delay = 5 * MAX_HOLD;
    while let Some(answer) = requests.recv().await {
        tokio::spawn(async move {
            sleep(delay).await;
            let _is_received = answer.send(PRICE);
        });
        delay = Duration::ZERO;
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let (urls, flags): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|it| it.contains("://"));
    let locks = match urls.first() {
        Some(url) => LockManager::connect(url).await?,
        None => LockManager::in_process(),
    };
    let (asked, requests) = mpsc::channel(1);
    tokio::spawn(carrier(requests));
    let (db, carrier) = (database().await?, asked);
    let app = match flags.iter().any(|it| it == "--unfenced") {
        true => app(locks, Shop { db, carrier }, MAX_HOLD),
        false => {
            let db = FencedPool::new(db);
            app(locks, Shop { db, carrier }, MAX_HOLD)
        }
    };
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("curl -iX POST {}/orders/42/ship", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt;

    use super::*;
    use leasehold::chaos::{Chaos, ChaosTest};

    const LONG: Duration = Duration::from_secs(60);

    async fn shipped(app: &Router, path: &str) -> u16 {
        let request = Request::post(path).body(Body::empty()).unwrap();
        app.clone()
            .oneshot(request)
            .await
            .unwrap()
            .status()
            .as_u16()
    }

    #[tokio::test]
    async fn second_request_for_an_order_is_refused_and_one_for_another_order_is_not() {
        let (carrier, mut requests) = mpsc::channel(1);
        let db = FencedPool::new(database().await.unwrap());
        let app = app(LockManager::in_process(), Shop { db, carrier }, LONG);
        let [one, two, three] = ["/orders/42/ship", "/orders/%3042/ship", "/orders/7/ship"];
        let others = async {
            let first = requests.recv().await.unwrap();
            assert_eq!(shipped(&app, two).await, 409);
            let third = async { requests.recv().await.unwrap().send(PRICE) };
            let (third, _sent) = tokio::join!(shipped(&app, three), third);
            assert_eq!(third, 200);
            first.send(PRICE).unwrap();
        };
        let (first, ()) = tokio::join!(shipped(&app, one), others);
        assert_eq!(first, 200);
    }

    /// Ships two parcels. The first request loses its lock while it waits for the carrier, and the second one is
    /// complete before the carrier answers. Returns the status of the first request, and the amount that was lost.
    async fn late_request<P>(pool: impl Fn(SqlitePool) -> P) -> (u16, i64)
    where
        P: Clone + Send + Sync + 'static,
        for<'p> &'p P: Executor<'p, Database = Sqlite>,
    {
        let database = database().await.unwrap();
        let locks = LockManager::in_process();
        let instance = |max_hold| {
            let (carrier, requests) = mpsc::channel(1);
            let db = pool(database.clone());
            (app(locks.clone(), Shop { db, carrier }, max_hold), requests)
        };
        let (one, mut asked_by_one) = instance(Duration::from_millis(50));
        let (two, asked_by_two) = instance(LONG);
        drop(asked_by_two); // The second instance gets its price immediately.
        let path = "/orders/42/ship";
        let second = async {
            let answer = asked_by_one.recv().await.unwrap();
            let mut second = 409;
            while second == 409 {
                tokio::task::yield_now().await;
                second = shipped(&two, path).await;
            }
            assert_eq!(second, 200);
            answer.send(PRICE).unwrap();
        };
        let (first, ()) = tokio::join!(shipped(&one, path), second);
        let total = query_scalar("SELECT total FROM orders WHERE id = 42");
        let total: i64 = total.fetch_one(&database).await.unwrap();
        let confirmed = PRICE + PRICE * i64::from(first == 200);
        (first, confirmed - total)
    }

    #[tokio::test]
    async fn late_write_with_the_fenced_pool_is_refused_and_nothing_is_lost() {
        assert_eq!(late_request(FencedPool::new).await, (503, 0));
    }

    /// The control.
    #[tokio::test]
    async fn late_write_with_the_plain_pool_loses_the_price_of_the_other_parcel() {
        assert_eq!(late_request(|db| db).await, (200, PRICE));
    }

    /// Three instances ship one parcel each. A carrier answers each instance.
    async fn parcels_are_in_the_total<P>(chaos: Chaos, pool: impl Fn(SqlitePool) -> P)
    where
        P: Clone + Send + Sync + 'static,
        for<'p> &'p P: Executor<'p, Database = Sqlite>,
    {
        let database = chaos.outside(database()).await.unwrap();
        let ship = async |locks| {
            let (carrier, mut requests) = mpsc::channel::<oneshot::Sender<i64>>(1);
            tokio::spawn(async move {
                while let Some(answer) = requests.recv().await {
                    let _is_received = answer.send(PRICE);
                }
            });
            let db = pool(database.clone());
            let app = app(locks, Shop { db, carrier }, LONG);
            loop {
                match shipped(&app, "/orders/42/ship").await {
                    409 => sleep(Duration::from_millis(10)).await,
                    status => return status,
                }
            }
        };
        let ends = chaos.clients(3, ship).await;
        let confirmed = ends.into_iter().filter(|end| *end == Some(200));
        let paid: i64 = confirmed.map(|_| PRICE).sum();
        let total = query_scalar("SELECT total FROM orders WHERE id = 42");
        let total: i64 = total.fetch_one(&database).await.unwrap();
        assert!(total >= paid, "{paid} confirmed, but the total is {total}");
    }

    #[leasehold::chaos_test]
    async fn confirmed_parcels_are_in_the_total_despite_faults(chaos: Chaos) {
        parcels_are_in_the_total(chaos, FencedPool::new).await;
    }

    /// The control.
    #[test]
    fn faults_lose_a_parcel_with_the_plain_pool() {
        // All faults are tried, however slow the machine is.
        let test = ChaosTest::new().time_limit(Duration::from_secs(600));
        let check = test.check(async |chaos| {
            parcels_are_in_the_total(chaos, |db| db).await;
        });
        let failure = check.unwrap_err();
        assert!(failure.reason().contains("but the total is"), "{failure}");
    }
}
