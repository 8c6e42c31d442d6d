//! Two processes that share a lock in a `SQLite` file, without a server. They are killed and stopped at random times.

use std::path::Path;
use std::time::{Duration, Instant};

use leasehold::LockManager;
use leasehold_nemesis::clients::{Compete, KEY, Task, client};
use leasehold_testkit::depth;
use leasehold_testkit::history::{History, Hold, Moment, Recorder};
use leasehold_testkit::processes::ChildProcess;
use sqlx::{ConnectOptions, Connection};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::processes::CLIENT;

/// The length of the run in `cargo test`, in seconds.
const SECONDS: u64 = 8;
const TTL: Duration = Duration::from_millis(500);
const HOLD: Duration = Duration::from_millis(60);
const PAUSE: Duration = Duration::from_millis(60);

/// The time that a waiter that was killed in the queue may add. The next waiter repeats its attempt every 2 s. From then
/// on, the killed waiter has 2 s to confirm its grant.
const KILLED_WAITER: Duration = Duration::from_secs(4);

/// How long a waiter takes to acquire a lock that has become free: its polls are at most 320 ms apart.
const SOON: Duration = Duration::from_millis(1500);

/// The same on a busy machine.
const BOUND: Duration = Duration::from_secs(4);

const PATIENCE: Duration = Duration::from_secs(60);

/// Two clients, and the files of all clients.
struct Pair {
    folder: TempDir,
    url: String,
    shared: bool,
    started: usize,
    clients: [ChildProcess; 2],
}

/// A killed client.
#[derive(Debug)]
struct Kill {
    pid: u64,
    at: Moment,
}

/// What happened during a run.
#[derive(Debug, Default)]
struct Run {
    kills: Vec<Kill>,
    /// The number of stops during which the other client acquired the lock.
    overtaken: usize,
    /// The number of stops during which the other client could not acquire the lock, because the stopped client held
    /// the write lock of the file.
    blocked: usize,
}

impl Pair {
    fn start(shared: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("locks.db").display());
        let clients = [0, 1].map(|number| start(folder.path(), &url, number, shared));
        Self {
            folder,
            url,
            shared,
            started: 2,
            clients,
        }
    }

    /// Kills a client, and starts another one.
    fn kill(&mut self, victim: usize) -> Kill {
        let pid = self.clients[victim].pid().into();
        self.clients[victim].kill();
        // The kill is complete, so the client has acquired nothing after this time.
        let at = Moment::now();
        self.clients[victim] = start(self.folder.path(), &self.url, self.started, self.shared);
        self.started += 1;
        Kill { pid, at }
    }

    /// Stops a client for longer than its lease. Returns whether the other client acquired the lock during the stop.
    async fn stop(&mut self, victim: usize) -> bool {
        self.clients[victim].pause().unwrap();
        let (at, begin) = (Moment::now(), Instant::now());
        let patience = TTL + KILLED_WAITER + BOUND;
        let overtaken = self.granted(1 - victim, at, patience).await;
        sleep((TTL + TTL / 2).saturating_sub(begin.elapsed())).await;
        self.clients[victim].resume().unwrap();
        overtaken
    }

    /// Waits until a client has acquired the lock after `since`.
    async fn granted(&mut self, client: usize, since: Moment, patience: Duration) -> bool {
        let is_later = |line: &str| {
            let at = line.strip_prefix("granted ").and_then(|it| it.parse().ok());
            at.is_some_and(|at: u64| at > since.0)
        };
        let line = self.clients[client].line_where(patience, is_later);
        line.await.is_ok()
    }

    fn history(&self) -> History {
        let files = (0..self.started).map(|number| self.folder.path().join(number.to_string()));
        History::read(files.filter(|it| it.exists())).unwrap()
    }
}

fn start(folder: &Path, url: &str, number: usize, shared: bool) -> ChildProcess {
    let work = Compete {
        shared,
        ttl: TTL,
        hold: HOLD,
        pause: PAUSE,
        file: folder.join(number.to_string()),
    };
    client(CLIENT, url, &Task::Compete(work)).start().unwrap()
}

