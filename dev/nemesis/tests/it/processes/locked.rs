//! Processes that change data in the database of their locks, without tokens. The processes are killed and stopped, their
//! connections are cut, and the database is killed and restarted.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use leasehold_nemesis::clients::{Change, Task};
use leasehold_sqlx::{LockDatabase, ddl};
use leasehold_testkit::history::Moment;
use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::{Executor, FromRow, IntoArguments, MySql, Pool, Postgres};
use tokio::time::{sleep, timeout};

use crate::processes::start;

const TIME: Duration = Duration::from_secs(6);
const TTL: Duration = Duration::from_millis(500);
const THINK: Duration = Duration::from_millis(100);
const PROCESSES: usize = 3;

/// The longest time between the read and the write of a control. A process has to be stopped between the two, also on a
/// busy machine.
const CONTROL_THINK: Duration = Duration::from_secs(1);

/// The longest stop of a process, after the end of its lease.
const STOP: Duration = Duration::from_secs(4);

/// The number of stops after which a control without a lost change fails.
const STOPS: usize = 40;

/// The time until a process commits again after a fault.
const PATIENCE: Duration = Duration::from_secs(120);

/// The processes, and the events that they have printed.
struct Writers {
    url: String,
    task: Task,
    running: Vec<ChildProcess>,
    killed: Vec<ChildProcess>,
    lines: Vec<String>,
}

impl Writers {
    fn start(url: String, checked: bool) -> Self {
        let think = if checked { THINK } else { CONTROL_THINK };
        let task = Task::Change(Change {
            checked,
            ttl: TTL,
            think,
        });
        let running = (0..PROCESSES).map(|_| start(&url, &task)).collect();
        Self {
            url,
            task,
            running,
            killed: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Waits until each process has committed since now.
    async fn commit(&mut self) {
        let now = Moment::now();
        for process in 0..PROCESSES {
            self.event_of(process, "committed", now).await;
        }
    }

    /// Waits for an event of a process that happens after `since`.
    async fn event_of(&mut self, process: usize, name: &str, since: Moment) {
        let lines = async {
            loop {
                let Some(line) = self.running[process].next_line().await else {
                    panic!("it has ended: {}", self.running[process].last_words());
                };
                let is_later = event(&line, name).is_some_and(|(_, at)| at > since);
                self.lines.push(line);
                if is_later {
                    return;
                }
            }
        };
        timeout(PATIENCE, lines).await.unwrap();
    }

    /// Stops a process between its read and its write for longer than its lease, until another process has committed.
    /// The stop may come after the write. The row is then locked, and the others wait for the stopped process.
    async fn stop_one(&mut self) {
        let victim = fastrand::usize(..PROCESSES);
        self.event_of(victim, "read", Moment::now()).await;
        self.running[victim].pause().unwrap();
        sleep(TTL).await;
        let other = self.event_of((victim + 1) % PROCESSES, "committed", Moment::now());
        let _waited = timeout(STOP, other).await;
        self.running[victim].resume().unwrap();
    }

    fn kill_one(&mut self) {
        let mut victim = self.running.swap_remove(fastrand::usize(..PROCESSES));
        victim.kill();
        self.killed.push(victim);
        self.running.push(start(&self.url, &self.task));
    }

    /// Kills all processes. Returns the ids of the changes that they have reported as committed.
    async fn end(mut self) -> Vec<String> {
        for mut process in self.running.into_iter().chain(self.killed) {
            process.kill();
            while let Some(line) = process.next_line().await {
                self.lines.push(line);
            }
        }
        let ids = self.lines.iter();
        let ids = ids.filter_map(|line| event(line, "committed"));
        ids.map(|(id, _)| id.to_owned()).collect()
    }
}

/// Returns the id of the change and the time of an event: `committed ID MOMENT`, for example.
fn event<'l>(line: &'l str, name: &str) -> Option<(&'l str, Moment)> {
    let (id, at) = line.strip_prefix(name)?.trim_start().split_once(' ')?;
    Some((id, Moment(at.parse().ok()?)))
}

async fn create<DB>(pool: &Pool<DB>)
where
    DB: LockDatabase,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    ddl::create_locks(pool).await.unwrap();
    let mut connection = pool.acquire().await.unwrap();
    for sql in [
        "CREATE TABLE counter (value BIGINT)",
        "INSERT INTO counter VALUES (0)",
        "CREATE TABLE changes (id VARCHAR(50), value BIGINT)",
    ] {
        connection.execute(sql).await.unwrap();
    }
}

/// The counter, and the id of each change with the counter's value before it.
struct Data {
    counter: i64,
    changes: Vec<(String, i64)>,
}

