//! Assigns processes to cores.

use std::fs;
use std::process::Command;
use std::thread;

use tokio::runtime::Builder;

use crate::BoxError;

/// Runs a server on its own core and this process on the other cores, as if they were two machines. Dropping this value
/// restores the previous cores.
#[derive(Debug)]
pub(crate) struct Apart {
    /// The processes, each with its previous cores.
    before: Vec<(u32, String)>,
    /// The number of cores of this process.
    cores: usize,
}

impl Apart {
    /// Returns `None` if the machine has only one core.
    pub(crate) fn begin(server: Option<u32>) -> Result<Option<Self>, BoxError> {
        let server = server.ok_or("the server has ended")?;
        let here = std::process::id();
        let cores = each(&cores_of(here)?)?;
        let Some((first, others @ [_, ..])) = cores.split_first() else {
            return Ok(None);
        };
        let others: Vec<_> = others.iter().map(u32::to_string).collect();
        let mut apart = Self {
            before: Vec::new(),
            cores: others.len(),
        };
        for (process, cores) in [(server, first.to_string()), (here, others.join(","))] {
            apart.before.push((process, cores_of(process)?));
            place(process, &cores)?;
        }
        Ok(Some(apart))
    }

    /// Runs `work` in its own runtime, with as many workers as this process has cores.
    pub(crate) fn run<T: Send>(
        &self,
        work: impl AsyncFnOnce() -> Result<T, BoxError> + Send,
    ) -> Result<T, BoxError> {
        let run = || {
            let mut builder = Builder::new_multi_thread();
            let runtime = builder.worker_threads(self.cores).enable_all().build()?;
            runtime.block_on(work())
        };
        let ran = thread::scope(|scope| scope.spawn(run).join());
        ran.unwrap_or_else(|_panicked| Err("the work panicked".into()))
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        for (process, cores) in &self.before {
            if let Err(error) = place(*process, cores) {
                eprintln!("process {process} stays where it is: {error}");
            }
        }
    }
}

/// Returns a list of cores such as `0-2,5`.
fn cores_of(process: u32) -> Result<String, BoxError> {
    let told = taskset(&["-cp", &process.to_string()])?;
    let list = told.rsplit(' ').next().unwrap_or_default();
    Ok(list.trim().to_owned())
}

fn each(list: &str) -> Result<Vec<u32>, BoxError> {
    let mut cores = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cores.extend(first.parse::<u32>()?..=last.parse()?);
    }
    Ok(cores)
}

/// Moves all threads of a process, and threads that they start later, to these cores.
fn place(process: u32, cores: &str) -> Result<(), BoxError> {
    // `taskset -a` is not used, because it stops if a thread ends in the meantime. The loop runs twice, because a
    // thread may start another one before it is moved.
    for _ in 0..2 {
        for thread in fs::read_dir(format!("/proc/{process}/task"))? {
            let thread = thread?;
            let number = thread.file_name();
            let placed = taskset(&["-cp", cores, &number.to_string_lossy()]);
            if thread.path().exists() {
                placed?;
            }
        }
    }
    Ok(())
}

fn taskset(arguments: &[&str]) -> Result<String, BoxError> {
    let ran = Command::new("taskset").args(arguments).output();
    let ran = ran.map_err(|e| format!("`taskset` is needed, of the package util-linux: {e}"))?;
    if ran.status.success() {
        Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&ran.stderr).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separated_process_returns_to_its_original_cores() {
        let mut other = Command::new("sleep").arg("60").spawn().expect("it starts");
        let cores = |process| cores_of(process).expect("it is told");
        let before = [other.id(), std::process::id()].map(cores);
        let apart = Apart::begin(Some(other.id())).expect("it is done");
        let during = [other.id(), std::process::id()].map(cores);
        assert_eq!(during != before, apart.is_some());
        assert_eq!(during[0] != during[1], apart.is_some());
        drop(apart);
        assert_eq!([other.id(), std::process::id()].map(cores), before);
        other.kill().expect("it ends");
        other.wait().expect("it has ended");
    }

    #[test]
    fn core_list_is_parsed() {
        assert_eq!(each("0-2,5").expect("it is one"), [0, 1, 2, 5]);
        assert_eq!(each("3").expect("it is one"), [3]);
        assert!(each("none").is_err());
    }
}
