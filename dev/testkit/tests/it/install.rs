//! Tests how servers are found.

use std::fs;
use std::path::Path;

use leasehold_testkit::install::{InstallError, POSTGRES, Places, REDIS, SERVERS, Version, find};

use crate::fake::Outcome;

fn touch(path: &Path) -> Outcome {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    Ok(fs::write(path, "")?)
}

fn places(dir: &Path) -> Places {
    Places {
        named: None,
        path: Some(dir.join("bin").into()),
        unpacked: dir.join("unpacked"),
    }
}

#[test]
fn server_program_is_searched_in_order_of_precedence() -> Outcome {
    let dir = tempfile::tempdir()?;
    let mut places = places(dir.path());
    let program = dir.path().join("unpacked/usr/bin/redis-server");
    let libraries = dir.path().join("unpacked/usr/lib/x86_64-linux-gnu");
    touch(&program)?;
    touch(&libraries.join("liblzf.so.1"))?;
    let found = find(&REDIS, &places)?;
    assert_eq!(
        (&found.path, &found.libraries),
        (&program, &vec![libraries])
    );

    let program = dir.path().join("bin/redis-server");
    touch(&program)?;
    let found = find(&REDIS, &places)?;
    assert_eq!((found.path, found.libraries), (program, vec![]));

    let program = dir.path().join("valkey-server");
    touch(&program)?;
    places.named = Some(program.clone());
    assert_eq!(find(&REDIS, &places)?.path, program);
    Ok(())
}

#[test]
fn missing_server_error_contains_the_remedy() -> Outcome {
    let dir = tempfile::tempdir()?;
    let mut places = places(dir.path());
    let Err(error @ InstallError::NotFound { .. }) = find(&REDIS, &places) else {
        return Err("there is none".into());
    };
    assert!(
        error
            .to_string()
            .contains("run `cargo xtask test`, which installs it")
    );

    places.named = Some(dir.path().join("gone"));
    let Err(error @ InstallError::NamedInVain { .. }) = find(&REDIS, &places) else {
        return Err("it is not where it should be".into());
    };
    assert!(error.to_string().starts_with("LEASEHOLD_REDIS_SERVER is "));
    Ok(())
}

#[test]
fn server_versions_are_parsed() {
    for (said, version) in [
        ("Redis server v=7.0.15 sha=00000000:0 bits=64", "7.0.15"),
        ("Valkey server v=8.1.0 sha=0", "8.1.0"),
        (
            "mariadbd  Ver 10.11.6-MariaDB for debian-linux-gnu",
            "10.11.6",
        ),
        ("openjdk 17.0.15 2025-04-15", "17.0.15"),
        ("Apache ZooKeeper, version 3.8.0 2024-12-29", "3.8.0"),
        ("postgres (PostgreSQL) 15.5 (Debian 15.5-0+deb12u1)", "15.5"),
    ] {
        let read = Version::read(said).map(|it| it.to_string());
        assert_eq!(read.as_deref(), Some(version));
    }
    assert_eq!(Version::read("version one, build 7"), None);
}

#[test]
fn installed_servers_print_their_version() -> Outcome {
    for server in SERVERS {
        find(&server, &Places::of(&server))?.version(&server)?;
    }
    Ok(())
}

#[test]
fn newest_installed_version_is_chosen() -> Outcome {
    let dir = tempfile::tempdir()?;
    let mut places = places(dir.path());
    places.path = None;
    let mut server = POSTGRES;
    server.versions = Some("opt/leasehold-no-such-folder");
    let folder = dir.path().join("unpacked/opt/leasehold-no-such-folder");
    for version in ["9", "15", "13"] {
        touch(&folder.join(version).join("bin/postgres"))?;
    }
    let found = find(&server, &places)?;
    assert_eq!(found.path, folder.join("15/bin/postgres"));
    Ok(())
}
