use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::rules::tools::{KEY, Scene};

#[tokio::test(start_paused = true)]
async fn hours_of_waiting_and_holding_pass_in_virtual_time() {
    const HOURS: Duration = Duration::from_secs(3 * 60 * 60);
    let real = std::time::Instant::now();
    let (scene, virtually) = (Scene::calm(), Instant::now());
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let waiting = tokio::spawn(scene.other().lock(KEY).acquire());
    sleep(HOURS).await;
    assert!(guard.is_valid() && !waiting.is_finished());
    guard.release().await.unwrap();
    drop(waiting.await.unwrap().unwrap());
    assert!(virtually.elapsed() < HOURS + Duration::from_millis(10));
    assert!(real.elapsed() < HOURS / 125);
}

/// The files that may read the clock, create timers and spawn tasks.
/// A runtime of its own has its own tasks.
const DOORS: [&str; 3] = ["clock.rs", "runtime.rs", "runtime_thread.rs"];

/// The in-process backend acts as a server, and a server has its own clock.
const SERVERS: &str = "backend/memory";

/// These files convert times of day, but do not read the clock.
const CONVERTS: [&str; 4] = [
    "backend/inspection.rs",
    "fencing_token.rs",
    "lock/election/observe.rs",
    "schedule/mod.rs",
];

#[test]
fn only_the_listed_modules_read_a_clock_or_spawn_tasks() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for src in [
        core.clone(),
        core.join("../../backends/redis/src"),
        core.join("../../backends/zookeeper/src"),
    ] {
        check_sources(&src);
    }
}

fn check_sources(src: &Path) {
    let mut files = Vec::new();
    rust_files(src, &mut files);
    assert!(files.len() > 20, "{} files in {src:?}", files.len());
    for file in files {
        let name = file.strip_prefix(src).unwrap();
        if DOORS.iter().any(|door| name == Path::new(door)) || name.starts_with(SERVERS) {
            continue;
        }
        let code = std::fs::read_to_string(&file).unwrap();
        // The file contains only tests.
        if code.contains("#![cfg(test)]") {
            continue;
        }
        let code = code.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let comment = line.trim_start().starts_with("//");
            for door in [
                "Instant::now",
                "SystemTime",
                "tokio::spawn",
                "tokio::time::sleep",
                "tokio::time::timeout",
                "Handle::current",
                "Handle::try_current",
                "SystemTime::now",
                ".elapsed()",
            ] {
                let converts = CONVERTS.iter().any(|it| name == Path::new(it));
                let applies = match door {
                    "SystemTime" => !converts,
                    ".elapsed()" => converts,
                    _ => true,
                };
                let place = format!("{}:{}", name.display(), number + 1);
                let line = line.replace("LeaseInstant::now", "");
                assert!(
                    comment || !applies || !line.contains(door),
                    "{place} uses {door}"
                );
            }
        }
    }
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
#[should_panic(expected = "timers are disabled")]
fn an_acquire_in_a_runtime_without_timers_panics() {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.build().unwrap();
    let locks = leasehold::LockManager::in_process();
    let _guard = runtime.block_on(locks.lock("k").acquire());
}
