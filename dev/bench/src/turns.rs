use crate::BoxError;
use crate::contestant::{Entrant, Visitor};
use crate::progress;
use crate::report::Outcome;
use crate::rounds::{Rounds, Values};

/// Lets all run one slice after the other, as many rounds as told.
pub(crate) async fn take_turns<S>(
    workload: &str,
    metrics: &'static [&'static str],
    entrants: &[Entrant],
    count: usize,
    slice: &S,
) -> Result<Outcome, BoxError>
where
    S: Visitor<Output = Result<Values, BoxError>>,
{
    let names: Vec<_> = entrants.iter().map(Entrant::name).collect();
    let mut rounds = Rounds::new(metrics, &names);
    for round in 0..count {
        progress::show(workload, round, count);
        for turn in 0..entrants.len() {
            // Nobody is always the one who runs first.
            let at = (turn + round) % entrants.len();
            rounds.slice_begins();
            let values = entrants[at].receive(slice).await?;
            rounds.slice_ends(at, values);
        }
    }
    progress::show(workload, count, count);
    Ok(Outcome {
        rows: rounds.rows(),
        void: rounds.void(),
    })
}
