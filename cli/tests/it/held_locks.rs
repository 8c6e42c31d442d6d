//! `leasehold inspect` and `leasehold release`.

use leasehold::LockManager;
use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::servers::RedisServer;
use serde_json::Value;

use crate::program::{PATIENCE, code, leasehold};

async fn output(arguments: &[&str], server: &RedisServer) -> (i32, String) {
    let mut process = leasehold()
        .env("LEASEHOLD_URL", server.url())
        .args(arguments)
        .start()
        .unwrap();
    let code = code(&mut process).await;
    let mut lines = Vec::new();
    while let Some(line) = process.next_line().await {
        lines.push(line);
    }
    (code, lines.join("\n"))
}

#[tokio::test(flavor = "multi_thread")]
async fn inspect_shows_holder_token_and_waiters() {
    let server = RedisServer::start().await.unwrap();
    let locks = LockManager::connect(&server.url()).await.unwrap();
    let guard = locks.lock("order:42").acquire().await.unwrap();

    let (code, text) = output(&["inspect", "order:42", "--json"], &server).await;
    assert_eq!(code, 0);
    let seen: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(seen["key"], "order:42");
    assert_eq!(seen["token"], guard.token().get());
    assert_eq!((&seen["holders"], &seen["waiting"]), (&1.into(), &0.into()));
    assert!(seen["expires_in_ms"].as_u64().unwrap() <= 30_000);

    let (code, text) = output(&["inspect", "order:42"], &server).await;
    assert_eq!(code, 0);
    for part in [
        "order:42",
        &guard.token().to_string(),
        seen["owner"].as_str().unwrap(),
    ] {
        assert!(text.contains(part), "{text}");
    }

    let (code, text) = output(&["inspect", "free", "--json"], &server).await;
    let seen: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &seen["holders"]), (0, &0.into()));
    assert!(seen["owner"].is_null() && seen["token"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn text_of_other_programs_does_not_control_the_terminal() {
    let server = RedisServer::start().await.unwrap();
    let mut client = server.client().await.unwrap();
    client
        .command(["SET", "lock:k", "\u{1b}[2Jmine", "PX", "60000"])
        .await
        .unwrap();
    let (code, text) = output(&["inspect", "k"], &server).await;
    assert_eq!(code, 0);
    assert!(
        text.contains("[2Jmine") && !text.contains('\u{1b}'),
        "{text:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn release_needs_force_and_reports_whether_the_lock_was_held() {
    let server = RedisServer::start().await.unwrap();
    let locks = LockManager::connect(&server.url()).await.unwrap();
    let guard = locks.lock("k").without_renewal().acquire().await.unwrap();

    assert_eq!(output(&["release", "k"], &server).await.0, 125);
    assert_eq!(locks.inspect("k").await.unwrap().holders, 1);

    let (code, text) = output(&["release", "--force", "k", "--json"], &server).await;
    assert_eq!((code, text.as_str()), (0, r#"{"key":"k","released":true}"#));
    assert!(locks.inspect("k").await.unwrap().is_free());
    let (code, text) = output(&["release", "--force", "k"], &server).await;
    assert_eq!((code, text.as_str()), (0, "`k` was free already"));
    drop(guard);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_prefix_selects_the_keys() {
    let server = RedisServer::start().await.unwrap();
    let locks = LockManager::builder()
        .prefix("shop:")
        .connect(&server.url())
        .await
        .unwrap();
    let _guard = locks.lock("k").acquire().await.unwrap();
    for (arguments, holders) in [(&["--prefix", "shop:"][..], 1), (&[][..], 0)] {
        let all = [&["inspect", "k", "--json"], arguments].concat();
        let (_, text) = output(&all, &server).await;
        let seen: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(seen["holders"], holders);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_output_contains_the_password_of_a_url() {
    let secret = "hunter2";
    let url = format!("redis://me:{secret}@127.0.0.1:1");
    let odd = format!("redis//me:{secret}@127.0.0.1:1");
    let cases: &[&[&str]] = &[
        &["inspect", "k", "--url", &url],
        &["inspect", "k", "--url", &odd],
        &["inspect", "k", &url],
        &["inspect", &url],
        &["run", &url],
        &["run", "--key", "k", "--wait", &url, "--", "true"],
        &["run", "--help"],
        &["inspect", "-h"],
    ];
    for arguments in cases {
        let mut process: ChildProcess = leasehold()
            .env("LEASEHOLD_URL", &url)
            .args(*arguments)
            .start()
            .unwrap();
        process.end(PATIENCE).await.unwrap();
        while process.next_line().await.is_some() {}
        let said = process.last_words();
        assert!(
            !said.is_empty() && !said.contains(secret),
            "{arguments:?}: {said}"
        );
    }
}
