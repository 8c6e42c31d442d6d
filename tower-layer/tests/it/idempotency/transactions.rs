//! Handlers that record their response in the transaction of their writes: one effect per key is committed.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing::post};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use leasehold::LockManager;
use leasehold::backend::InProcess;
use leasehold_sqlx::{FencedPool, SqlIdempotencyStore, ddl};
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use leasehold_tower::key::{KeyExtractor, from_fn};
use leasehold_tower::{IdempotencyLayer, IdempotentRequest, LockLayer, Problem, ProblemKind};
use sqlx::mysql::MySqlPool;
use sqlx::postgres::PgPool;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use tokio::sync::Barrier;
use tower::ServiceExt;

use super::site::{Answer, LOCK, Layer, in_sqlite, key, pay};
use crate::tools::document;

const PAYMENTS: &str = "CREATE TABLE payments (amount VARCHAR(20))";

/// Returns a database in a file, because concurrent transactions need several connections.
async fn sqlite(folder: &tempfile::TempDir) -> SqlitePool {
    let file = SqliteConnectOptions::new().filename(folder.path().join("payments.db"));
    SqlitePool::connect_with(file.create_if_missing(true))
        .await
        .unwrap()
}

async fn send(app: &Router, request: Request<Body>) -> Answer {
    let (head, body) = app.clone().oneshot(request).await.unwrap().into_parts();
    Answer {
        status: head.status,
        headers: head.headers,
        body: body.collect().await.unwrap().to_bytes(),
    }
}