impl Data {
    async fn read<DB>(pool: &Pool<DB>) -> Self
    where
        DB: LockDatabase,
        for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
        for<'r> (i64,): FromRow<'r, DB::Row>,
        for<'r> (String, i64): FromRow<'r, DB::Row>,
        DB::Arguments: IntoArguments<DB>,
    {
        let mut connection = pool.acquire().await.unwrap();
        let counter = sqlx::query_as("SELECT value FROM counter");
        let (counter,): (i64,) = counter.fetch_one(&mut *connection).await.unwrap();
        let changes = sqlx::query_as("SELECT id, value FROM changes");
        let changes = changes.fetch_all(&mut *connection).await.unwrap();
        Self { counter, changes }
    }

    /// Returns whether each change has read the result of the change before it.
    fn is_consistent(&self) -> bool {
        let read: BTreeSet<i64> = self.changes.iter().map(|it| it.1).collect();
        read.len() == self.changes.len() && read.into_iter().eq(0..self.counter)
    }
}

async fn no_change_is_lost<DB>(pool: &Pool<DB>, url: String, link: &Proxy, restart: impl AsyncFn())
where
    DB: LockDatabase,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'r> (i64,): FromRow<'r, DB::Row>,
    for<'r> (String, i64): FromRow<'r, DB::Row>,
    DB::Arguments: IntoArguments<DB>,
{
    create(pool).await;
    let mut writers = Writers::start(url, true);
    writers.commit().await;
    let (begin, mut faults) = (Instant::now(), [0; 4]);
    while begin.elapsed() < TIME || faults.contains(&0) {
        sleep(Duration::from_millis(fastrand::u64(20..300))).await;
        let fault = [0, 0, 0, 1, 1, 2, 2, 3][fastrand::usize(..8)];
        faults[fault] += 1;
        match fault {
            0 => writers.stop_one().await,
            1 => writers.kill_one(),
            2 => link.cut(),
            _ => restart().await,
        }
    }
    writers.commit().await;
    let committed = writers.end().await;
    let data = Data::read(pool).await;
    let [stops, kills, cuts, restarts] = faults;
    println!(
        "{} changes, {} confirmed; {stops} stops, {kills} kills, {cuts} cuts, {restarts} restarts",
        data.counter,
        committed.len()
    );
    assert!(data.is_consistent(), "{} {:?}", data.counter, data.changes);
    let ids: BTreeSet<&str> = data.changes.iter().map(|it| it.0.as_str()).collect();
    let lost = committed.iter().find(|it| !ids.contains(it.as_str()));
    assert_eq!(lost, None);
}

async fn without_the_check_a_change_is_lost<DB>(pool: &Pool<DB>, url: String)
where
    DB: LockDatabase,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'r> (i64,): FromRow<'r, DB::Row>,
    for<'r> (String, i64): FromRow<'r, DB::Row>,
    DB::Arguments: IntoArguments<DB>,
{
    create(pool).await;
    let mut writers = Writers::start(url, false);
    let mut stops = 0;
    while Data::read(pool).await.is_consistent() {
        assert!(stops < STOPS, "the control has not lost a change");
        writers.commit().await;
        writers.stop_one().await;
        stops += 1;
    }
    println!("the control has lost a change after {stops} stops");
    writers.end().await;
}

#[tokio::test]
async fn on_postgres_locked_transactions_lose_no_committed_change() {
    let server = PostgresServer::start().await.unwrap();
    let link = Proxy::start_bytes(server.port()).await.unwrap();
    let pool = Pool::<Postgres>::connect(&server.url()).await.unwrap();
    let restart = async || server.restart().await.unwrap();
    no_change_is_lost(&pool, server.url_at(link.port()), &link, restart).await;
}

#[tokio::test]
async fn on_mariadb_locked_transactions_lose_no_committed_change() {
    let server = MariaDbServer::start().await.unwrap();
    let link = Proxy::start_bytes(server.port()).await.unwrap();
    let pool = Pool::<MySql>::connect(&server.url()).await.unwrap();
    let restart = async || server.restart().await.unwrap();
    no_change_is_lost(&pool, server.url_at(link.port()), &link, restart).await;
}

#[tokio::test]
async fn on_postgres_control_without_the_lock_check_loses_a_change() {
    let server = PostgresServer::start().await.unwrap();
    let pool = Pool::<Postgres>::connect(&server.url()).await.unwrap();
    without_the_check_a_change_is_lost(&pool, server.url()).await;
}

#[tokio::test]
async fn on_mariadb_control_without_the_lock_check_loses_a_change() {
    let server = MariaDbServer::start().await.unwrap();
    let pool = Pool::<MySql>::connect(&server.url()).await.unwrap();
    without_the_check_a_change_is_lost(&pool, server.url()).await;
}
