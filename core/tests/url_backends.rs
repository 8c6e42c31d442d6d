//! The URLs that `connect` knows.

use leasehold::LockManager;

#[tokio::test]
async fn each_enabled_backend_knows_its_schemes() {
    for url in [
        "redis://127.0.0.1:1",
        "rediss://127.0.0.1:1",
        "valkey://127.0.0.1:1",
        "unix:///nowhere",
        "redis+sentinel://127.0.0.1:1/main",
        "valkey+cluster://127.0.0.1:1",
        "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3",
        "zookeeper://127.0.0.1:1",
        "zookeeper+tls://127.0.0.1:1",
        "sqlite:/nowhere/locks.db",
        "postgres://127.0.0.1:1/shop",
        "postgresql://127.0.0.1:1/shop",
        "mysql://127.0.0.1:1/shop",
        "mariadb://127.0.0.1:1/shop",
    ] {
        let locks = LockManager::builder().connect_lazily(url);
        assert!(locks.is_ok(), "{url}: {locks:?}");
    }
}
