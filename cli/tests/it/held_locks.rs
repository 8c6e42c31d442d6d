//! `leasehold inspect`, `list`, `watch` and `release`.

use std::io;
use std::process::{Command, Stdio};

use leasehold::LockManager;
use leasehold_testkit::servers::RedisServer;
use serde_json::{Value, json};

use crate::program::{PATIENCE, code, leasehold, run, until};

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
async fn inspect_output_contains_no_terminal_control_characters() {
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
    assert_eq!(
        (code, text.as_str()),
        (0, "`lock:k` was free already, so nothing was released")
    );
    drop(guard);
}

#[tokio::test(flavor = "multi_thread")]
async fn prefix_option_selects_the_keys_of_that_prefix() {
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
    let mut program = Command::new(env!("CARGO_BIN_EXE_leasehold"));
    let program = program.env("LEASEHOLD_URL", server.url());
    let program = program.env("LEASEHOLD_PREFIX", "shop:");
    let text = program.args(["inspect", "k"]).output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("key      shop:k\nholders  1\n"), "{text}");

    // A forgotten prefix is named, and another key is not.
    for arguments in [&["inspect", "k"][..], &["release", "k", "--force"]] {
        let (code, _, errors) = execute(&server.url(), arguments);
        assert_eq!(code, 0);
        assert!(
            errors.contains("`shop:k` is another lock, and is held")
                && errors.contains("--prefix 'shop:'"),
            "{errors}"
        );
    }
    for quiet in [&["inspect", "free"][..], &["inspect", "k", "--json"]] {
        let (_, _, errors) = execute(&server.url(), quiet);
        assert_eq!(errors, "");
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

async fn labelled(server: &RedisServer, label: &str) -> LockManager {
    let builder = LockManager::builder().label(label);
    builder.connect(&server.url()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn inspect_shows_each_holder_with_its_label() {
    let server = RedisServer::start().await.unwrap();
    let (one, other) = (
        labelled(&server, "one").await,
        labelled(&server, "two").await,
    );
    let _one = one.semaphore("k", 3).acquire().await.unwrap();
    let _two = other.semaphore("k", 3).acquire_many(2).await.unwrap();

    let (_, text) = output(&["inspect", "k", "--json"], &server);
    let seen: Value = serde_json::from_str(&text).unwrap();
    let holders = seen["held_by"].as_array().unwrap();
    let mut shown: Vec<Value> = holders
        .iter()
        .map(|it| json!([it["label"], it["permits"]]))
        .collect();
    shown.sort_by_key(ToString::to_string);
    assert_eq!(shown, [json!(["one", 1]), json!(["two", 2])]);
    let (_, text) = output(&["inspect", "k"], &server);
    for holder in holders {
        let (label, id) = (holder["label"].as_str(), holder["id"].as_str());
        let line = format!("held by  {}, id {}", label.unwrap(), id.unwrap());
        assert!(text.contains(&line), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn list_shows_the_held_locks_under_a_prefix() {
    let server = RedisServer::start().await.unwrap();
    let locks = labelled(&server, "api-7").await;
    let _order = locks.lock("order:1").acquire().await.unwrap();
    let _invoice = locks.lock("invoice:1").acquire().await.unwrap();
    let released = locks.lock("order:2").acquire().await.unwrap();
    released.release().await.unwrap();

    let (code, text) = output(&["list", "order:"], &server);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((code, lines.len()), (0, 2), "{text}");
    let words = |line: &str| {
        line.split("  ")
            .map(|it| it.trim().to_owned())
            .filter(|it| !it.is_empty())
            .collect::<Vec<_>>()
    };
    let header = [
        "KEY",
        "HOLDERS",
        "WAITING",
        "HELD FOR",
        "EXPIRES IN",
        "HELD BY",
    ];
    assert_eq!(words(lines[0]), header, "{text}");
    let order = words(lines[1]);
    assert_eq!(
        (order.len(), &order[..3]),
        (6, &["order:1", "1", "0"].map(str::to_owned)[..]),
        "{text}"
    );
    assert_eq!(order[5], "api-7", "{text}");

    let (code, text) = output(&["list", "--json"], &server);
    let locks = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut locks: Vec<Value> = locks.collect();
    locks.sort_by_key(|lock| lock["key"].to_string());
    assert_eq!((code, locks.len()), (0, 2), "{text}");
    assert_eq!(locks[0]["key"], "invoice:1");
    assert_eq!(locks[1]["held_by"][0]["label"], "api-7");
}

#[tokio::test(flavor = "multi_thread")]
async fn list_is_sorted_by_key_and_names_at_most_three_holders() {
    let server = RedisServer::start().await.unwrap();
    let mut uploads = Vec::new();
    for label in ["one", "two", "three", "four", "five"] {
        let permit = labelled(&server, label).await.semaphore("uploads", 5);
        uploads.push(permit.acquire().await.unwrap());
    }
    let locks = labelled(&server, "api-7").await;
    let _pair = locks.semaphore("pair", 2).acquire_many(2).await.unwrap();
    let mut others = Vec::new();
    for key in ["z", "b", "y", "a", "x"] {
        others.push(locks.lock(key).acquire().await.unwrap());
    }

    let (_, text) = output(&["list"], &server);
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let keys = lines.iter().map(|line| line.split(' ').next().unwrap());
    let sorted = ["a", "b", "pair", "uploads", "x", "y", "z"];
    assert_eq!(keys.collect::<Vec<_>>(), sorted, "{text}");
    assert!(lines[2].ends_with("  api-7 ×2"), "{text}");
    let words: Vec<&str> = lines[3].split_whitespace().collect();
    assert_eq!((words[1], words[3]), ("5", "-"), "{text}");
    assert!(lines[3].ends_with("  five, four, one and 2 more"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn list_and_inspect_show_how_long_a_lock_has_been_held() {
    let server = RedisServer::start().await.unwrap();
    let locks = labelled(&server, "api-7").await;
    let _guard = locks.lock("k").acquire().await.unwrap();
    let held_for = || {
        let (_, text) = output(&["inspect", "k", "--json"], &server);
        let seen: Value = serde_json::from_str(&text).unwrap();
        seen["held_for_ms"].as_u64().unwrap()
    };
    until("a second has passed", || held_for() >= 1000).await;
    let (_, text) = output(&["inspect", "k"], &server);
    assert!(text.contains("held for "), "{text}");
    let (_, list) = output(&["list"], &server);
    let held = list.lines().nth(1).unwrap().split_whitespace().nth(3);
    assert!(
        held.is_some_and(|it| it.ends_with('s') && it != "0s"),
        "{list}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_output_pipe_ends_list_and_watch_without_an_error() {
    let server = RedisServer::start().await.unwrap();
    for command in ["list", "watch"] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut program = Command::new(env!("CARGO_BIN_EXE_leasehold"));
        program
            .args([command, "--url", &server.url()])
            .stdout(writer);
        let output = program.stderr(Stdio::piped()).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), errors.as_str()), (Some(0), ""));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_prints_each_change_of_the_held_locks() {
    let server = RedisServer::start().await.unwrap();
    let locks = labelled(&server, "api-7").await;
    let url = server.url();
    let watch = leasehold().args([
        "watch",
        "--url",
        &url,
        "--json",
        "--interval",
        "100ms",
        "o:",
    ]);
    let mut watch = watch.start().unwrap();
    let shows = |keys: Value| {
        move |line: &str| {
            let update: Value = serde_json::from_str(line).unwrap();
            let shown = update.as_array().unwrap().iter();
            shown.map(|lock| lock["key"].clone()).collect::<Value>() == keys
        }
    };
    let mut update = async |keys| watch.line_where(PATIENCE, shows(keys)).await;
    update(json!([])).await.unwrap();
    let two = locks.lock("o:2").acquire().await.unwrap();
    let _one = locks.lock("o:1").acquire().await.unwrap();
    let _other = locks.lock("p:1").acquire().await.unwrap();
    update(json!(["o:1", "o:2"])).await.unwrap();
    two.release().await.unwrap();
    update(json!(["o:1"])).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_ends_when_the_backend_fails() {
    let server = RedisServer::start().await.unwrap();
    let watch = leasehold().args(["watch", "--url", &server.url(), "--interval", "100ms"]);
    let mut watch = watch.start().unwrap();
    let header = watch.line_where(PATIENCE, |line| line.starts_with("KEY"));
    header.await.unwrap();
    drop(server);
    assert_eq!(code(&mut watch).await, 125);
}

#[tokio::test(flavor = "multi_thread")]
async fn release_of_one_holder_keeps_the_others() {
    let server = RedisServer::start().await.unwrap();
    let locks = LockManager::connect(&server.url()).await.unwrap();
    let stuck = locks.semaphore("k", 3).acquire().await.unwrap();
    let _other = locks.semaphore("k", 3).acquire().await.unwrap();
    let stuck = stuck.attempt_id().to_string();

    assert_eq!(
        output(&["release", "k", "--holder", &stuck], &server).0,
        125
    );
    let release = ["release", "--force", "k", "--holder", &stuck];
    let (code, text) = output(&release, &server);
    assert_eq!((code, text.as_str()), (0, "`lock:k` was released"));
    assert_eq!(locks.inspect("k").await.unwrap().holders, 1);
    let (code, text) = output(&release, &server);
    let expected = format!("`lock:k` is not held by `{stuck}`");
    assert_eq!((code, text), (0, expected));
    assert_eq!(locks.inspect("k").await.unwrap().holders, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn run_holds_the_lock_under_its_label() {
    let server = RedisServer::start().await.unwrap();
    let locks = LockManager::connect(&server.url()).await.unwrap();
    let job = run(&server, "k", &["--label", "cron@web-3"]);
    let mut job = job
        .args(["sh", "-c", "echo runs; read end"])
        .start()
        .unwrap();
    job.line_where(PATIENCE, |line| line == "runs")
        .await
        .unwrap();
    let seen = locks.inspect("k").await.unwrap();
    assert_eq!(seen.held_by[0].label.as_deref(), Some("cron@web-3"));
    job.tell("end").unwrap();
    assert_eq!(code(&mut job).await, 0);

    let (code, _output, errors) = execute(
        &server.url(),
        &["run", "--key", "k", "--label", "a b", "--", "true"],
    );
    assert!(code == 125 && errors.contains("a b"), "{errors}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_prints_findings_with_remedies_and_fails_after_a_failure() {
    let server = RedisServer::start().await.unwrap();
    let (code, text) = output(&["doctor"], &server);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.starts_with("ok ") && text.contains("set appendonly to yes"),
        "{text}"
    );

    let evicting = RedisServer::builder().max_memory("100mb", "allkeys-lru");
    let evicting = evicting.start().await.unwrap();
    let (code, text) = output(&["doctor", "--json"], &evicting);
    assert_eq!(code, 1, "{text}");
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["verdict"], "failure");
    let findings = report["findings"].as_array().unwrap();
    let eviction = findings.iter().find(|it| it["name"] == "eviction").unwrap();
    assert_eq!(eviction["verdict"], "failure");
    assert!(eviction["remedy"].as_str().unwrap().contains("noeviction"));

    let (code, _, errors) = execute("redis://127.0.0.1:1", &["doctor"]);
    assert_eq!(code, 125);
    assert!(errors.contains("connection refused"), "{errors}");
}
