//! Five candidates that are killed, stopped, cut off and resumed at random, on Redis and on `ZooKeeper`.
//!
//! A candidate records every 2 ms whether its handle is valid, by the clock that all processes share. A gap is the time
//! from the last moment in which a leader was valid to the begin of the next term.

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use leasehold_nemesis::clients::{Campaign, Task, client};
use leasehold_nemesis::deployment::{Locks, SESSION, TTL};
use leasehold_testkit::history::{History, Hold, Moment};
use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use leasehold_testkit::servers::{RedisServer, ZooKeeperServer};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::CLIENT;

const CANDIDATES: usize = 5;
/// The time of faults. The environment variable `LEASEHOLD_ELECTION_SECONDS` overrides it, and also checks the time
/// without a leader after an orderly end.
const SECONDS: u64 = 8;
/// The longest time without a leader after a crash, in addition to the lease.
const AFTER_LEASE: Duration = Duration::from_secs(1);
/// The documented time that silent waiters may add.
const SILENT_WAITER: Duration = Duration::from_secs(13);
/// The median time without a leader after an orderly end, on a machine that is not busy.
const ORDERLY: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(60);

/// What happens to a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Incident {
    Kill,
    /// An orderly stop with a shutdown of the manager.
    Stop,
    Resign,
    /// The process is stopped by a signal for longer than its lease, and resumed.
    Pause,
    /// All messages of the process are lost for longer than its lease.
    CutOff,
}

use Incident::{CutOff, Kill, Pause, Resign, Stop};

impl Incident {
    const ALL: [Self; 5] = [Kill, Stop, Resign, Pause, CutOff];

    fn is_orderly(self) -> bool {
        matches!(self, Stop | Resign)
    }
}

enum Server {
    Redis(RedisServer),
    ZooKeeper(ZooKeeperServer),
}

impl Server {
    async fn link(&self) -> Proxy {
        match self {
            Self::Redis(server) => Proxy::start(server.port()).await.unwrap(),
            Self::ZooKeeper(server) => Proxy::start_bytes(server.port()).await.unwrap(),
        }
    }

    fn locks(&self, link: &Proxy) -> Locks {
        match self {
            Self::Redis(server) => Locks::Redis(server.url_at(link.port())),
            Self::ZooKeeper(_) => {
                Locks::ZooKeeper(format!("zookeeper://127.0.0.1:{}/locks", link.port()))
            }
        }
    }

    fn lease(&self) -> Duration {
        match self {
            Self::Redis(_) => TTL,
            Self::ZooKeeper(_) => SESSION,
        }
    }
}

struct Candidate {
    process: ChildProcess,
    /// Its own link to the server.
    link: Proxy,
    /// The token of its last term, or 0.
    token: i64,
}

struct Candidates<'a> {
    server: &'a Server,
    outlives_term: bool,
    folder: TempDir,
    files: Vec<PathBuf>,
    all: Vec<Candidate>,
    /// What happened to which process, and when.
    incidents: Vec<(Moment, u64, Incident)>,
    /// The times in which a candidate that does not lead was silent, or may have been in the queue after its end.
    silences: Vec<Range<Moment>>,
}

impl<'a> Candidates<'a> {
    async fn start(server: &'a Server, outlives_term: bool) -> Self {
        let mut candidates = Self {
            server,
            outlives_term,
            folder: tempfile::tempdir().unwrap(),
            files: Vec::new(),
            all: Vec::new(),
            incidents: Vec::new(),
            silences: Vec::new(),
        };
        for _ in 0..CANDIDATES {
            let link = server.link().await;
            let process = candidates.process(server.locks(&link));
            candidates.all.push(Candidate {
                process,
                link,
                token: 0,
            });
        }
        candidates.next_leader(0).await;
        candidates
    }

    fn process(&mut self, locks: Locks) -> ChildProcess {
        let file = self.folder.path().join(self.files.len().to_string());
        self.files.push(file.clone());
        let task = Task::Campaign(Campaign {
            locks,
            outlives_term: self.outlives_term,
            file,
        });
        client(CLIENT, "-", &task).start().unwrap()
    }

