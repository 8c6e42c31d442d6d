//! Runs the example, and checks its output.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

use std::process::{Command, Output};

use leasehold_testkit::depth;
use leasehold_testkit::servers::{MariaDbServer, PostgresServer, RedisServer};

fn run(arguments: &[&str]) -> Output {
    let flash_sale = Command::new(env!("CARGO_BIN_EXE_flash_sale"))
        .args(arguments)
        .output();
    flash_sale.unwrap()
}

/// Returns the output of the example, after a check that it succeeded.
fn said(arguments: &[&str]) -> String {
    let output = run(arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}{errors}");
    assert_eq!(errors, "", "{text}");
    text
}

/// Returns the row of the table that starts with `name`: asked, sold, stock, and the verdict.
fn row<'t>(text: &'t str, name: &str) -> ([i64; 3], &'t str) {
    let table = text.rsplit("asked   sold   stock").next().unwrap();
    let row = table.lines().find_map(|line| line.strip_prefix(name));
    let row = row.unwrap_or_else(|| panic!("{text}")).trim_start();
    let mut rest = row;
    let numbers = [(); 3].map(|()| {
        let (number, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after.trim_start();
        number.parse().unwrap_or_else(|_| panic!("{text}"))
    });
    (numbers, rest)
}

fn assert_oversold_then_ten(text: &str) {
    let ([asked, sold, stock], verdict) = row(text, "without a lock");
    assert!(asked >= 20 && sold > 11 && stock == 10 - sold, "{text}");
    assert_eq!(verdict, format!("oversold by {}", sold - 10), "{text}");

    // Usually both instances sell the last item. About once in fifty sales one of them is too late, and ten are sold.
    let ([asked, sold, stock], verdict) = row(text, "a lock in each instance");
    assert!(asked >= 20 && stock == 10 - sold, "{text}");
    match sold {
        10 => assert_eq!(verdict, "right this time, by luck", "{text}"),
        _ => assert_eq!((sold, verdict), (11, "oversold by 1"), "{text}"),
    }
    // The control: the lock is the same, but the pool does not refuse the late write of the holder that stalls.
    let ([asked, sold, stock], verdict) = row(text, "a lock, but a plain pool");
    assert!(asked >= 20 && sold > 10 && stock == 10 - sold, "{text}");
    let lost = sold - 10;
    assert_eq!(verdict, format!("oversold by {lost}"), "{text}");
    let lost = format!("Lost with the plain pool: {lost}. The late write was accepted.");
    assert!(text.contains(&lost), "{text}");
    assert_ten(text);
}

fn assert_ten(text: &str) {
    let lost = "Lost with the fenced pool: 0. The late write was refused by the database.";
    assert!(text.contains(lost), "{text}");
    let ([asked, sold, stock], verdict) = row(text, "with Leasehold");
    assert!(asked >= 20, "{text}");
    assert_eq!((sold, stock), (10, 0), "{text}");
    assert_eq!(verdict, "exactly what there was", "{text}");
}

#[test]
fn sale_oversells_without_leasehold_and_sells_ten_with_it() {
    let mut oversold = 0;
    for _ in 0..5 {
        let text = said(&["--seconds", "2"]);
        assert_oversold_then_ten(&text);
        oversold = row(&text, "a lock in each instance").0[1];
        if oversold > 10 {
            break;
        }
    }
    assert_eq!(
        oversold, 11,
        "a lock in each instance was enough five times"
    );
}

/// Runs sales in which an instance is killed.
fn sales_with_a_dead_instance(arguments: &[&str]) {
    let times = depth::scaled(1);
    for time in 1..=times {
        let text = said(&[arguments, &["--kill"]].concat());
        let killed = text
            .lines()
            .find(|line| line.contains("instance A was killed"));
        assert!(killed.is_some(), "{text}");
        assert_oversold_then_ten(&text);
        println!("{time} of {times}: {}", killed.unwrap().trim());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sale_on_redis_and_postgres_sells_ten_despite_a_killed_instance() {
    let redis = RedisServer::start().await.unwrap();
    let postgres = PostgresServer::start().await.unwrap();
    sales_with_a_dead_instance(&["--url", &redis.url(), "--database", &postgres.url()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sale_on_redis_and_mariadb_sells_ten_despite_a_killed_instance() {
    let redis = RedisServer::start().await.unwrap();
    let mariadb = MariaDbServer::start().await.unwrap();
    sales_with_a_dead_instance(&["--url", &redis.url(), "--database", &mariadb.url()]);
}

#[test]
fn sale_with_locks_in_sqlite_sells_ten_despite_a_killed_instance() {
    sales_with_a_dead_instance(&[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sale_with_locks_in_postgres_sells_ten_despite_a_killed_instance() {
    let postgres = PostgresServer::start().await.unwrap();
    sales_with_a_dead_instance(&["--database", &postgres.url()]);
}

#[test]
fn invalid_arguments_are_reported_with_a_remedy() {
    for (arguments, message) in [
        (&["--frobnicate"][..], "invalid option '--frobnicate'"),
        (&["now"], "unexpected argument \"now\""),
        (&["--url"], "missing argument for option '--url'"),
        (
            &["--seconds", "0"],
            "--seconds 0: give a whole number from 1 to 600",
        ),
        (
            &["--seconds", "soon"],
            "--seconds soon: give a whole number",
        ),
        (&["--serve", "--kill"], "kill an instance on the page"),
        (&["--port", "80"], "--port needs --serve"),
        (
            &["--serve", "--port", "65536"],
            "--port 65536: give a number from 0 to 65535",
        ),
        (
            &["--instance", "A"],
            "an instance needs its name, --url and --database",
        ),
    ] {
        let output = run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(
            errors.starts_with(message) || errors.lines().next().unwrap().contains(message),
            "{arguments:?}: {errors}"
        );
        assert!(errors.contains("--database URL"), "{errors}");
    }
}

#[test]
fn unavailable_servers_are_reported_with_the_cause_and_without_the_password() {
    for (arguments, message) in [
        (
            ["--url", "ftp://me:secret@h"],
            "`ftp://` is not supported by this build",
        ),
        (
            ["--database", "oracle://me:secret@h"],
            "`oracle://` is not a database of this shop",
        ),
        (
            ["--database", "postgres://me:secret@127.0.0.1:1/shop"],
            "the database cannot be opened\n  because: ",
        ),
    ] {
        let output = run(&arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {errors}");
        assert!(
            errors.contains(message) && !errors.contains("secret"),
            "{errors}"
        );
    }
}
