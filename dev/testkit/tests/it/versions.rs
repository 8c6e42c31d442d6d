//! The tests that run with each server version.

use std::path::{Path, PathBuf};

use leasehold_testkit::suite::{Binary, Job};
use leasehold_testkit::versions::{ALL, tests};

#[test]
fn packaged_version_replaces_the_server_and_leaves_out_what_it_cannot_run() {
    let binary = Binary {
        package: "leasehold".to_owned(),
        target: "redis".to_owned(),
        dir: PathBuf::from("/core"),
        job: Job::new("/deps/redis-1", [""; 0]),
    };
    let [oldest, distribution, ..] = ALL;
    let job = tests(&oldest, Some(Path::new("/old/redis-server")), &binary);
    assert_eq!(oldest.binary, binary.name());
    assert!(job.args.contains(&"--skip=tls".to_owned()), "{job:?}");
    let server = ("LEASEHOLD_REDIS_SERVER", "/old/redis-server");
    let server = (server.0.to_owned(), server.1.to_owned());
    assert_eq!(job.env, [server]);
    assert_eq!(tests(&distribution, None, &binary), binary.job);
}

#[test]
fn each_left_out_test_has_a_reason_and_each_package_a_hash() {
    for version in ALL {
        for (test, reason) in version.without {
            assert!(!test.is_empty() && !reason.is_empty(), "{version:?}");
        }
        let hash = version.package.map(|it| it.requirement);
        assert!(hash.is_none_or(|it| it.contains(" --hash=sha256:")));
    }
}
