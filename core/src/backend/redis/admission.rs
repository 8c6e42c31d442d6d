//! Which servers may be asked: not one that has forgotten what it had granted.

use std::time::Duration;

use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;

use super::answer;
use super::failure::failure;
use crate::backend::BackendError;
use crate::clock::Moment;

/// Keeps away from a server that was restarted a short while ago: it may have forgotten locks that are still held,
/// and tokens that were drawn.
///
/// A server is known by its run id, so that each connection that is made anew shows whether it is still the same.
/// How long it has been up is asked once per run and counted on by this process' own clock: a server counts by the
/// time of day, which can jump.
#[derive(Debug)]
pub(super) struct Admission {
    away: Duration,
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    server: Server,
    admitted_from: Moment,
    /// It was too young when it was met last.
    is_out: bool,
}

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) run_id: String,
    pub(super) version: String,
}

impl Admission {
    /// Admits servers that have been up for longer than `away`.
    pub(super) fn after(away: Duration) -> Self {
        Self {
            away,
            known: Mutex::default(),
        }
    }

    /// Asks the server behind a new connection how old it is, and fails if that is not enough.
    pub(super) async fn ask(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<(), BackendError> {
        let mut info = redis::cmd("INFO");
        info.arg("server");
        let text: String = info.query_async(connection).await.map_err(failure)?;
        let field = |name| answer::info_field(&text, name);
        let uptime = field("uptime_in_seconds").and_then(|it| it.parse().ok());
        let (Some(run_id), Some(uptime)) = (field("run_id"), uptime) else {
            return Err(BackendError::not_applied(
                "the server does not say how long it has been up (INFO server)",
            ));
        };
        let server = Server {
            run_id: run_id.to_owned(),
            version: field("redis_version").unwrap_or_default().to_owned(),
        };
        self.judge(server, Duration::from_secs(uptime))
    }

    /// The server that was met last, if it was too young then.
    pub(super) fn too_young(&self) -> Option<Server> {
        let known = self.known.lock();
        let out = known.as_ref().filter(|known| known.is_out);
        out.map(|known| known.server.clone())
    }

    fn judge(&self, server: Server, uptime: Duration) -> Result<(), BackendError> {
        let mut known = self.known.lock();
        let admitted_from = match &*known {
            Some(known) if known.server.run_id == server.run_id => known.admitted_from,
            _ => Moment::now().after(self.away.saturating_sub(uptime)),
        };
        let left = admitted_from.remaining();
        *known = Some(Known {
            server,
            admitted_from,
            is_out: !left.is_zero(),
        });
        if left.is_zero() {
            return Ok(());
        }
        Err(BackendError::not_applied(format!(
            "it was restarted and may have forgotten locks that are still held; it votes again in {left:.1?}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const AWAY: Duration = Duration::from_secs(60);

    fn server(run_id: &str) -> Server {
        Server {
            run_id: run_id.to_owned(),
            version: String::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_is_admitted_when_it_has_been_up_long_enough() {
        let admission = Admission::after(AWAY);
        assert!(admission.judge(server("old"), AWAY).is_ok());
        assert!(Admission::after(AWAY).judge(server("a"), AWAY * 3).is_ok());
        // Restarted: by its own account it has been up for ten seconds.
        let refused = admission.judge(server("new"), Duration::from_secs(10));
        let refused = refused.unwrap_err();
        assert!(
            refused.is_temporary() && refused.to_string().contains("in 50.0s"),
            "{refused}"
        );
        assert_eq!(admission.too_young(), Some(server("new")));
        advance(Duration::from_secs(49)).await;
        assert!(
            admission
                .judge(server("new"), Duration::from_secs(59))
                .is_err()
        );
        advance(Duration::from_secs(1)).await;
        // As it was when it was met.
        assert_eq!(admission.too_young(), Some(server("new")));
        assert!(
            admission
                .judge(server("new"), Duration::from_secs(60))
                .is_ok()
        );
        assert_eq!(admission.too_young(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_jump_of_the_servers_clock_admits_nobody() {
        let admission = Admission::after(AWAY);
        assert!(admission.judge(server("new"), Duration::ZERO).is_err());
        assert!(admission.judge(server("new"), AWAY * 100).is_err());
    }
}
