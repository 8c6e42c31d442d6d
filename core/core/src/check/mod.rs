//! Checks a backend before production: see [`LockManager::check`](crate::LockManager::check).

mod report;
mod try_operations;

pub use report::CheckReport;

use crate::LockManager;
pub use crate::backend::{Finding, Verdict};
use crate::engine::bounded;

/// The settings of a server are several commands.
const COMMANDS: u32 = 5;

impl LockManager {
    /// Tries each operation under a key of its own, reads the settings of the servers, and reports what weakens a
    /// guarantee (`leasehold::guarantees`). Run it before production, and after a change of the servers.
    ///
    /// The check needs no more permissions than locks. A setting that the user may not read is a warning. The check
    /// changes no setting. Its locks have keys that begin with `leasehold-check:` after the prefix of the manager, and
    /// are released at its end.
    ///
    /// A backend that does not reply is a finding, not an error.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the locks of the check until they expire, after 10 s at most.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::LockManager;
    /// use leasehold::check::Verdict;
    ///
    /// let locks = LockManager::in_process();
    /// let report = locks.check().await;
    /// println!("{report}");
    /// assert!(report.verdict() < Verdict::Failure);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn check(&self) -> CheckReport {
        let engine = self.engine();
        // First, because this request may take the longer time that a connect of a lazy manager needs.
        let examined = bounded(engine.limits.command * COMMANDS, engine.backend().examine()).await;
        let mut findings = try_operations::examine(self).await;
        findings.extend(examined.unwrap_or_else(|error| {
            let remedy = "check that the server replies within the command timeout";
            vec![Finding::failure(
                "settings",
                "liveness",
                error.to_string(),
                remedy,
            )]
        }));
        CheckReport { findings }
    }
}
