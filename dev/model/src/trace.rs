//! A path through a world as text.

use std::fmt;

/// A path through a world: its steps, and the states after them.
///
/// `Display` writes one step per line.
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
    /// Describes a path, whose states each have the step that leaves them.
    pub(crate) fn of<S, A: Copy>(way: &[(S, Option<A>)], tell: impl Fn(&S, A, &S) -> Step) -> Self {
        let steps = way.windows(2).filter_map(|pair| match pair {
            [(before, Some(action)), (after, _)] => Some(tell(before, *action, after)),
            _ => None,
        });
        Self {
            steps: steps.collect(),
        }
    }

    /// Returns the number of steps.
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
