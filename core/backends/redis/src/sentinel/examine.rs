//! Examines whether the Sentinels can elect a new primary.

use futures_util::future::join_all;
use redis::{AsyncConnectionConfig, cmd};

use super::Sentinels;
use super::primary::{SentinelReply, bounded, connect, read, read_error};
use crate::connection::transport::Target;
use leasehold_core::backend::Finding;
use leasehold_core::backend::support::WithCauses;

const LIVENESS: &str = "liveness";

/// With fewer Sentinels, the failure of one of them prevents a failover.
const LEAST_SENTINELS: usize = 3;

impl Sentinels {
    /// Asks each Sentinel of the URL whether it can elect a new primary together with the Sentinels that it knows.
    pub(crate) async fn examine(&self) -> Finding {
        let ask = |target| usable(target, &self.name);
        let asked = join_all(self.targets.iter().map(ask)).await;
        let all = asked.len();
        let (mut able, mut refused) = (Vec::new(), Vec::new());
        for it in asked {
            match it {
                Ok(usable) => able.push(usable),
                Err(reason) => refused.push(reason),
            }
        }
        let least = able.iter().min();
        let found = match least {
            Some(least) => format!(
                "{} of {all} can elect a new primary, and know {least} Sentinels",
                able.len()
            ),
            None => "none of them can elect a new primary".to_owned(),
        };
        let found = match refused.is_empty() {
            true => found,
            false => format!("{found}: {}", refused.join("; ")),
        };
        let remedy = "start the missing Sentinels, and run at least three, on different machines: without a majority, \
                      nothing replaces a primary that fails";
        let no_permission = refused.iter().all(|it| it.contains("NOPERM"));
        match least {
            _ if no_permission && !refused.is_empty() => Finding::warning(
                "sentinels",
                LIVENESS,
                found,
                "check with a user that has the permission +sentinel|ckquorum; the locks do not need it",
            ),
            None => Finding::failure("sentinels", LIVENESS, found, remedy),
            Some(&least) => Finding::good("sentinels", LIVENESS, found)
                .warning_if(able.len() < all || least < LEAST_SENTINELS, remedy),
        }
    }
}

/// Returns the number of Sentinels that this Sentinel knows and can use.
async fn usable(target: &Target, name: &str) -> Result<usize, String> {
    let reply = quorum(target, name).await.map_err(|reply| match reply {
        SentinelReply::Stranger(error) => error.to_string(),
        SentinelReply::Failed(error) => WithCauses(&error).to_string(),
    })?;
    // The reply is `OK 3 usable Sentinels. Quorum and failover authorization can be reached`.
    let mut words = reply.split_whitespace();
    let number = words.find_map(|word| word.parse().ok());
    number.ok_or_else(|| format!("unexpected reply of a Sentinel: {}", reply.escape_debug()))
}

async fn quorum(target: &Target, name: &str) -> Result<String, SentinelReply> {
    let mut opened = connect(target, AsyncConnectionConfig::new()).await?;
    let mut command = cmd("SENTINEL");
    command.arg("CKQUORUM").arg(name);
    let reply = bounded(target, opened.connection.send_packed_command(&command)).await?;
    read(reply.map_err(read_error)?)
}
