//! A way through a world, in words.

use std::fmt;

/// A way through a world: what happens, and what is so then.
///
/// `Display` tells it, one step a line.
#[derive(Debug, Clone)]
pub struct Trace {
    steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) what: String,
    pub(crate) then: String,
}

impl Trace {
    /// Tells a way, whose states each have the step that leaves them.
    pub(crate) fn of<S, A: Copy>(way: &[(S, Option<A>)], tell: impl Fn(&S, A, &S) -> Step) -> Self {
        let steps = way.windows(2).filter_map(|pair| match pair {
            [(before, Some(action)), (after, _)] => Some(tell(before, *action, after)),
            _ => None,
        });
        Self {
            steps: steps.collect(),
        }
    }

    /// How many steps it has.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Step { what, then }) in self.steps.iter().enumerate() {
            writeln!(f, "{:>3}. {what:<58} | {then}", number + 1)?;
        }
        Ok(())
    }
}
