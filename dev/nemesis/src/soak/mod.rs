//! Many acquisitions of every kind during faults, some of them cancelled. Checks which resources grow, and which are
//! left.
//!
//! Two managers share one server. The second one uses a network that fails. After a tenth of the load and at its end,
//! the run waits until all tasks are idle, and counts the resources. Growth between the two counts is a leak.
//!
//! | module | holds |
//! |---|---|
//! | `plan` | the amount of work, the duration, and the faults |
//! | `environment` | the server, the network, the managers |
//! | `load` | the tasks, and the steps of each acquisition |
//! | `cancel` | dropping a future between two polls |
//! | `holders` | the known holders: finds overlaps, and tokens that do not grow |
//! | `faults` | the faults |
//! | `resources` | counts memory, connections and keys |
//! | `verdict` | the allowed growth of each resource |

mod cancel;
mod environment;
mod faults;
mod holders;
mod load;
mod plan;
mod resources;
mod run;
mod tally;
mod verdict;

pub use plan::{Extent, Plan};
pub use resources::{Keys, Resources};
pub use run::{Report, run};
pub use tally::Counts;
pub use verdict::judge;
