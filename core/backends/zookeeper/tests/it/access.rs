//! Authentication, addresses, and the nodes that are left afterwards.

use std::time::Duration;

use leasehold::backend::zookeeper::ZooKeeper;
use leasehold::{ConnectError, Error, LockGuard, LockManager};
use tokio::time::{Instant, sleep, timeout};
use zookeeper_client::{Acl, Acls, AuthId, Client, CreateMode, Permission};

use crate::server::{alone, becomes_free, connect};

/// Less than the session of 10 s.
const SOON: Duration = Duration::from_secs(9);

/// Returns an error with all its causes.
pub(crate) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[tokio::test]
async fn a_manager_connects_by_url_and_each_folder_has_separate_locks() {
    let address = alone().await.address();
    let one = LockManager::connect(&format!("zookeeper://{address}/one/deep")).await;
    let two = LockManager::connect(&format!("zookeeper://{address}/two")).await;
    let (one, two) = (one.unwrap(), two.unwrap());
    let guard = one.lock("k").acquire().await.unwrap();
    let other = two.lock("k").try_acquire().await.unwrap().unwrap();
    assert!(one.lock("k").try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();
    other.release().await.unwrap();
}

#[tokio::test]
async fn keys_may_have_any_name() {
    let address = alone().await.address();
    let locks = LockManager::builder();
    let locks = locks.prefix("").build(connect(&address).await).unwrap();
    for key in ["a/b", "a%2Fb", "..", ".", "zookeeper", "ä ö", "/"] {
        let guard = locks.lock(key).acquire().await.unwrap();
        assert_eq!(locks.inspect(key).await.unwrap().holders, 1, "{key}");
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn only_the_creating_user_can_access_nodes_unless_they_are_shared() {
    let address = alone().await.address();
    let url = |login: &str, folder: &str| format!("zookeeper://{login}{address}/{folder}");
    let mine = LockManager::connect(&url("shop:p%40ss@", "mine")).await;
    let guard = mine.unwrap().lock("k").acquire().await.unwrap();
    for login in ["", "shop:wrong@"] {
        let stranger = LockManager::connect(&url(login, "mine")).await.unwrap();
        let refused = stranger.lock("k").acquire().await.unwrap_err();
        assert!(matches!(refused, Error::Backend { .. }), "{refused}");
        let whole = whole(&refused);
        assert!(whole.contains("credentials"), "{whole}");
    }
    let same = ZooKeeper::builder().digest("shop", "p@ss");
    let same = LockManager::new(same.connect(&url("", "mine")).await.unwrap());
    assert!(same.lock("k").try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();

    let shared = ZooKeeper::builder().share_with("world", "anyone");
    let shared = shared.connect(&url("shop:p%40ss@", "shared")).await;
    let guard = LockManager::new(shared.unwrap()).lock("k").acquire().await;
    let stranger = LockManager::connect(&url("", "shared")).await.unwrap();
    assert!(stranger.lock("k").try_acquire().await.unwrap().is_none());
    guard.unwrap().release().await.unwrap();
}

/// Changes the ACL of a folder and all its nodes to these users.
async fn give(client: &Client, folder: &str, users: &[&str]) {
    let user = |user: &&str| Acl::new(Permission::ALL, AuthId::new("digest", user));
    let acl: Vec<Acl> = users.iter().map(user).collect();
    client.set_acl(folder, &acl, None).await.unwrap();
    for line in client.list_children(folder).await.unwrap() {
        let line = format!("{folder}/{line}");
        client.set_acl(&line, &acl, None).await.unwrap();
        for node in client.list_children(&line).await.unwrap() {
            let node = format!("{line}/{node}");
            client.set_acl(&node, &acl, None).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_password_is_changed_while_locks_are_held_and_waited_for() {
    // `printf shop:old | openssl sha1 -binary | base64`
    let (old, new) = (
        "shop:VMs8H1npmbFPqflT3Y43/3nFIpw=",
        "shop:4oUL9H0yr7wlTXIS0ju1jah5imY=",
    );
    let address = alone().await.address();
    let manager = async |password: &str, other: Option<&str>| {
        let builder = ZooKeeper::builder().digest("shop", password);
        let builder = match other {
            Some(other) => builder.share_with("digest", other),
            None => builder,
        };
        let url = format!("zookeeper://{address}/changed");
        LockManager::new(builder.connect(&url).await.unwrap())
    };
    let raw = async |login: &[u8]| {
        let connector = Client::connector().with_auth("digest", login);
        connector.connect(&address).await.unwrap()
    };
    // Each acquire waits for the one before it, and is not refused.
    let next = async |held: LockGuard, locks: &LockManager| {
        let waiting = tokio::spawn(locks.lock("k").acquire());
        while locks.inspect("k").await.unwrap().waiting == 0 {
            sleep(Duration::from_millis(5)).await;
        }
        held.release().await.unwrap();
        timeout(SOON, waiting).await.unwrap().unwrap().unwrap()
    };
    let first = manager("old", None).await;
    let guard = first.lock("k").acquire().await.unwrap();
    let sharing = manager("old", Some(new)).await;
    let guard = next(guard, &sharing).await;
    let other = sharing.lock("l").acquire().await.unwrap();
    other.release().await.unwrap();
    give(&raw(b"shop:old").await, "/changed", &[old, new]).await;
    let changed = manager("new", Some(old)).await;
    let guard = next(guard, &changed).await;
    let guard = next(guard, &sharing).await;
    let last = manager("new", None).await;
    let guard = next(guard, &last).await;
    let other = last.lock("l").acquire().await.unwrap();
    other.release().await.unwrap();
    give(&raw(b"shop:new").await, "/changed", &[new]).await;
    let guard = next(guard, &last).await;
    guard.release().await.unwrap();
    let refused = first.lock("k").try_acquire().await.unwrap_err();
    assert!(whole(&refused).contains("credentials"), "{refused}");
}

#[tokio::test]
async fn an_unreachable_server_is_an_immediate_error_with_the_remedy() {
    let started = Instant::now();
    let error = LockManager::connect("zookeeper://127.0.0.1:1/locks").await;
    let error = error.unwrap_err();
    assert!(
        matches!(error, Error::Connect(ConnectError::Server { .. })),
        "{error:?}"
    );
    let whole = whole(&error);
    assert!(whole.contains("check the addresses"), "{whole}");
    assert!(
        whole.contains("connecting to 127.0.0.1:1 failed"),
        "{whole}"
    );
    assert!(started.elapsed() < SOON);
    let error = LockManager::connect("zookeeper://a b").await.unwrap_err();
    assert!(
        matches!(error, Error::Connect(ConnectError::Url { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_unresolvable_host_name_is_named_in_the_error() {
    // A label has at most 63 characters, so this name is refused without a DNS query.
    let host = format!("{}.example:2181", "a".repeat(64));
    let url = format!("zookeeper://127.0.0.1:1,{host}/locks");
    let said = whole(&LockManager::connect(&url).await.unwrap_err());
    let unresolved = format!("the name in {host} could not be resolved");
    assert!(said.contains(&unresolved), "{said}");
}

/// The guard's session of 10 s would keep the lock for longer.
#[tokio::test]
async fn a_shutdown_frees_the_lock_of_a_leaked_guard() {
    let address = alone().await.address();
    let other = LockManager::new(connect(&address).await);
    let locks = LockManager::new(connect(&address).await);
    let key = format!("forgotten:{}", leasehold::AttemptId::random());
    // The manager does not notice that this guard is leaked.
    std::mem::forget(locks.lock(&key).acquire().await.unwrap());
    locks.shutdown().await.unwrap();
    becomes_free(&other, &key, SOON).await;
}

#[test]
fn a_session_outlives_the_runtime_that_created_it() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap()
    };
    let first = runtime();
    let (server, locks, guard) = first.block_on(async {
        let server = leasehold_testkit::servers::ZooKeeperServer::start().await;
        let server = server.unwrap();
        let locks = LockManager::new(connect(&server.address()).await);
        let guard = locks.lock("k").acquire().await.unwrap();
        (server, locks, guard)
    });
    drop(first);
    runtime().block_on(async {
        let second = locks.lock("l").acquire().await.unwrap();
        guard.release().await.unwrap();
        second.release().await.unwrap();
        becomes_free(&locks, "k", SOON).await;
    });
    drop(server);
}

/// Kazoo names its nodes `<id>__lock__<number>`. Its `Lock` is granted to the first node with `__lock__` in its name.
#[tokio::test]
async fn kazoo_blocks_our_acquires_but_can_acquire_while_we_hold() {
    let address = alone().await.address();
    let locks = LockManager::new(connect(&address).await);
    let guard = locks.lock("kazoo").acquire().await.unwrap();
    let kazoo = Client::connect(&address).await.unwrap();
    let line = "/locks/lock:kazoo";
    let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
    let node = format!("{line}/0f7b1c__lock__");
    let (_stat, number) = kazoo.create(&node, b"", &options).await.unwrap();
    let own = format!("0f7b1c__lock__{number}");
    let mut all = kazoo.list_children(line).await.unwrap();
    assert_eq!(all.len(), 2, "{all:?}");
    all.retain(|it| it.contains("__lock__"));
    assert_eq!(all.concat(), own, "it is granted");
    guard.renew().await.unwrap();
    assert!(guard.is_valid());

    guard.release().await.unwrap();
    assert!(locks.lock("kazoo").try_acquire().await.unwrap().is_none());
    let waiting = tokio::spawn(locks.lock("kazoo").acquire());
    kazoo.delete(&format!("{line}/{own}"), None).await.unwrap();
    drop(timeout(SOON, waiting).await.unwrap().unwrap().unwrap());
}
