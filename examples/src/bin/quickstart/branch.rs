use std::process::Stdio;

use leasehold::LockManager;
use tokio::process::{Child, Command};

use crate::BoxError;
use crate::buyers;
use crate::shop::Shop;

/// A process with half of the buyers.
#[derive(Debug)]
pub(crate) struct Branch {
    database: String,
    /// Where the lock is; none for a sale without one.
    url: Option<String>,
}

impl Branch {
    pub(crate) fn new(database: &str, url: Option<&str>) -> Self {
        Self {
            database: database.to_owned(),
            url: url.map(str::to_owned),
        }
    }

    /// Starts another process of this program in this role.
    pub(crate) fn start(&self) -> std::io::Result<Child> {
        Command::new(std::env::current_exe()?)
            .args(["branch", &self.database])
            .args(&self.url)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    }

    /// What the started process does: its buyers shop, and it says how often they asked.
    pub(crate) async fn run(self) -> Result<(), BoxError> {
        let shop = Shop::open(&self.database).await?;
        let locks = match &self.url {
            Some(url) => Some(LockManager::connect(url).await?),
            None => None,
        };
        let asked = buyers::shop(buyers::BUYERS / 2, &shop, locks.as_ref()).await?;
        if let Some(locks) = locks {
            locks.shutdown().await?;
        }
        println!("{asked}");
        Ok(())
    }

    /// How often the buyers of a branch asked; none if it was killed.
    pub(crate) async fn asked(child: Child) -> Result<u64, BoxError> {
        let output = child.wait_with_output().await?;
        let said = String::from_utf8_lossy(&output.stdout);
        match said.trim().parse() {
            Ok(asked) if output.status.success() => Ok(asked),
            _ if output.status.code().is_none() => Ok(0),
            _ => Err("a branch ended with an error; it is above".into()),
        }
    }
}
