use std::path::Path;
use std::time::Duration;

use leasehold_testkit::processes::ProcessGroup;

use super::counted;
use super::orders::{Order, Reply};
use crate::BoxError;
use crate::contention::{Rush, Tally};
use crate::contestant::{Field, Way};

/// The timeout for a process.
const PATIENCE: Duration = Duration::from_secs(30);

/// Processes of one contestant.
#[derive(Debug)]
pub(crate) struct Workers {
    group: ProcessGroup,
}

impl Workers {
    pub(crate) async fn start(way: Way, field: &Field, count: u32) -> Result<Self, BoxError> {
        Self::of(&std::env::current_exe()?, way, field, count).await
    }

    /// Starts processes that count their heap and their direct hand-offs, which makes them slower.
    pub(crate) async fn start_counted(
        way: Way,
        field: &Field,
        count: u32,
    ) -> Result<Self, BoxError> {
        Self::of(&counted::program()?, way, field, count).await
    }

    async fn of(program: &Path, way: Way, field: &Field, count: u32) -> Result<Self, BoxError> {
        let mut group = ProcessGroup::of(program)?;
        for _ in 0..count {
            let words = ["--work", way.name(), &field.redis, &field.zookeeper];
            group.start(|process, _notes| process.args(words))?;
        }
        let mut workers = Self { group };
        workers.answers().await?;
        Ok(workers)
    }

    /// Runs a slice in which all processes acquire one key. Returns its turns and the CPU time.
    pub(crate) async fn rush(&mut self, rush: &Rush) -> Result<(Tally, Duration), BoxError> {
        let count = self.group.processes.len() as u32;
        for (at, process) in self.group.processes.iter_mut().enumerate() {
            let at = at as u32;
            let part = Rush {
                // The remaining tasks run in the first processes.
                tasks: rush.tasks / count + u32::from(at < rush.tasks % count),
                first: at * rush.tasks,
                ..rush.clone()
            };
            process.tell(&serde_json::to_string(&Order::Rush(part))?)?;
        }
        let (mut tally, mut all) = (Tally::default(), Duration::ZERO);
        for answer in self.answers().await? {
            if let Reply::Rushed { turns, cpu } = answer {
                tally.add(turns);
                all += cpu;
            }
        }
        Ok((tally, all))
    }

    /// Makes each process acquire its own key once.
    pub(crate) async fn warm(&mut self) -> Result<(), BoxError> {
        for process in &mut self.group.processes {
            let key = format!("warm:{}", process.pid());
            process.tell(&serde_json::to_string(&Order::Warm { key })?)?;
        }
        self.answers().await.map(drop)
    }

    /// Makes `tasks` tasks of each process wait for one key.
    pub(crate) async fn wait(&mut self, key: &str, tasks: u32) -> Result<(), BoxError> {
        let key = key.to_owned();
        self.tell_all(&Order::Wait { key, tasks })?;
        self.answers().await.map(drop)
    }

    /// Returns the number of direct hand-offs in all processes that count them.
    pub(crate) async fn passes(&mut self) -> Result<u64, BoxError> {
        Ok(self.accounts().await?.map(|(_, passes)| passes).sum())
    }

    /// Returns the allocated memory of all processes that count it, in KiB.
    pub(crate) async fn heap_kib(&mut self) -> Result<f64, BoxError> {
        let bytes: u64 = self.accounts().await?.map(|(heap, _)| heap).sum();
        Ok(bytes as f64 / 1024.0)
    }

    async fn accounts(&mut self) -> Result<impl Iterator<Item = (u64, u64)>, BoxError> {
        self.tell_all(&Order::Account)?;
        let answers = self.answers().await?.into_iter();
        Ok(answers.filter_map(|answer| match answer {
            Reply::Account { heap, passes } => Some((heap, passes)),
            _ => None,
        }))
    }

    /// Returns the private anonymous memory of all processes, in KiB.
    pub(crate) fn kib(&self) -> Result<f64, BoxError> {
        let mut sum = 0.0;
        for process in &self.group.processes {
            let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid()))?;
            let own = status.lines().find_map(|it| it.strip_prefix("RssAnon:"));
            let own = own.and_then(|it| it.trim().strip_suffix(" kB"));
            sum += own
                .ok_or("the system does not say how much memory is used")?
                .parse::<f64>()?;
        }
        Ok(sum)
    }

    fn tell_all(&mut self, order: &Order) -> Result<(), BoxError> {
        Ok(self.group.tell(&serde_json::to_string(order)?)?)
    }

    async fn answers(&mut self) -> Result<Vec<Reply>, BoxError> {
        let lines = self.group.lines(PATIENCE, |_| true).await?;
        let answers = lines.iter().map(|line| Ok(serde_json::from_str(line)?));
        answers.collect()
    }
}
