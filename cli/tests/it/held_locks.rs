//! `leasehold inspect` and `leasehold release`.

use std::process::Command;

use leasehold::LockManager;
use leasehold_testkit::servers::RedisServer;
use serde_json::Value;

/// Returns the exit code, the output, and the error output.
fn execute(url: &str, arguments: &[&str]) -> (i32, String, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_leasehold"));
    let output = program.env("LEASEHOLD_URL", url).args(arguments).output();
    let output = output.unwrap();
    let text = |bytes: &[u8]| {
        String::from_utf8(bytes.to_vec())
            .unwrap()
            .trim_end()
            .to_owned()
    };
    let code = output.status.code().unwrap();
    (code, text(&output.stdout), text(&output.stderr))
}

fn output(arguments: &[&str], server: &RedisServer) -> (i32, String) {
    let (code, output, _errors) = execute(&server.url(), arguments);
    (code, output)
}

#[tokio::test(flavor = "multi_thread")]
async fn inspect_shows_holder_token_and_waiters() {
    let server = RedisServer::start().await.unwrap();
    let locks = LockManager::connect(&server.url()).await.unwrap();
    let guard = locks.lock("order:42").acquire().await.unwrap();

    let (code, text) = output(&["inspect", "order:42", "--json"], &server);
    assert_eq!(code, 0);
    let seen: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(seen["key"], "order:42");
    assert_eq!(seen["token"], guard.token().get());
    assert_eq!((&seen["holders"], &seen["waiting"]), (&1.into(), &0.into()));
    assert!(seen["expires_in_ms"].as_u64().unwrap() <= 30_000);

    let (code, text) = output(&["inspect", "order:42"], &server);
    assert_eq!(code, 0);
    for part in [
        "order:42",
        &guard.token().to_string(),
        seen["owner"].as_str().unwrap(),
    ] {
        assert!(text.contains(part), "{text}");
    }

    let (code, text) = output(&["inspect", "free", "--json"], &server);
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
    let (code, text) = output(&["inspect", "k"], &server);
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

    assert_eq!(output(&["release", "k"], &server).0, 125);
    assert_eq!(locks.inspect("k").await.unwrap().holders, 1);

    let (code, text) = output(&["release", "--force", "k", "--json"], &server);
    assert_eq!((code, text.as_str()), (0, r#"{"key":"k","released":true}"#));
    assert!(locks.inspect("k").await.unwrap().is_free());
    let (code, text) = output(&["release", "--force", "k"], &server);
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
        let (_, text) = output(&all, &server);
        let seen: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(seen["holders"], holders);
    }
}

#[test]
fn no_output_contains_the_password_of_a_url() {
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
        let (_code, output, errors) = execute(&url, arguments);
        let said = output + &errors;
        assert!(
            !said.is_empty() && !said.contains(secret),
            "{arguments:?}: {said}"
        );
    }
}
