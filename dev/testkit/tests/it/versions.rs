//! The tests that run with each server version.

use std::path::{Path, PathBuf};

use leasehold_testkit::suite::{Binary, Job, SETTINGS, TOGETHER};
use leasehold_testkit::versions::ALL;

#[test]
fn packaged_version_replaces_the_server_and_leaves_out_what_it_cannot_run() {
    let binary = Binary {
        package: "leasehold-redis".to_owned(),
        target: "it".to_owned(),
        settings: None,
        dir: PathBuf::from("/redis"),
        job: Job::new("/deps/it-1", [""; 0]),
    };
    let [oldest, distribution, ..] = ALL;
    let job = oldest.tests(Some(Path::new("/old/redis-server")), &binary.job);
    assert_eq!(oldest.binaries, [binary.name()]);
    assert!(job.args.contains(&"--skip=tls".to_owned()), "{job:?}");
    let server = ("LEASEHOLD_REDIS_SERVER", "/old/redis-server");
    let server = (server.0.to_owned(), server.1.to_owned());
    assert_eq!(job.env, [server]);
    assert_eq!(distribution.tests(None, &binary.job), binary.job);
}

#[test]
fn settings_are_arguments_of_each_server_that_a_test_starts() {
    let mut variables = SETTINGS
        .iter()
        .filter(|it| it.name == "Postgres, serializable");
    let binary = Binary {
        package: "leasehold-sqlx".to_owned(),
        target: "it".to_owned(),
        settings: None,
        dir: PathBuf::from("/sqlx"),
        job: Job::new("/deps/it-1", [""; 0]),
    };
    let job = variables.next().unwrap().tests(None, &binary.job);
    let (name, value) = &job.env[0];
    assert!(name.ends_with("_SETTINGS"), "{name}");
    assert_eq!(value, "-c\ndefault_transaction_isolation=serializable");
}

#[test]
fn each_left_out_test_has_a_reason_and_each_package_a_hash() {
    for version in ALL.into_iter().chain(SETTINGS).chain(TOGETHER) {
        for (test, reason) in version.without {
            assert!(!test.is_empty() && !reason.is_empty(), "{version:?}");
        }
        let hash = version.package.map(|it| it.requirement);
        assert!(hash.is_none_or(|it| it.contains(" --hash=sha256:")));
    }
}
