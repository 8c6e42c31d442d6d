//! An axum service that accepts each payment once, although clients repeat their requests.
//!
//! The client sends the header `Idempotency-Key`. The handler writes the payment and records its response in one
//! transaction of the database. So only one payment per key is committed, even if an instance crashes or two instances
//! run the request. A repeat gets the recorded response.
//!
//! Run it with `cargo run --example idempotent_payment`, and repeat `curl -iX POST localhost:3000/payments -H
//! 'idempotency-key: "k-1"' -d 10`: the response is the same, with `idempotency-replayed: true`. With `-d 11` the same key
//! gets a 422. Add `redis://127.0.0.1` to keep the locks in Redis. Try: remove the layer, and each repeat is a payment.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::{Router, routing::post};
use leasehold::LockManager;
use leasehold_sqlx::{Error, SqlIdempotencyStore, ddl};
use leasehold_tower::key::{self, KeyExtractor};
use leasehold_tower::{BoxError, IdempotencyLayer, IdempotentRequest, Problem};
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};
use sqlx::{Executor, query_scalar};
use tokio::net::TcpListener;

async fn pay(
    State(db): State<SqlitePool>,
    request: IdempotentRequest,
    amount: String,
) -> Result<impl IntoResponse, Problem> {
    let mut tx = db.begin().await?;
    let insert = query_scalar("INSERT INTO payments (amount) VALUES (?) RETURNING id");
    let id: i64 = insert.bind(&amount).fetch_one(&mut *tx).await?;
    let location = [("location", format!("/payments/{id}"))];
    let response = (StatusCode::CREATED, location, format!("paid {amount}\n")).into_response();
    let response = request.record(&mut tx, response).await?;
    tx.commit().await?;
    Ok(response)
}

fn app(locks: LockManager, db: SqlitePool) -> Router {
    // In a service with users, return the id of the user, which the authenticating layer has set.
    let key = key::idempotency_key().with_principal(|_| Some("anyone".to_owned()));
    let layer = IdempotencyLayer::new(locks, key)
        .store(SqlIdempotencyStore::new(db.clone()))
        .wait(Duration::from_secs(5))
        // After an error nothing is committed, so a repeat may run again.
        .record_if(|response| response.status.is_success());
    Router::new()
        .route("/payments", post(pay))
        .route_layer(layer)
        .with_state(db)
}

async fn database() -> Result<SqlitePool, Error> {
    // The connections share the database, which exists as long as one of them is open.
    let db = SqlitePoolOptions::new()
        .min_connections(4)
        .max_connections(4);
    let db = db.connect("sqlite::memory:").await?;
    db.execute("CREATE TABLE payments (id INTEGER PRIMARY KEY, amount TEXT NOT NULL)")
        .await?;
    ddl::create_idempotency_records(&db).await?;
    Ok(db)
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let locks = match std::env::args().nth(1) {
        Some(url) => LockManager::connect(&url).await?,
        None => LockManager::in_process(),
    };
    let app = app(locks, database().await?);
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!(
        "curl -iX POST {}/payments -H 'idempotency-key: \"k-1\"' -d 10",
        listener.local_addr()?
    );
    axum::serve(listener, app).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::{HeaderMap, Request};
    use tower::ServiceExt;

    use super::*;
    use leasehold::chaos::Chaos;

    async fn send(app: &Router, key: &str, amount: &'static str) -> (u16, HeaderMap, String) {
        let request = Request::post("/payments").header("idempotency-key", key);
        let request = request.body(Body::from(amount)).unwrap();
        let (head, body) = app.clone().oneshot(request).await.unwrap().into_parts();
        let body = to_bytes(body, 1024).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        (head.status.as_u16(), head.headers, body)
    }

    #[tokio::test]
    async fn repeats_get_the_response_of_the_only_payment() {
        let db = database().await.unwrap();
        let app = app(LockManager::in_process(), db.clone());
        let concurrent = [send(&app, "\"k-1\"", "10"), send(&app, "\"k-1\"", "10")];
        let mut answers = futures_util::future::join_all(concurrent).await;
        answers.push(send(&app, "k-1", "10").await);
        for (status, headers, body) in &answers {
            assert_eq!((*status, body.as_str()), (201, "paid 10\n"));
            assert_eq!(headers["location"], "/payments/1");
        }
        let replayed = answers
            .iter()
            .filter(|it| it.1.contains_key("idempotency-replayed"));
        assert_eq!(replayed.count(), 2);

        assert_eq!(send(&app, "k-1", "11").await.0, 422);
        assert_eq!(send(&app, "k-2", "11").await.0, 201);
        let payments = query_scalar("SELECT amount FROM payments ORDER BY id");
        let payments: Vec<String> = payments.fetch_all(&db).await.unwrap();
        assert_eq!(payments, ["10", "11"]);
    }

    /// Two instances get the same request. The client repeats it until it gets a response.
    #[leasehold::chaos_test]
    async fn one_payment_is_committed_despite_faults(chaos: Chaos) {
        let db = chaos.outside(database()).await.unwrap();
        let pay = async |locks| {
            let app = app(locks, db.clone());
            for _ in 0..5 {
                let (status, headers, _) = send(&app, "\"k-1\"", "10").await;
                if status == 201 {
                    assert_eq!(headers["location"], "/payments/1");
                    return true;
                }
                tokio::time::sleep(Duration::from_secs(30)).await;
            }
            false
        };
        let ends = chaos.clients(2, pay).await;
        let payments: i64 = query_scalar("SELECT count(*) FROM payments")
            .fetch_one(&db)
            .await
            .unwrap();
        assert!(payments <= 1, "{payments} payments");
        assert!(
            !ends.contains(&Some(true)) || payments == 1,
            "the payment is lost"
        );
    }
}
