//! Several processes serve one database. Clients repeat and disconnect, and the processes are killed. Every response of a
//! key is the same, and one effect per key is committed if the handler records its response in its transaction.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use axum::{Extension, Router, routing::post};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use leasehold::LockManager;
use leasehold_sqlx::{SqlIdempotencyStore, ddl};
use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::servers::{PostgresServer, RedisServer};
use leasehold_tower::{IdempotencyLayer, IdempotentRequest, Problem};
use parking_lot::Mutex;
use sqlx::postgres::{PgConnection, PgPool, PgPoolOptions};
use tokio::time::{sleep, timeout};

use super::site::{Answer, key};
use crate::wire::serve;

const DATABASE: &str = "LEASEHOLD_TOWER_IDEMPOTENCY_DATABASE";
/// The locks of the layer. Without this variable, the instance has no layer.
const REDIS: &str = "LEASEHOLD_TOWER_IDEMPOTENCY_REDIS";
/// If it is set, the handler records its response in its transaction.
const RECORDS: &str = "LEASEHOLD_TOWER_IDEMPOTENCY_RECORDS";

const REQUESTS: usize = 2_000;
const KEYS: usize = 200;
const CLIENTS: usize = 16;
const INSTANCES: usize = 3;
const KILLS: usize = 12;
const SOON: Duration = Duration::from_secs(60);
/// A killed process blocks its keys for this time.
const TTL: Duration = Duration::from_secs(2);

/// How the processes handle requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// With the layer. The handler records its response in its transaction.
    RecordedInTransaction,
    /// With the layer, which records the response after the transaction.
    RecordedAfterwards,
    /// The control.
    WithoutLayer,
}

/// This is not a test by itself. The tests start it in several processes.
#[tokio::test(flavor = "multi_thread")]
async fn server_process() {
    let Ok(database) = std::env::var(DATABASE) else {
        return;
    };
    let pool = PgPoolOptions::new().max_connections(16);
    let pool = pool.connect(&database).await.unwrap();
    let store = SqlIdempotencyStore::new(pool.clone());
    let records = std::env::var(RECORDS).is_ok();
    let pay = async move |request: Option<Extension<IdempotentRequest>>, name: String| {
        let mut tx = pool.begin().await?;
        let mut response = effect(&mut tx, &name).await?;
        if let Some(Extension(request)) = request.filter(|_| records) {
            response = request.record(&mut tx, response).await?.into_response();
        }
        pause().await;
        tx.commit().await?;
        // A process that is killed here has not recorded the response.
        sleep(Duration::from_millis(fastrand::u64(0..20))).await;
        Ok::<_, Problem>(response)
    };
    let mut app = Router::new().route("/payments", post(pay));
    if let Ok(redis) = std::env::var(REDIS) {
        let locks = LockManager::connect(&redis).await.unwrap();
        app = app.route_layer(IdempotencyLayer::new(locks, key()).store(store).ttl(TTL));
    }
    println!("\nserves at {}", serve(app).await);
    std::future::pending::<()>().await;
}

/// Writes the effect of a key. Each execution has another response.
async fn effect(connection: &mut PgConnection, name: &str) -> Result<Response, Problem> {
    pause().await;
    let id = "INSERT INTO effects (name) VALUES ($1) RETURNING id";
    let id: i64 = sqlx::query_scalar(id)
        .bind(name)
        .fetch_one(connection)
        .await?;
    let location = format!("/payments/{id}");
    let body = format!("{id} ").repeat(fastrand::usize(1..500));
    Ok((StatusCode::CREATED, [("location", location)], body).into_response())
}

async fn pause() {
    sleep(Duration::from_micros(fastrand::u64(0..3_000))).await;
}