    /// Starts another process in the place of one that has ended.
    fn replace(&mut self, index: usize) {
        let locks = self.server.locks(&self.all[index].link);
        self.all[index].process = self.process(locks);
        self.all[index].token = 0;
    }

    /// Returns the candidate with the largest token.
    fn leader(&mut self) -> (usize, i64) {
        for candidate in &mut self.all {
            while let Some(Some(line)) = candidate.process.next_line().now_or_never() {
                if let Some(token) = line.strip_prefix("leads ") {
                    candidate.token = token.parse().unwrap();
                }
            }
        }
        let tokens = self.all.iter().map(|it| it.token).enumerate();
        tokens.max_by_key(|(_, token)| *token).unwrap()
    }

    /// Waits for a term after the term with this token.
    async fn next_leader(&mut self, last: i64) {
        let begin = Instant::now();
        while self.leader().1 <= last {
            assert!(
                begin.elapsed() < PATIENCE,
                "no candidate leads after {last}"
            );
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// Causes an incident. After a pause or a cut, [`recover`](Self::recover) must follow.
    async fn strike(&mut self, index: usize, incident: Incident) {
        let struck = &mut self.all[index];
        let process = u64::from(struck.process.pid());
        self.incidents.push((Moment::now(), process, incident));
        match incident {
            Kill => {
                struck.process.kill();
                self.replace(index);
            }
            Stop => {
                struck.process.tell_no_more();
                struck.process.success(PATIENCE).await.unwrap();
                self.replace(index);
            }
            Resign => struck.process.tell("resign").unwrap(),
            Pause => struck.process.pause().unwrap(),
            CutOff => {
                struck.link.set(Direction::ToServer, Traffic::Drop);
                struck.link.set(Direction::ToClient, Traffic::Drop);
            }
        }
        if matches!(incident, Pause | CutOff) {
            sleep(self.server.lease().mul_f64(1.5)).await;
        }
    }

    fn recover(&mut self, index: usize, incident: Incident) {
        let struck = &mut self.all[index];
        match incident {
            Pause => struck.process.resume().unwrap(),
            CutOff => {
                // Connections that have lost a message stay silent, so they are cut.
                struck.link.pass();
                struck.link.cut();
            }
            Kill | Stop | Resign => {}
        }
    }

    /// Causes an incident of the leader, and waits for the next leader.
    async fn strike_leader(&mut self, incident: Incident) {
        let (leader, token) = self.leader();
        self.strike(leader, incident).await;
        self.recover(leader, incident);
        self.next_leader(token).await;
    }

    /// Causes an incident of another candidate. With `then`, also causes an incident of the leader in the meantime.
    async fn strike_waiter(&mut self, incident: Incident, chance: usize, then: Option<Incident>) {
        let waiter = (self.leader().0 + 1 + chance) % CANDIDATES;
        let begin = Moment::now();
        self.strike(waiter, incident).await;
        if let Some(then) = then {
            self.strike_leader(then).await;
        }
        self.recover(waiter, incident);
        if !incident.is_orderly() {
            let lease = u64::try_from(self.server.lease().as_nanos()).unwrap();
            self.silences
                .push(begin..Moment(Moment::now().0 + 2 * lease));
        }
    }

    /// Stops all candidates, and returns the terms.
    async fn end(&mut self) -> History {
        for candidate in &mut self.all {
            candidate.process.tell_no_more();
        }
        for candidate in &mut self.all {
            candidate.process.success(PATIENCE).await.unwrap();
        }
        History::read(&self.files).unwrap()
    }

    /// Returns the last incident of a process during its term, or before the next term.
    fn cause(&self, term: &Hold, next: &Hold) -> Option<Incident> {
        let within = self.incidents.iter().filter(|(at, process, _)| {
            *process == term.process() && (term.granted_at..next.granted_at).contains(at)
        });
        within.map(|(_, _, incident)| *incident).next_back()
    }
}

async fn never_two_leaders(name: &str, server: Server) {
    let wanted = std::env::var("LEASEHOLD_ELECTION_SECONDS").ok();
    let wanted: Option<u64> = wanted.and_then(|it| it.parse().ok());
    let time = Duration::from_secs(wanted.unwrap_or(SECONDS));
    let mut chance = fastrand::Rng::new();
    let mut candidates = Candidates::start(&server, false).await;
    let begin = Instant::now();
    let mut first = [&Incident::ALL[..], &[Stop, Resign]].concat();
    chance.shuffle(&mut first);
    while begin.elapsed() < time || !first.is_empty() {
        let mut any = || *chance.choice(&Incident::ALL).unwrap();
        let (one, other) = (any(), any());
        match (first.pop(), chance.u8(..6)) {
            (Some(incident), _) => candidates.strike_leader(incident).await,
            (None, 0) => candidates.strike_waiter(one, chance.usize(..4), None).await,
            (None, 1) => {
                let waiter = chance.usize(..4);
                candidates.strike_waiter(one, waiter, Some(other)).await;
            }
            (None, _) => candidates.strike_leader(one).await,
        }
        sleep(Duration::from_millis(chance.u64(50..300))).await;
    }
    let history = candidates.end().await;
    let (mut orderly, mut crashes, mut silent) = (Vec::new(), Vec::new(), Vec::new());
    for pair in history.holds().windows(2) {
        let [term, next] = pair else { continue };
        assert!(term.token < next.token, "{term}\n{next}");
        let gap = Duration::from_nanos(next.granted_at.0.saturating_sub(term.until.0));
        // A term without an incident has ended because the machine was busy.
        let cause = candidates.cause(term, next);
        let is_in = |silence: &Range<Moment>| silence.contains(&next.granted_at);
        if candidates.silences.iter().any(is_in) {
            silent.push(gap);
        } else if cause.is_some_and(Incident::is_orderly) {
            orderly.push(gap);
        } else {
            crashes.push((gap, cause));
        }
    }
    orderly.sort_unstable();
    crashes.sort_unstable_by_key(|(gap, _)| *gap);
    let (median, longest) = (orderly[orderly.len() / 2], *orderly.last().unwrap());
    let (after_crash, cause) = *crashes.last().unwrap();
    let behind_silent = silent.iter().max().copied().unwrap_or_default();
    println!(
        "{name}: {} terms, {} incidents; without a leader after {} orderly ends: median {median:.1?}, longest \
         {longest:.1?}; after {} crashes, pauses and cuts: longest {after_crash:.2?} ({cause:?}), lease {:?}; {} \
         times with a silent waiter: longest {behind_silent:.2?}",
        history.holds().len(),
        candidates.incidents.len(),
        orderly.len(),
        crashes.len(),
        server.lease(),
        silent.len(),
    );
    history.check().unwrap();
    assert!(after_crash <= server.lease() + AFTER_LEASE);
    assert!(behind_silent <= server.lease() + SILENT_WAITER);
    // This time depends on the other programs of the machine. So by default the test checks only that others need not
    // wait for the end of the lease.
    assert!(median <= server.lease() / 2);
    assert!(wanted.is_none() || median <= ORDERLY);
}

#[tokio::test]
async fn on_redis_there_are_never_two_leaders_and_a_new_one_leads_in_time() {
    let server = Server::Redis(RedisServer::start().await.unwrap());
    never_two_leaders("Redis", server).await;
}

#[tokio::test]
async fn on_zookeeper_there_are_never_two_leaders_and_a_new_one_leads_in_time() {
    let server = Server::ZooKeeper(ZooKeeperServer::start().await.unwrap());
    never_two_leaders("ZooKeeper", server).await;
}

/// The control: work that outlives its term is found.
#[tokio::test]
async fn leaders_that_continue_their_work_after_a_loss_are_found() {
    let server = Server::Redis(RedisServer::start().await.unwrap());
    for incident in [Pause, CutOff, Resign] {
        let mut candidates = Candidates::start(&server, true).await;
        candidates.strike_leader(incident).await;
        sleep(Duration::from_millis(100)).await;
        let found = candidates.end().await.exclusion();
        assert!(!found.is_empty(), "{incident:?}");
    }
}
