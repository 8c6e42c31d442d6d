//! TLS by URL, which needs separate processes because the system's authorities are set for a whole process.

use std::time::Duration;

use leasehold_nemesis::clients::{Task, client};
use leasehold_testkit::servers::RedisServer;

use crate::processes::CLIENT;

#[tokio::test]
async fn url_connects_with_tls_if_the_system_trusts_the_authority() {
    let server = RedisServer::builder().tls().password("secret");
    let server = server.start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("authority.pem");
    std::fs::write(&authority, &server.certificates().unwrap().authority).unwrap();
    let url = format!("{}/3", server.url());
    assert!(url.starts_with("rediss://:secret@"));
    let task = Task::Hold(Duration::from_secs(30));
    let mut holder = client(CLIENT, &url, &task)
        .env("SSL_CERT_FILE", &authority)
        .start()
        .unwrap();
    let held = holder.line_where(Duration::from_secs(60), |line| line.starts_with("held"));
    held.await.unwrap();
}
