//! The candidates of an election, and what happens to them.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fastrand::Rng;
use futures_util::FutureExt;
use leasehold_nemesis::clients::{Campaign, Task, client};
use leasehold_nemesis::deployment::{Locks, SESSION, TTL};
use leasehold_testkit::history::{History, Hold, Moment};
use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use leasehold_testkit::servers::{PostgresServer, RedisServer, ZooKeeperServer};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::processes::CLIENT;

const CANDIDATES: usize = 5;
const PATIENCE: Duration = Duration::from_secs(60);
/// The number of incidents that the test prints before a long time without a leader.
const EXPLAINED: usize = 12;

/// What happens to a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incident {
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
    pub(super) const ALL: [Self; 5] = [Kill, Stop, Resign, Pause, CutOff];

    pub(super) fn is_orderly(self) -> bool {
        matches!(self, Stop | Resign)
    }
}

pub(super) enum Server {
    Postgres(PostgresServer),
    Redis(RedisServer),
    ZooKeeper(ZooKeeperServer),
}

impl Server {
    async fn link(&self) -> Proxy {
        match self {
            Self::Postgres(server) => Proxy::start_bytes(server.port()).await.unwrap(),
            Self::Redis(server) => Proxy::start(server.port()).await.unwrap(),
            Self::ZooKeeper(server) => Proxy::start_bytes(server.port()).await.unwrap(),
        }
    }

    fn locks(&self, link: &Proxy) -> Locks {
        match self {
            Self::Postgres(server) => Locks::Database(server.url_at(link.port())),
            Self::Redis(server) => Locks::Redis(server.url_at(link.port())),
            Self::ZooKeeper(_) => {
                Locks::ZooKeeper(format!("zookeeper://127.0.0.1:{}/locks", link.port()))
            }
        }
    }

    pub(super) fn lease(&self) -> Duration {
        match self {
            Self::Postgres(_) | Self::Redis(_) => TTL,
            Self::ZooKeeper(_) => SESSION,
        }
    }

    /// Returns how long silent candidates may delay the next leader: a grant, if the candidates wait in a queue.
    pub(super) fn delay_by_silent(&self) -> Duration {
        match self {
            Self::Postgres(_) => Duration::from_secs(2),
            Self::Redis(_) | Self::ZooKeeper(_) => Duration::ZERO,
        }
    }
}

/// An incident that has happened.
#[derive(Debug)]
pub(super) struct Struck {
    at: Moment,
    process: u64,
    incident: Incident,
}

struct Candidate {
    process: ChildProcess,
    /// Its own link to the server.
    link: Proxy,
    /// The token of its last term, or 0.
    token: i64,
}

impl Candidate {
    fn pid(&self) -> u64 {
        u64::from(self.process.pid())
    }
}

pub(super) struct Candidates<'a> {
    server: &'a Server,
    outlives_term: bool,
    folder: TempDir,
    files: Vec<PathBuf>,
    all: Vec<Candidate>,
    pub(super) incidents: Vec<Struck>,
}

impl<'a> Candidates<'a> {
    pub(super) async fn start(server: &'a Server, outlives_term: bool) -> Self {
        let mut candidates = Self {
            server,
            outlives_term,
            folder: tempfile::tempdir().unwrap(),
            files: Vec::new(),
            all: Vec::new(),
            incidents: Vec::new(),
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
        self.incidents.push(Struck {
            at: Moment::now(),
            process: struck.pid(),
            incident,
        });
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
    }

    /// Waits until a pause or a cut has lasted longer than the lease.
    async fn outlast_lease(&self, incident: Incident) {
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
    pub(super) async fn strike_leader(&mut self, incident: Incident) {
        let (leader, token) = self.leader();
        self.strike(leader, incident).await;
        self.outlast_lease(incident).await;
        self.recover(leader, incident);
        self.next_leader(token).await;
    }

    /// Chooses a candidate that does not lead.
    pub(super) fn waiter(&mut self, chance: &mut Rng) -> usize {
        (self.leader().0 + chance.usize(1..CANDIDATES)) % CANDIDATES
    }

    /// Causes an incident of a candidate that does not lead. With `then`, also causes an incident of the leader in the
    /// meantime.
    pub(super) async fn strike_waiter(
        &mut self,
        waiter: usize,
        incident: Incident,
        then: Option<Incident>,
    ) {
        self.strike(waiter, incident).await;
        self.outlast_lease(incident).await;
        if let Some(then) = then {
            self.strike_leader(then).await;
        }
        self.recover(waiter, incident);
    }

    /// Lets each candidate lead once, so that all others wait.
    pub(super) async fn all_lead_once(&mut self) {
        let begin = Instant::now();
        while self.all.iter().any(|it| it.token == 0) {
            assert!(begin.elapsed() < PATIENCE, "a candidate never leads");
            self.strike_leader(Resign).await;
        }
    }

    /// Silences all candidates except the leader and another one, and lets the leader resign.
    pub(super) async fn resign_among_silent(&mut self, incident: Incident) {
        let leader = self.leader().0;
        let silent: Vec<_> = (2..CANDIDATES)
            .map(|it| (leader + it) % CANDIDATES)
            .collect();
        for it in &silent {
            self.strike(*it, incident).await;
        }
        self.strike_leader(Resign).await;
        for it in silent {
            self.recover(it, incident);
        }
    }

    /// Stops all candidates, and returns the terms.
    pub(super) async fn end(&mut self) -> History {
        for candidate in &mut self.all {
            candidate.process.tell_no_more();
        }
        for candidate in &mut self.all {
            candidate.process.success(PATIENCE).await.unwrap();
        }
        History::read(&self.files).unwrap()
    }

    /// Returns the time without a leader between two terms.
    pub(super) fn gap(&self, term: &Hold, next: &Hold) -> Gap {
        let of_term = |it: &&Struck| {
            it.process == term.process() && (term.granted_at..next.granted_at).contains(&it.at)
        };
        // A term without an incident has ended because the machine was busy.
        let end = self.incidents.iter().rfind(of_term);
        Gap {
            time: Duration::from_nanos(next.granted_at.0.saturating_sub(term.until.0)),
            cause: end.map(|it| it.incident),
        }
    }

    /// Prints the last incidents before the next term.
    pub(super) fn explain(&self, term: &Hold, next: &Hold, gap: &Gap) {
        println!("{gap:?}\n  after {term}\n  before {next}");
        let before = self.incidents.iter().filter(|it| it.at < next.granted_at);
        for it in before.rev().take(EXPLAINED) {
            let before = Duration::from_nanos(next.granted_at.0 - it.at.0);
            println!("  {before:.3?} before: {it:?}");
        }
    }
}

/// A time without a leader.
#[derive(Debug)]
pub(super) struct Gap {
    pub(super) time: Duration,
    /// The last incident of the earlier leader.
    pub(super) cause: Option<Incident>,
}
