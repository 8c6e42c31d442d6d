//! What a check finds on servers that are sick in one way each.

use leasehold::LockManager;
use leasehold::check::{CheckReport, Verdict};
use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::servers::{RedisBuilder, ReplicatedRedis};

use crate::documented_privileges::{PASSWORD, USER, least, make_user};
use crate::single::server::Server;

/// Returns what a check of the server at `url` has found.
pub(crate) async fn checked(url: &str) -> CheckReport {
    let locks = LockManager::connect(url).await.unwrap();
    let report = locks.check().await;
    println!("{report}\n");
    let left = locks.list("").next().await;
    assert!(left.is_err() || left.unwrap().is_none(), "a lock is left");
    report
}

/// Checks that the report has a finding with this name, this verdict and this text.
pub(crate) fn has(report: &CheckReport, verdict: Verdict, name: &str, text: &str) {
    let found = report.findings.iter().any(|it| {
        let shown = format!("{}: {}", it.found, it.remedy.as_deref().unwrap_or_default());
        it.verdict == verdict && it.name == name && shown.contains(text)
    });
    assert!(found, "no {verdict} `{name}` with `{text}` in\n{report}");
}

async fn with(settings: impl FnOnce(RedisBuilder) -> RedisBuilder) -> (Server, CheckReport) {
    let server = Server::with(settings).await;
    let report = checked(&server.url()).await;
    (server, report)
}

async fn set(server: &Server, name: &str, value: &str) {
    let mut command = redis::cmd("CONFIG");
    command.arg("SET").arg(name).arg(value);
    let () = command.query_async(&mut server.raw().await).await.unwrap();
}

#[tokio::test]
async fn a_healthy_server_has_only_good_findings() {
    let durable = |it: RedisBuilder| {
        let args = ["--appendonly", "yes", "--appendfsync", "always"];
        args.into_iter().fold(it, RedisBuilder::arg)
    };
    let (_server, report) = with(durable).await;
    // A busy machine may be slow.
    let are_times = ["round trip", "hand-off"];
    for finding in report
        .findings
        .iter()
        .filter(|it| !are_times.contains(&it.name))
    {
        assert_eq!(finding.verdict, Verdict::Good, "{report}");
    }
    for name in [
        "acquire",
        "exclusion",
        "hand-off",
        "tokens",
        "eviction",
        "persistence",
        "clock",
    ] {
        assert!(report.findings.iter().any(|it| it.name == name), "{name}");
    }
}

#[tokio::test]
async fn a_server_that_evicts_keys_is_a_failure() {
    for policy in [
        "allkeys-lru",
        "allkeys-lfu",
        "allkeys-random",
        "volatile-lru",
        "volatile-lfu",
        "volatile-random",
        "volatile-ttl",
    ] {
        let (_server, report) = with(|it| it.max_memory("100mb", policy)).await;
        has(&report, Verdict::Failure, "eviction", policy);
        has(&report, Verdict::Failure, "eviction", "noeviction");
        assert_eq!(report.verdict(), Verdict::Failure);
    }
    let (_server, report) = with(|it| it.arg("--maxmemory-policy").arg("volatile-ttl")).await;
    has(&report, Verdict::Warning, "eviction", "volatile-ttl");
}

#[tokio::test]
async fn a_server_that_loses_data_in_a_restart_is_a_warning() {
    let (_server, report) = with(|it| it).await;
    has(&report, Verdict::Warning, "persistence", "appendonly");
    let (_server, report) = with(|it| it.arg("--appendonly").arg("yes")).await;
    has(&report, Verdict::Warning, "persistence", "everysec");
}

#[tokio::test]
async fn full_memory_many_clients_and_a_short_idle_timeout_are_warnings() {
    let server = Server::start().await;
    let used = server.told("memory", "used_memory").await;
    set(&server, "maxmemory", &(used + used / 20).to_string()).await;
    set(&server, "maxclients", "4").await;
    set(&server, "timeout", "5").await;
    let _others = [server.raw().await, server.raw().await];
    let report = checked(&server.url()).await;
    has(&report, Verdict::Warning, "memory", "raise maxmemory");
    has(&report, Verdict::Warning, "clients", "raise maxclients");
    has(&report, Verdict::Warning, "idle timeout", "5 s");
}

#[tokio::test]
async fn a_primary_that_writes_without_its_replicas_is_a_warning() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let report = checked(&pair.primary().url()).await;
    has(
        &report,
        Verdict::Warning,
        "replicas",
        "min-replicas-to-write",
    );
}

#[tokio::test]
async fn a_primary_without_its_required_replicas_is_a_failure() {
    let (_server, report) = with(|it| it.arg("--min-replicas-to-write").arg("1")).await;
    has(&report, Verdict::Failure, "acquire", "NOREPLICAS");
    has(
        &report,
        Verdict::Failure,
        "replicas",
        "0 connected of the 1",
    );
}

#[tokio::test]
async fn a_replica_is_a_failure() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let report = checked(&pair.replica().url()).await;
    has(&report, Verdict::Failure, "acquire", "is a replica");
    has(&report, Verdict::Failure, "role", "connect to the primary");
}

#[tokio::test]
async fn another_clock_is_a_warning() {
    let clock = ClockShim::off_by(3_600).unwrap();
    let (_server, report) = with(|it| it.wearing(&clock)).await;
    has(&report, Verdict::Warning, "clock", "synchronize");
}

#[tokio::test]
async fn missing_permissions_are_warnings_of_what_they_are_for() {
    let server = Server::start().await;
    let mut client = server.inner().client().await.unwrap();
    let rights = least(&[]);
    make_user(&mut client, &rights).await;
    let port = server.inner().port();
    let url = format!("redis://{USER}:{PASSWORD}@127.0.0.1:{port}");
    let report = checked(&url).await;
    has(&report, Verdict::Warning, "settings", "+config|get");
    has(&report, Verdict::Warning, "list", "`list`");

    let deaf: Vec<&str> = rights
        .into_iter()
        .filter(|it| !it.starts_with('&'))
        .collect();
    make_user(&mut client, &deaf).await;
    let report = checked(&url).await;
    has(
        &report,
        Verdict::Warning,
        "notifications",
        "leasehold:inbox",
    );
}

#[tokio::test]
async fn a_stopped_server_is_a_failure() {
    let server = Server::start().await;
    let locks = LockManager::connect(&server.url()).await.unwrap();
    server.kill();
    let report = locks.check().await;
    println!("{report}");
    has(&report, Verdict::Failure, "acquire", "");
    has(&report, Verdict::Failure, "settings", "");
}

#[tokio::test]
async fn a_cluster_without_a_slot_is_a_failure() {
    let server = Server::of_a_cluster().await;
    let url = format!("redis+cluster://127.0.0.1:{}", server.inner().port());
    let report = checked(&url).await;
    has(&report, Verdict::Good, "slots", "16384 of 16384");

    let locks = LockManager::connect(&url).await.unwrap();
    let mut remove = redis::cmd("CLUSTER");
    remove.arg("DELSLOTS").arg(16_383);
    let () = remove.query_async(&mut server.raw().await).await.unwrap();
    let report = locks.check().await;
    has(&report, Verdict::Failure, "slots", "16383 of 16384");
}
