//! Examines the ensemble.

use std::time::Duration;

use super::error::failed;
use super::session::Session;
use leasehold_core::backend::Finding;

const LIVENESS: &str = "liveness";

/// The node in which the servers list the members of the ensemble.
const CONFIG: &str = "/zookeeper/config";

/// With a shorter session, a pause of the network or of the process ends all locks.
const SHORT_SESSION: Duration = Duration::from_secs(2);

/// Examines the session and the list of members.
pub(super) async fn examine(session: &Session) -> Vec<Finding> {
    vec![session_timeout(session.timeout()), members(session).await]
}

fn session_timeout(timeout: Duration) -> Finding {
    let found = format!("the servers grant {timeout:?}");
    Finding::good("session timeout", LIVENESS, found).warning_if(
        timeout < SHORT_SESSION,
        "raise maxSessionTimeout of the servers: a pause that is longer ends all locks of a process",
    )
}

async fn members(session: &Session) -> Finding {
    let remedy = "let the user read /zookeeper/config";
    match session.data(CONFIG).await {
        Ok(data) => {
            let data = data.map(|(data, ..)| data).unwrap_or_default();
            let text = String::from_utf8_lossy(&data);
            of_members(text.lines().filter(|it| it.starts_with("server.")).count())
        }
        Err(error) => Finding::warning("ensemble", LIVENESS, failed(&error).to_string(), remedy),
    }
}

fn of_members(count: usize) -> Finding {
    let found = format!("{} servers", count.max(1));
    match count {
        0 | 1 => Finding::warning(
            "ensemble",
            LIVENESS,
            "one server, whose failure stops all locks",
            "use an ensemble of three or five servers",
        ),
        even if even % 2 == 0 => Finding::warning(
            "ensemble",
            LIVENESS,
            found,
            "use an odd number: one server less tolerates as many failures",
        ),
        _ => Finding::good("ensemble", LIVENESS, found),
    }
}