/// The running processes. Clients know their addresses.
struct Instances {
    mode: Mode,
    database: String,
    redis: String,
    running: Vec<ChildProcess>,
    addresses: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Instances {
    async fn start(&mut self) {
        let mut child = ChildProcess::of(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "idempotency::processes::server_process",
                "--nocapture",
            ])
            .env(DATABASE, &self.database);
        if self.mode != Mode::WithoutLayer {
            child = child.env(REDIS, &self.redis);
        }
        if self.mode == Mode::RecordedInTransaction {
            child = child.env(RECORDS, "on");
        }
        let mut child = child.start().unwrap();
        let line = child
            .line_where(SOON, |line| line.starts_with("serves at "))
            .await
            .unwrap();
        self.addresses
            .lock()
            .push(line.rsplit(' ').next().unwrap().parse().unwrap());
        self.running.push(child);
    }

    /// Kills a process, and starts another one.
    async fn replace(&mut self, index: usize) {
        self.running.remove(index).kill();
        self.addresses.lock().remove(index);
        self.start().await;
    }
}

/// Sends requests, and keeps their complete responses by key.
#[derive(Clone)]
struct Load {
    addresses: Arc<Mutex<Vec<SocketAddr>>>,
    client: Client<HttpConnector, Full<Bytes>>,
    sent: Arc<AtomicUsize>,
    disconnected: Arc<AtomicUsize>,
    answers: Arc<Mutex<HashMap<usize, Vec<Answer>>>>,
    refused: Arc<Mutex<HashMap<u16, usize>>>,
}

impl Load {
    /// Sends one request to a random process. Returns whether a complete successful response has arrived.
    async fn send(&self, key: usize, patience: Duration) -> bool {
        self.sent.fetch_add(1, Ordering::SeqCst);
        let at = {
            let addresses = self.addresses.lock();
            addresses[fastrand::usize(..addresses.len())]
        };
        let name = format!("k-{key}");
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("http://{at}/payments"));
        let request = request
            .header("idempotency-key", &name)
            .body(name.into())
            .unwrap();
        let answer = async {
            let (head, body) = self.client.request(request).await.ok()?.into_parts();
            let body = body.collect().await.ok()?.to_bytes();
            Some((head, body))
        };
        let (head, body) = match timeout(patience, answer).await {
            Ok(Some(answer)) => answer,
            // The process was killed.
            Ok(None) => return false,
            Err(_) => {
                self.disconnected.fetch_add(1, Ordering::SeqCst);
                return false;
            }
        };
        if head.status != StatusCode::CREATED {
            *self.refused.lock().entry(head.status.as_u16()).or_default() += 1;
            return false;
        }
        let mut headers = HeaderMap::new();
        for name in ["content-type", "location"] {
            headers.insert(name, head.headers[name].clone());
        }
        let status = head.status;
        let answer = Answer {
            status,
            headers,
            body,
        };
        self.answers.lock().entry(key).or_default().push(answer);
        true
    }

    /// Of the requests 30 % repeat a completed one, 10 % are concurrent with another one, and 20 % disconnect early.
    async fn client(&self) {
        loop {
            let sent = self.sent.load(Ordering::SeqCst);
            if sent >= REQUESTS {
                return;
            }
            // New keys appear during the whole load, so that all faults meet first executions.
            let newest = sent * KEYS / REQUESTS;
            let key = fastrand::usize(newest.saturating_sub(5)..=newest);
            match fastrand::u32(..10) {
                0..3 => {
                    let completed: Vec<usize> = self.answers.lock().keys().copied().collect();
                    self.send(fastrand::choice(completed).unwrap_or(key), SOON)
                        .await;
                }
                3 => {
                    let _both = tokio::join!(self.send(key, SOON), self.send(key, SOON));
                }
                4..6 => {
                    let patience = Duration::from_micros(fastrand::u64(..9_000));
                    self.send(key, patience).await;
                }
                _ => {
                    self.send(key, SOON).await;
                }
            }
        }
    }
}