/// Runs the checks on a database. `$bind` is its placeholder.
macro_rules! transactions {
    ($pool:expr, $bind:literal) => {
        let pool = $pool;
        sqlx::raw_sql(PAYMENTS).execute(&pool).await.unwrap();
        ddl::create_idempotency_records(&pool).await.unwrap();
        let payments = async || {
            let count = sqlx::query_scalar("SELECT COUNT(*) FROM payments");
            let count: i64 = count.fetch_one(&pool).await.unwrap();
            count
        };
        // Both executions wait here inside of their transactions.
        let meeting = Arc::new(Barrier::new(2));
        let instance = |locks: &LockManager| {
            let (pool, meeting) = (pool.clone(), Arc::clone(&meeting));
            let store = SqlIdempotencyStore::new(pool.clone());
            let layer = IdempotencyLayer::new(locks.clone(), key()).store(store);
            let pay = async move |request: IdempotentRequest, amount: String| {
                if amount == "meet" {
                    meeting.wait().await;
                }
                let mut tx = pool.begin().await?;
                let insert = concat!("INSERT INTO payments VALUES (", $bind, ")");
                sqlx::query(insert).bind(&amount).execute(&mut *tx).await?;
                let headers = [("location", "/payments/1"), ("set-cookie", "session=1")];
                let size = if amount == "large" { 64 * 1024 } else { 0 };
                let body = format!("paid {amount}{}", " ".repeat(size));
                let response = (StatusCode::CREATED, headers, body).into_response();
                let response = request.record(&mut tx, response).await?;
                if amount == "roll back" {
                    tx.rollback().await?;
                    return Ok((StatusCode::CONFLICT, "no money").into_response());
                }
                tx.commit().await?;
                if amount == "hang" {
                    std::future::pending::<()>().await;
                }
                if amount == "fail" {
                    return Ok(StatusCode::BAD_GATEWAY.into_response());
                }
                Ok::<Response, Problem>(response.into_response())
            };
            let app = Router::new().route("/payments", post(pay));
            app.route_layer(layer)
        };
        let locks = LockManager::in_process();
        let app = instance(&locks);

        // The response of the transaction goes to the first client unchanged, and to each repeat.
        let first = send(&app, pay("one", "10")).await;
        assert_eq!(
            (first.status, first.is_replay()),
            (StatusCode::CREATED, false)
        );
        assert_eq!(first.headers["set-cookie"], "session=1");
        for _ in 0..2 {
            send(&app, pay("one", "10")).await.assert_replays(&first);
        }
        assert_eq!(payments().await, 1);

        // After a rollback the layer records the response of the handler.
        let first = send(&app, pay("two", "roll back")).await;
        assert_eq!(
            (first.status, first.is_replay()),
            (StatusCode::CONFLICT, false)
        );
        send(&app, pay("two", "roll back"))
            .await
            .assert_replays(&first);
        assert_eq!(payments().await, 1);

        // The committed response counts, even if the handler fails after the commit.
        let first = send(&app, pay("three", "fail")).await;
        assert_eq!(
            (first.status, &first.body[..]),
            (StatusCode::CREATED, &b"paid fail"[..])
        );
        assert_eq!(send(&app, pay("three", "fail")).await, first);
        assert_eq!(payments().await, 2);

        // A response above the limit is refused before the commit.
        let (status, problem) =
            document(app.clone().oneshot(pay("four", "large")).await.unwrap()).await;
        assert_eq!(
            (status, problem["title"].as_str().unwrap()),
            (500, "The response cannot be recorded")
        );
        assert_eq!(payments().await, 2);

        // The lock is lost after the commit: the client and its repeat get the committed response.
        let short = LockManager::builder()
            .ttl(Duration::from_secs(3))
            .without_renewal();
        let short = short.build(InProcess::new()).unwrap();
        let hanging = instance(&short);
        let first = send(&hanging, pay("five", "hang")).await;
        assert_eq!(first.body, "paid hang");
        assert_eq!(send(&hanging, pay("five", "hang")).await, first);
        assert_eq!(payments().await, 3);

        // Two executions of one key, as after a lost lock: their managers do not share locks.
        for round in 0..10 {
            let before = payments().await;
            let (one, other) = (instance(&locks), instance(&LockManager::in_process()));
            let key = format!("both:{round}");
            let both = tokio::join!(
                send(&one, pay(&key, "meet")),
                send(&other, pay(&key, "meet"))
            );
            for answer in [&both.0, &both.1] {
                assert_eq!(
                    (answer.status, &answer.body[..]),
                    (StatusCode::CREATED, &b"paid meet"[..])
                );
            }
            assert_ne!(both.0.is_replay(), both.1.is_replay(), "one has an effect");
            assert_eq!(payments().await, before + 1);
            let repeat = send(&one, pay(&key, "meet")).await;
            assert!(repeat.is_replay());
        }
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn one_effect_per_key_is_committed_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    transactions!(sqlite(&folder).await, "$1");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_effect_per_key_is_committed_on_postgres() {
    let server = PostgresServer::start().await.unwrap();
    transactions!(PgPool::connect(&server.url()).await.unwrap(), "$1");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_effect_per_key_is_committed_on_mariadb() {
    let server = MariaDbServer::start().await.unwrap();
    transactions!(MySqlPool::connect(&server.url()).await.unwrap(), "?");
}

#[tokio::test(flavor = "multi_thread")]
async fn response_is_recorded_in_the_transaction_of_a_fenced_pool() {
    let folder = tempfile::tempdir().unwrap();
    let pool = sqlite(&folder).await;
    sqlx::raw_sql(PAYMENTS).execute(&pool).await.unwrap();
    ddl::create_idempotency_records(&pool).await.unwrap();
    ddl::create_fences(&pool).await.unwrap();
    ddl::add_column(&pool, "payments").await.unwrap();
    let store = SqlIdempotencyStore::new(pool.clone());
    let locks = LockManager::in_process();
    let layer = IdempotencyLayer::new(locks.clone(), key()).store(store.clone());
    let fenced = FencedPool::new(pool.clone());
    let handler = async move |request: IdempotentRequest, amount: String| {
        let mut tx = fenced.begin().await?;
        let insert = sqlx::query("INSERT INTO payments (amount) VALUES (?)");
        insert.bind(&amount).execute(&mut *tx).await?;
        let response = request.record(&mut tx, amount.into_response()).await?;
        tx.commit().await?;
        Ok::<_, Problem>(response.into_response())
    };
    let app = Router::new()
        .route("/payments", post(handler))
        .route_layer(LockLayer::new(
            locks,
            from_fn(|_| Some("payments".to_owned())),
        ))
        .route_layer(layer);
    let first = send(&app, pay("k", "10")).await;
    assert_eq!(first.body, "10");
    send(&app, pay("k", "10")).await.assert_replays(&first);
    let token: i64 = sqlx::query_scalar("SELECT fencing_token FROM payments")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(token > 0);
    assert!(store.find(LOCK).await.unwrap().is_some());
}

/// Sends deposits of 1 to one account, each with a key of its own. Returns the responses and the balance.
async fn deposits(layers: impl FnOnce(Router, LockManager) -> Router) -> (Vec<Answer>, i64) {
    let folder = tempfile::tempdir().unwrap();
    let pool = sqlite(&folder).await;
    let table = "CREATE TABLE accounts (balance INTEGER); INSERT INTO accounts VALUES (0)";
    sqlx::raw_sql(table).execute(&pool).await.unwrap();
    ddl::add_column(&pool, "accounts").await.unwrap();
    let fenced = FencedPool::new(pool.clone());
    let deposit = async move || {
        let deposit = sqlx::query("UPDATE accounts SET balance = balance + 1");
        deposit.execute(&fenced).await?;
        Ok::<_, Problem>(StatusCode::CREATED)
    };
    let app = Router::new().route("/payments", post(deposit));
    let app = layers(app, LockManager::in_process());
    let keys: Vec<String> = (0..20).map(|it| format!("deposit:{it}")).collect();
    let answers = keys.iter().map(|key| send(&app, pay(key, "1")));
    let answers = futures_util::future::join_all(answers).await;
    let balance = sqlx::query_scalar("SELECT balance FROM accounts");
    (answers, balance.fetch_one(&pool).await.unwrap())
}

/// Locks the account of a deposit.
fn account(locks: &LockManager) -> LockLayer<impl KeyExtractor> {
    let key = from_fn(|_| Some("account:3".to_owned()));
    LockLayer::new(locks.clone(), key).wait(Duration::from_secs(60))
}

#[tokio::test(flavor = "multi_thread")]
async fn deposits_without_a_lock_of_the_account_are_refused_before_they_are_sent() {
    let (answers, balance) =
        deposits(|app, locks| app.route_layer(IdempotencyLayer::new(locks, key()))).await;
    for answer in answers {
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        let body = String::from_utf8_lossy(&answer.body);
        assert!(body.contains("add a layer that locks the data"), "{body}");
    }
    assert_eq!(balance, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_deposit_is_lost_with_a_lock_of_the_account_inside_or_outside_of_the_idempotency_layer()
{
    let inside = deposits(|app, locks| {
        let idempotency = IdempotencyLayer::new(locks.clone(), key());
        app.route_layer(account(&locks)).route_layer(idempotency)
    });
    let outside = deposits(|app, locks| {
        let idempotency = IdempotencyLayer::new(locks.clone(), key());
        app.route_layer(idempotency).route_layer(account(&locks))
    });
    for (answers, balance) in [inside.await, outside.await] {
        for answer in answers {
            assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
        }
        assert_eq!(balance, 20);
    }
}

/// Returns an application whose handler records a response, and its database. The body of a request determines what the
/// handler does.
async fn recording(change: impl FnOnce(Layer) -> Layer) -> (Router, SqlitePool) {
    let (layer, pool) = in_sqlite(&LockManager::in_process()).await;
    sqlx::raw_sql(PAYMENTS).execute(&pool).await.unwrap();
    let db = pool.clone();
    let handler = async move |request: IdempotentRequest, body: String| {
        let mut tx = db.begin().await?;
        let insert = sqlx::query("INSERT INTO payments VALUES ($1)");
        insert.bind(&body).execute(&mut *tx).await?;
        let status = match body.contains("402") {
            true => StatusCode::PAYMENT_REQUIRED,
            false => StatusCode::CREATED,
        };
        let response = (status, [("set-cookie", "session=1")], body.clone()).into_response();
        let response = request.record(&mut tx, response).await?;
        if body.starts_with("commit") {
            tx.commit().await?;
        } else {
            tx.rollback().await?;
        }
        Ok::<_, Problem>(match body.split_once("return ") {
            Some((_, "another success")) => StatusCode::ACCEPTED.into_response(),
            Some((_, "an error")) => StatusCode::CONFLICT.into_response(),
            _ => response.into_response(),
        })
    };
    let app = Router::new().route("/payments", post(handler));
    (app.route_layer(change(layer)), pool)
}

async fn payments(pool: &SqlitePool) -> i64 {
    let count = sqlx::query_scalar("SELECT COUNT(*) FROM payments");
    count.fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn recorded_response_of_an_uncommitted_transaction_is_refused() {
    for body in ["forget", "forget 402", "forget, return another success"] {
        let (app, pool) = recording(|layer| layer).await;
        for _ in 0..2 {
            let refused = app.clone().oneshot(pay("k", body)).await.unwrap();
            let (status, problem) = document(refused).await;
            assert_eq!(status, 500, "{body}");
            assert_eq!(problem["type"], ProblemKind::NotRecorded.uri(), "{body}");
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("commit the transaction"), "{detail}");
        }
        assert_eq!(payments(&pool).await, 0);
        let store = SqlIdempotencyStore::new(pool);
        assert_eq!(store.find(LOCK).await.unwrap(), None, "{body}");
    }
}

#[tokio::test]
async fn response_that_the_handler_records_does_not_depend_on_record_if() {
    let (app, pool) = recording(|it| it.record_if(|it| it.status.is_success())).await;
    let first = send(&app, pay("k", "commit 402")).await;
    assert_eq!(first.status, StatusCode::PAYMENT_REQUIRED);
    assert!(!first.is_replay());
    assert_eq!(first.headers["set-cookie"], "session=1");
    let repeat = send(&app, pay("k", "commit 402")).await;
    repeat.assert_replays(&first);
    assert_eq!(payments(&pool).await, 1);

    // `record_if` still applies to another response, if nothing is committed.
    for _ in 0..2 {
        let error = send(&app, pay("k2", "roll back, return an error")).await;
        assert_eq!(
            (error.status, error.is_replay()),
            (StatusCode::CONFLICT, false)
        );
    }
}
