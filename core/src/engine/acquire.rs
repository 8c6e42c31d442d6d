use std::sync::Arc;

use tracing::Instrument;

use super::armed::Armed;
use super::search::Search;
use super::{Engine, Hold, Patience, Wanted};
use crate::AcquireError;
use crate::backend::AttemptAnswer;
use crate::clock::{Look, Moment};
use crate::observe::Acquisition;
use crate::options::LockOptions;
use crate::runtime::Runtime;

impl Engine {
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        wanted: &Wanted,
        options: &LockOptions,
        patience: Patience,
    ) -> Result<Hold, AcquireError> {
        let started = Look::now();
        let acquisition = Acquisition::start(&wanted.key, options, started.moment);
        let span = acquisition.span();
        let begun = span.in_scope(|| self.begin(wanted, options, patience, started));
        let mut search = match begun {
            Begun::Search(search) => search,
            Begun::Over(result) => return finished(acquisition, result),
        };
        finished(acquisition, search.run(wanted).instrument(span).await)
    }

    /// The first step, and the only one where a backend grants at once: what may have to wait is not even made.
    fn begin<'a>(
        self: &'a Arc<Self>,
        wanted: &Wanted,
        options: &'a LockOptions,
        patience: Patience,
        started: Look,
    ) -> Begun<'a> {
        let Some(runtime) = Runtime::current() else {
            return Begun::Over(Err(AcquireError::NoRuntime));
        };
        self.backlog.adopt_orphans();
        let attempt = wanted.attempt(self, options, patience);
        let mut armed = Armed::new(self, attempt, runtime);
        if self.is_closed() {
            return Begun::Over(Err(armed.closed()));
        }
        let (sent, answer) = (started.moment, armed.ask_now(started));
        if let Some(Ok(AttemptAnswer::Granted { token, lease })) = answer
            && let Some(hold) = armed.enter(token, lease, sent, Moment::now(), options)
        {
            return Begun::Over(hold);
        }
        let search = Search::new(armed, answer, options, patience, started);
        Begun::Search(Box::new(search))
    }
}

fn finished(
    acquisition: Acquisition,
    result: Result<Hold, AcquireError>,
) -> Result<Hold, AcquireError> {
    acquisition.finish(result.as_ref().map(|hold| &hold.lease.claim));
    result
}

/// How an acquire goes on after its first step.
enum Begun<'a> {
    Over(Result<Hold, AcquireError>),
    /// On the heap, as futures are moved about.
    Search(Box<Search<'a>>),
}
