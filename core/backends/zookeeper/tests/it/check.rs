//! What a check finds on an ensemble.

use std::time::Duration;

use leasehold::LockManager;
use leasehold::check::{CheckReport, Verdict};
use leasehold_testkit::servers::ZooKeeperServer;

async fn checked(url: &str) -> CheckReport {
    let report = LockManager::connect(url).await.unwrap().check().await;
    println!("{report}\n");
    report
}

fn verdict(report: &CheckReport, name: &str) -> Verdict {
    let mut findings = report.findings.iter();
    findings.find(|it| it.name == name).unwrap().verdict
}

#[tokio::test]
async fn one_server_with_short_sessions_is_a_warning_and_three_servers_are_good() {
    let short = ZooKeeperServer::builder()
        .tick(Duration::from_millis(100))
        .longest_session(Duration::from_secs(1));
    let server = short.start().await.unwrap();
    let report = checked(&format!("zookeeper://{}", server.address())).await;
    assert_eq!(verdict(&report, "ensemble"), Verdict::Warning);
    assert_eq!(verdict(&report, "session timeout"), Verdict::Warning);

    let three = ZooKeeperServer::builder().start_three().await.unwrap();
    let hosts: Vec<String> = three.nodes().iter().map(ZooKeeperServer::address).collect();
    let report = checked(&format!("zookeeper://{}", hosts.join(","))).await;
    assert_eq!(verdict(&report, "ensemble"), Verdict::Good);
    assert_eq!(verdict(&report, "session timeout"), Verdict::Good);
}