/// Sends the load to processes that are killed. Returns the number of effects of each key.
async fn effects(mode: Mode) -> Vec<i64> {
    let (postgres, redis) = tokio::join!(PostgresServer::start(), RedisServer::start());
    let (postgres, redis) = (postgres.unwrap(), redis.unwrap());
    let pool = PgPool::connect(&postgres.url()).await.unwrap();
    ddl::create_idempotency_records(&pool).await.unwrap();
    let table = "CREATE TABLE effects (id BIGSERIAL PRIMARY KEY, name TEXT NOT NULL)";
    sqlx::raw_sql(table).execute(&pool).await.unwrap();
    let addresses = Arc::new(Mutex::new(Vec::new()));
    let mut instances = Instances {
        mode,
        database: postgres.url(),
        redis: redis.url(),
        running: Vec::new(),
        addresses: Arc::clone(&addresses),
    };
    for _ in 0..INSTANCES {
        instances.start().await;
    }
    let load = Load {
        addresses,
        client: Client::builder(TokioExecutor::new()).build_http(),
        sent: Arc::default(),
        disconnected: Arc::default(),
        answers: Arc::default(),
        refused: Arc::default(),
    };
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let load = load.clone();
            tokio::spawn(async move { load.client().await })
        })
        .collect();
    for kill in 1..=KILLS {
        // Spread over the load.
        while load.sent.load(Ordering::SeqCst) < REQUESTS * kill / (KILLS + 1) {
            sleep(Duration::from_millis(1)).await;
        }
        instances.replace(fastrand::usize(..INSTANCES)).await;
    }
    for client in clients {
        client.await.unwrap();
    }
    // Each client repeats until it has a response.
    let all = async {
        for key in 0..KEYS {
            while !load.send(key, SOON).await {
                sleep(Duration::from_millis(20)).await;
            }
        }
    };
    timeout(SOON, all)
        .await
        .expect("each key should get a response");

    let refused = load.refused.lock().clone();
    let disconnected = load.disconnected.load(Ordering::SeqCst);
    println!("{mode:?}: refused {refused:?}, {disconnected} disconnected, {KILLS} killed");
    assert!(disconnected > REQUESTS / 50, "{disconnected}");
    assert!(refused.keys().all(|status| *status == 409), "{refused:?}");
    if mode != Mode::WithoutLayer {
        let answers = load.answers.lock().clone();
        let total: usize = answers.values().map(Vec::len).sum();
        assert!(total > REQUESTS / 2, "{total} responses");
        for answers in answers.values() {
            assert!(answers.iter().all(|it| *it == answers[0]), "{answers:?}");
        }
        let records = "SELECT COUNT(*) FROM leasehold_idempotency_records";
        let records: i64 = sqlx::query_scalar(records).fetch_one(&pool).await.unwrap();
        assert_eq!(records, 200);
    }
    let effects = "SELECT COUNT(*) FROM effects GROUP BY name ORDER BY name";
    sqlx::query_scalar(effects).fetch_all(&pool).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_effect_per_key_is_committed_if_it_is_recorded_in_its_transaction() {
    assert_eq!(effects(Mode::RecordedInTransaction).await, [1; KEYS]);
}

#[tokio::test(flavor = "multi_thread")]
async fn some_keys_have_several_effects_but_one_response_if_it_is_recorded_afterwards() {
    // Whether a kill falls between an effect and its record is chance.
    for _ in 0..10 {
        let effects = effects(Mode::RecordedAfterwards).await;
        assert_eq!(effects.len(), KEYS);
        let several = effects.iter().filter(|it| **it > 1).count();
        println!("{several} keys have several effects");
        if several > 0 {
            return;
        }
    }
    panic!("no key has several effects");
}

#[tokio::test(flavor = "multi_thread")]
async fn most_keys_have_several_effects_without_the_layer() {
    let effects = effects(Mode::WithoutLayer).await;
    assert_eq!(effects.len(), KEYS);
    let several = effects.iter().filter(|it| **it > 1).count();
    println!("{several} keys have several effects");
    assert!(several > KEYS / 2, "{effects:?}");
}