/// Kills and stops clients for this time.
async fn disturb(pair: &mut Pair, time: Duration) -> Run {
    let mut run = Run::default();
    for client in 0..2 {
        assert!(pair.granted(client, Moment(0), PATIENCE).await);
    }
    let begin = Instant::now();
    while begin.elapsed() < time {
        sleep(Duration::from_millis(fastrand::u64(20..300))).await;
        let victim = fastrand::usize(..2);
        let since = if fastrand::bool() {
            match pair.stop(victim).await {
                true => run.overtaken += 1,
                false => run.blocked += 1,
            }
            Moment::now()
        } else {
            let kill = pair.kill(victim);
            let at = kill.at;
            run.kills.push(kill);
            at
        };
        for client in 0..2 {
            let continues = pair.granted(client, since, PATIENCE).await;
            assert!(continues, "{}", pair.clients[client].last_words());
        }
    }
    run
}

/// Returns the time from a kill to the next grant, and whether the killed client held the lock.
fn delay(history: &History, kill: &Kill) -> (Duration, bool) {
    let next = history.holds().iter().find(|it| it.granted_at > kill.at);
    let waited = Duration::from_nanos(next.unwrap().granted_at.0 - kill.at.0);
    let of_killed = |it: &&Hold| it.process() == kill.pid;
    let last = history.holds().iter().rfind(of_killed);
    (waited, last.is_some_and(|it| !it.ended))
}

/// Acquires the lock in this process, while only leases of killed clients keep the lock taken.
async fn acquire_after_the_last_kill(pair: &mut Pair) {
    let locks = LockManager::connect(&pair.url).await.unwrap();
    let recorder = Recorder::to_file(&pair.folder.path().join(pair.started.to_string())).unwrap();
    pair.started += 1;
    let requested_at = Moment::now();
    // One client may have held the lock, and the other one may have waited.
    let most = TTL + KILLED_WAITER + BOUND;
    let guard = locks.lock(KEY).wait(most).acquire().await.unwrap();
    let noted = recorder.granted(KEY, guard.token().get(), requested_at);
    noted.ended();
    guard.release().await.unwrap();
    locks.shutdown().await.unwrap();
}

#[tokio::test]
async fn killed_and_stopped_processes_exclude_each_other_and_no_lock_outlives_its_lease() {
    let mut pair = Pair::start(true);
    let run = disturb(&mut pair, depth::seconds(SECONDS)).await;
    pair.clients.iter_mut().for_each(ChildProcess::kill);
    acquire_after_the_last_kill(&mut pair).await;

    let history = pair.history();
    history.check().unwrap();
    let (mut after_holders, mut after_others) = (Duration::ZERO, Duration::ZERO);
    let mut soonest: Option<Duration> = None;
    for kill in &run.kills {
        let (waited, was_holder) = delay(&history, kill);
        if was_holder {
            soonest = Some(soonest.unwrap_or(waited).min(waited));
        }
        let longest = match was_holder {
            true => &mut after_holders,
            false => &mut after_others,
        };
        *longest = waited.max(*longest);
    }
    println!(
        "{} grants; {} kills, and the next grant at most {after_holders:?} after the kill of a holder and \
         {after_others:?} after others; {} stops that another holder overtook, {} stops inside of a write",
        history.holds().len(),
        run.kills.len(),
        run.overtaken,
        run.blocked,
    );
    assert!(after_holders <= TTL + BOUND, "{run:?}");
    // A busy machine may be late after some kills. A lease that lasts too long does so after each.
    assert!(
        soonest.is_none_or(|soonest| soonest <= TTL + SOON),
        "{soonest:?}"
    );
    // A client may be killed between its grant and the record of the grant, or while it waits.
    assert!(after_others <= HOLD + KILLED_WAITER + BOUND, "{run:?}");
    // A process writes for a small part of the time, which is longer on a busy machine.
    assert!(run.blocked <= 2 + run.overtaken, "{run:?}");

    let options: sqlx::sqlite::SqliteConnectOptions = pair.url.parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    let check = sqlx::query_scalar("PRAGMA integrity_check");
    let check: String = check.fetch_one(&mut connection).await.unwrap();
    assert_eq!(check, "ok");
    connection.close().await.unwrap();
}

#[tokio::test]
async fn control_with_one_lock_per_process_has_two_holders() {
    let mut pair = Pair::start(false);
    disturb(&mut pair, Duration::from_secs(2)).await;
    let overlaps = pair.history().exclusion();
    assert!(overlaps.len() > 1, "{overlaps:?}");
}
