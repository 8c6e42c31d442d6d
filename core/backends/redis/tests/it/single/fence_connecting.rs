//! Which task reconnects a fence store, for which requests, and the state of that connection afterwards.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::poll;
use leasehold::backend::Applied;
use leasehold::{FenceStore, FencedPipelineError, FencingToken, RedisFenceStore};
use leasehold_testkit::proxy::{Direction, Proxy, Traffic, Which};
use tempfile::TempDir;
use tokio::task::unconstrained;
use tokio::time::{sleep, timeout};

use crate::single::server::Server;
use crate::single::server_errors::whole;

fn token() -> FencingToken {
    FencingToken::try_from(7).unwrap()
}

/// Connects to a server through a proxy.
async fn linked(server: &Server) -> (Proxy, RedisFenceStore) {
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let url = server.inner().url_at(proxy.port());
    let fences = RedisFenceStore::connect(&url).await.unwrap();
    (proxy, fences)
}

/// Cuts the connection, and makes the server silent on the next one. Returns the number of connections so far.
async fn without_a_connection(proxy: &Proxy, fences: &RedisFenceStore) -> u64 {
    proxy.refuse().await.unwrap();
    proxy.cut();
    fences.admit("r", token()).await.unwrap_err();
    proxy.set(Direction::ToClient, Traffic::Drop);
    proxy.accept().await.unwrap();
    proxy.stats().connections
}

async fn cut_when_one_connects(proxy: &Proxy, before: u64) {
    let connects = proxy.until("one connects", |seen| seen.connections > before);
    connects.await.unwrap();
    proxy.cut();
}

/// The connecting task is busy with something else, like the other branch of a `select!`.
#[tokio::test]
async fn a_connecting_task_that_is_not_polled_does_not_block_others() {
    let server = Server::start().await;
    let (proxy, fences) = linked(&server).await;
    proxy.set(Direction::ToClient, Traffic::Drop);
    proxy.cut();
    let mut aside = fences.admit("r", token());
    while proxy.stats().connections < 2 {
        assert!(poll!(&mut aside).is_pending());
        sleep(Duration::from_millis(1)).await;
    }
    proxy.pass();
    proxy.cut();
    let others = async { while fences.admit("r", token()).await.is_err() {} };
    let limit = Duration::from_secs(20);
    assert!(timeout(limit, others).await.is_ok(), "nobody is admitted");
    let pipeline = fences.pipeline("r", token()).cmd("GET", ["k"]);
    pipeline.execute().await.unwrap();
    aside.await.unwrap_err();
}

#[tokio::test]
async fn callers_without_a_connection_share_one_attempt_and_its_failure() {
    let server = Server::start().await;
    let (proxy, fences) = linked(&server).await;
    let before = without_a_connection(&proxy, &fences).await;
    // All requests are made at the first poll, before the connection is cut.
    let all = unconstrained(join_all((0..4).map(|_| fences.admit("r", token()))));
    let (admitted, ()) = tokio::join!(all, cut_when_one_connects(&proxy, before));
    assert!(admitted.iter().all(Result::is_err), "{admitted:?}");
    assert_eq!(proxy.stats().connections, before + 1);
    proxy.pass();
    fences.admit("r", token()).await.unwrap();
}

#[tokio::test]
async fn a_pipeline_without_a_connection_is_reported_as_not_applied() {
    let server = Server::start().await;
    let (proxy, fences) = linked(&server).await;
    let before = without_a_connection(&proxy, &fences).await;
    let pipeline = fences.pipeline("r", token()).cmd("SET", ["k", "v"]);
    let (done, ()) = tokio::join!(pipeline.execute(), cut_when_one_connects(&proxy, before));
    let error = done.unwrap_err();
    let surely_not = |applied| applied == Applied::No;
    assert!(
        matches!(error, FencedPipelineError::Store { applied, .. } if surely_not(applied)),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_late_error_of_an_old_connection_does_not_close_the_new_one() {
    let server = Server::start().await;
    let (proxy, fences) = linked(&server).await;
    // The server caches the script, so that the script is sent once.
    fences.admit("r", token()).await.unwrap();
    proxy.lose_replies(Which::named("EVALSHA").times(1));
    let mut late = fences.admit("r", token());
    assert!(poll!(&mut late).is_pending());
    let lost = proxy.until("a reply is lost", |seen| seen.lost_replies == 1);
    lost.await.unwrap();
    proxy.cut();
    fences.admit("r", token()).await.unwrap();
    let connections = proxy.stats().connections;
    late.await.unwrap();
    assert_eq!(proxy.stats().connections, connections);
}

/// A host name that can be changed to another server.
struct Name {
    folder: TempDir,
}

impl Name {
    fn of(server: &Server) -> Self {
        let folder = TempDir::new().unwrap();
        let name = Self { folder };
        name.lead_to(server);
        name
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("primary")
    }

    fn lead_to(&self, server: &Server) {
        let next = self.folder.path().join("next");
        symlink(server.inner().socket(), &next).unwrap();
        fs::rename(next, self.path()).unwrap();
    }
}

#[tokio::test]
async fn after_a_demotion_the_store_connects_to_the_server_behind_its_name() {
    let (old, new) = (Server::start().await, Server::start().await);
    let name = Name::of(&old);
    let url = format!("unix://{}", name.path().display());
    let fences = RedisFenceStore::connect(&url).await.unwrap();
    fences.admit("r", token()).await.unwrap();
    name.lead_to(&new);
    // The connection to the old server stays open.
    let mut follow = redis::cmd("REPLICAOF");
    follow.arg("127.0.0.1").arg(new.inner().port());
    follow.exec_async(&mut old.raw().await).await.unwrap();
    let admitted = async {
        while let Err(error) = fences.admit("r", token()).await {
            let why = whole(&error);
            assert!(why.contains("the server is a replica"), "{why}");
            sleep(Duration::from_millis(20)).await;
        }
    };
    let limit = Duration::from_secs(20);
    assert!(timeout(limit, admitted).await.is_ok(), "nobody is admitted");
    let mut get = redis::cmd("GET");
    get.arg("{fence:r}:lh1:mark");
    let mark: String = get.query_async(&mut new.raw().await).await.unwrap();
    assert_eq!(mark, token().to_string());
}
