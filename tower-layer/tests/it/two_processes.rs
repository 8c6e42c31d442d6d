//! Two processes serve one resource of one database. Each has its own fence layer, and passes the token to the
//! database.

use std::io::BufRead;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::put;
use http::{HeaderMap, Method, Request};
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use leasehold::{FencingToken, InProcessFenceStore};
use leasehold_sqlx::{Fence, ddl};
use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::servers::PostgresServer;
use leasehold_tower::{FenceLayer, FencedToken, Problem, ProblemKind, SendFencingTokenLayer, key};
use sqlx::PgPool;
use tower::{Layer, ServiceExt};

use crate::wire::serve;

/// The environment variable with the URL of the database.
const DATABASE: &str = "LEASEHOLD_TOWER_DATABASE";

const SOON: Duration = Duration::from_secs(60);

/// This is not a test by itself. A test starts it in two processes.
#[tokio::test(flavor = "multi_thread")]
async fn server_process() {
    let Ok(database) = std::env::var(DATABASE) else {
        return;
    };
    let pool = PgPool::connect(&database).await.unwrap();
    let fence = FenceLayer::new(InProcessFenceStore::new(), key::path("item:{id}").raw("id"));
    let app = Router::new()
        .route("/items/{id}", put(write))
        .route_layer(fence);
    let at = serve(app.with_state(pool)).await;
    println!("\nserves at {at}");
    std::future::pending::<()>().await;
}

async fn write(
    State(pool): State<PgPool>,
    fenced: FencedToken,
    headers: HeaderMap,
) -> Result<(), Problem> {
    println!("\nadmitted {}", fenced.token());
    if headers.contains_key("hold") {
        tokio::task::spawn_blocking(|| std::io::stdin().lock().read_line(&mut String::new()))
            .await
            .unwrap()
            .unwrap();
    }
    let fence = Fence::new(fenced.token());
    let update = fence.query("UPDATE items SET writer = $1 WHERE id = 1");
    match update.bind(fenced.token().get()).execute(&pool).await {
        Ok(_) => Ok(()),
        Err(leasehold_sqlx::Error::Stale(stale)) => Err(stale.into()),
        Err(_) => Err(Problem::new(ProblemKind::Unavailable)),
    }
}

async fn instance(database: &str) -> (ChildProcess, SocketAddr) {
    let mut child = ChildProcess::of(std::env::current_exe().unwrap())
        .args(["--exact", "two_processes::server_process", "--nocapture"])
        .env(DATABASE, database)
        .start()
        .unwrap();
    let line = child
        .line_where(SOON, |line| line.starts_with("serves at "))
        .await;
    let at = line.unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    (child, at)
}

async fn send(at: SocketAddr, token: i64, hold: bool) -> u16 {
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<bytes::Bytes>>();
    let token = FencingToken::try_from(token).unwrap();
    let mut request = Request::builder()
        .method(Method::PUT)
        .uri(format!("http://{at}/items/1"));
    if hold {
        request = request.header("hold", "on");
    }
    let client = SendFencingTokenLayer::from(token).layer(client);
    let sent = client.oneshot(request.body(Empty::new()).unwrap());
    let answer = tokio::time::timeout(SOON, sent)
        .await
        .expect("it should answer");
    answer.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn request_paused_after_its_admission_cannot_write_after_a_newer_one() {
    let postgres = PostgresServer::start().await.unwrap();
    let url = postgres.url();
    let pool = PgPool::connect(&url).await.unwrap();
    let items = "CREATE TABLE items (id BIGINT PRIMARY KEY, writer BIGINT); INSERT INTO items VALUES (1, 0)";
    sqlx::raw_sql(items).execute(&pool).await.unwrap();
    ddl::add_column(&pool, "items").await.unwrap();
    let ((mut a, at_a), (_b, at_b)) = tokio::join!(instance(&url), instance(&url));

    let older = tokio::spawn(send(at_a, 5, true));
    a.line_where(SOON, |line| line == "admitted 5")
        .await
        .unwrap();
    a.pause().unwrap();
    assert_eq!(send(at_b, 6, false).await, 200);
    a.tell("go on").unwrap();
    a.resume().unwrap();
    assert_eq!(older.await.unwrap(), 412);
    let writer: i64 = sqlx::query_scalar("SELECT writer FROM items WHERE id = 1")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(writer, 6);
    assert_eq!(send(at_a, 7, false).await, 200);
}
