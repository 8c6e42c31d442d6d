//! TLS by URL: whom the system trusts is a matter of the whole process.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::servers::RedisServer;

#[tokio::test]
async fn a_url_is_enough_where_the_system_trusts_the_servers_authority() {
    let server = RedisServer::builder().tls().password("secret");
    let server = server.start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("authority.pem");
    std::fs::write(&authority, &server.certificates().unwrap().authority).unwrap();
    let url = format!("{}/3", server.url());
    assert!(url.starts_with("rediss://:secret@"));
    let mut holder = ChildProcess::of(env!("CARGO_BIN_EXE_client"))
        .args([&url, "hold", "k", "30000"])
        .env("SSL_CERT_FILE", &authority)
        .start()
        .unwrap();
    let held = holder.line_where(Duration::from_secs(10), |line| line.starts_with("held"));
    held.await.unwrap();
}
