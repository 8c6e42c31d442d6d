//! Connects to Postgres with TLS.

use std::path::{Path, PathBuf};

use leasehold::LockManager;
use leasehold_testkit::servers::PostgresServer;
use sqlx::{PgPool, query_scalar};

use super::{refusal, text};

/// Whether all connections of the locks use TLS.
const ALL_USE_TLS: &str = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
     WHERE query LIKE '%leasehold_locks%' AND pid <> pg_backend_pid()";

/// Starts a server, and writes the certificate of its authority into a file of the folder.
async fn server(folder: &Path) -> (PostgresServer, PathBuf) {
    let server = PostgresServer::builder().tls().start().await.unwrap();
    let file = folder.join(server.port().to_string());
    let authority = &server.certificates().unwrap().authority;
    std::fs::write(&file, authority).unwrap();
    (server, file)
}

#[tokio::test]
async fn postgres_url_with_sslmode_uses_tls() {
    let folder = tempfile::tempdir().unwrap();
    let (server, authority) = server(folder.path()).await;
    let verified = format!("verify-full&sslrootcert={}", authority.display());
    for mode in ["require", &verified] {
        let url = format!("{}?sslmode={mode}", server.url());
        let locks = LockManager::connect(&url).await.unwrap();
        let guard = locks.lock("k").acquire().await.unwrap();
        let plain = format!("{}?sslmode=disable", server.url());
        let pool = PgPool::connect(&plain).await.unwrap();
        let all: Option<bool> = query_scalar(ALL_USE_TLS).fetch_one(&pool).await.unwrap();
        assert_eq!(all, Some(true), "{mode}");
        guard.release().await.unwrap();
        locks.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn certificate_of_an_unknown_authority_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _own) = server(folder.path()).await;
    let (_stranger, other) = self::server(folder.path()).await;
    let of_other = format!("&sslrootcert={}", other.display());
    for authority in ["", &of_other] {
        let url = format!("{}?sslmode=verify-full{authority}", server.url());
        let refused = refusal(&url).await;
        let said = text(&refused);
        for part in ["invalid peer certificate", "sslrootcert"] {
            assert!(said.contains(part), "{said}");
        }
        assert!(!refused.is_temporary(), "{said}");
    }
}
