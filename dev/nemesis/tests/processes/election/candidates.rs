//! The candidates of an election, and what happens to them.

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fastrand::Rng;
use futures_util::FutureExt;
use leasehold_nemesis::clients::{Campaign, KEY, Task, client};
use leasehold_nemesis::deployment::{Locks, SESSION, TTL};
use leasehold_testkit::history::{History, Hold, Moment};
use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use leasehold_testkit::servers::{RedisServer, ZooKeeperServer};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::CLIENT;

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

    pub(super) fn lease(&self) -> Duration {
        match self {
            Self::Redis(_) => TTL,
            Self::ZooKeeper(_) => SESSION,
        }
    }

    /// Returns the queue of Redis, in the order of service. Empty on `ZooKeeper`.
    async fn queue(&self) -> Vec<Queued> {
        let Self::Redis(server) = self else {
            return Vec::new();
        };
        let [queue, leases] = ["queue", "leases"].map(|it| format!("{{lock:{KEY}}}:lh1:{it}"));
        let mut client = server.client().await.unwrap();
        let owners = client.command(["ZRANGE", &queue, "0", "-1"]).await.unwrap();
        let mut waiters = Vec::new();
        for owner in owners.items().iter().filter_map(|it| it.text()) {
            let position = client.command(["HGET", &leases, owner]).await.unwrap();
            let inbox = position.text().and_then(|it| it.rsplit(' ').next());
            let numsub = ["PUBSUB", "NUMSUB", inbox.unwrap_or_default()];
            let subscribers = client.command(numsub).await.unwrap();
            waiters.push(Queued {
                // The label of an owner ends with the id of its process.
                process: owner.rsplit('/').next().unwrap().parse().unwrap(),
                connections: subscribers.items()[1].int().unwrap(),
            });
        }
        waiters
    }
}

/// A position in the queue of the server.
#[derive(Debug)]
struct Queued {
    process: u64,
    /// The connections on which the server notifies the process. Some may be half-open.
    connections: i64,
}

/// A time in which a process in the queue may not confirm a grant.
#[derive(Debug)]
struct Silence {
    process: u64,
    time: Range<Moment>,
}

/// An incident that has happened.
#[derive(Debug)]
pub(super) struct Struck {
    at: Moment,
    process: u64,
    incident: Incident,
    /// The queue just before the incident.
    queue: Vec<Queued>,
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
    /// The silences of candidates that do not lead.
    silences: Vec<Silence>,
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

    /// Waits until all other candidates are in the queue of Redis. Returns the first, and the id of its process.
    pub(super) async fn first_waiter(&self) -> (usize, u64) {
        let queue = self.queue_with(|queue| queue.len() == CANDIDATES - 1).await;
        let process = queue[0].process;
        let first = self.all.iter().position(|it| it.pid() == process);
        (first.unwrap(), process)
    }

    /// Waits until the server has this number of connections of a process in the queue.
    pub(super) async fn has_connections(&self, process: u64, connections: i64) {
        let is_so = |it: &Queued| it.process == process && it.connections == connections;
        self.queue_with(|queue| queue.iter().any(is_so)).await;
    }

    async fn queue_with(&self, is_so: impl Fn(&[Queued]) -> bool) -> Vec<Queued> {
        let begin = Instant::now();
        loop {
            let queue = self.server.queue().await;
            if is_so(&queue) {
                return queue;
            }
            assert!(begin.elapsed() < PATIENCE, "{queue:?}");
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// Causes an incident. After a pause or a cut, [`recover`](Self::recover) must follow.
    pub(super) async fn strike(&mut self, index: usize, incident: Incident) {
        let queue = self.server.queue().await;
        let struck = &mut self.all[index];
        self.incidents.push(Struck {
            at: Moment::now(),
            process: struck.pid(),
            incident,
            queue,
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
        if matches!(incident, Pause | CutOff) {
            sleep(self.server.lease().mul_f64(1.5)).await;
        }
    }

    pub(super) fn recover(&mut self, index: usize, incident: Incident) {
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
        let (begin, process) = (Moment::now(), self.all[waiter].pid());
        self.strike(waiter, incident).await;
        if let Some(then) = then {
            self.strike_leader(then).await;
        }
        self.recover(waiter, incident);
        let lease = u64::try_from(self.server.lease().as_nanos()).unwrap();
        let end = match (incident, self.server) {
            (Stop | Resign, _) => return,
            // It never confirms a grant, so the silence lasts as long as its position in the queue.
            (Kill, Server::Redis(_)) => u64::MAX,
            (Kill | Pause | CutOff, _) => Moment::now().0 + 2 * lease,
        };
        let time = begin..Moment(end);
        self.silences.push(Silence { process, time });
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
        let mut before = self.incidents.iter().rev();
        let last = before.find(|it| it.at < next.granted_at);
        Gap {
            time: Duration::from_nanos(next.granted_at.0.saturating_sub(term.until.0)),
            cause: end.map(|it| it.incident),
            is_behind_silent: match self.server {
                Server::Redis(_) => last.is_some_and(|it| self.is_behind_silent(it)),
                Server::ZooKeeper(_) => {
                    let mut silences = self.silences.iter();
                    silences.any(|it| it.time.contains(&next.granted_at))
                }
            },
        }
    }

    /// Returns whether Redis was about to grant the lock to a silent process, at the last incident before a term.
    ///
    /// Redis passes over a position without a connection. But a connection that has lost a message during a cut is
    /// half-open afterwards, and Redis does not notice its end. So Redis may grant the lock to a process that was cut
    /// off and later killed.
    fn is_behind_silent(&self, last: &Struck) -> bool {
        let first = last.queue.iter().find(|it| it.connections > 0);
        let mut silences = self.silences.iter();
        first.is_some_and(|first| {
            silences.any(|it| it.process == first.process && it.time.contains(&last.at))
        })
    }

    /// Prints the last incidents before the next term, and the queues at their begin.
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
    /// Whether the server may have granted the lock to a silent waiter before the next leader.
    pub(super) is_behind_silent: bool,
}
