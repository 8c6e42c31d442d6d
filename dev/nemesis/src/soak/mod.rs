//! Many acquisitions of every kind, some of them cancelled, beside faults: what grows, and what is left.
//!
//! Two managers share one server, the second of them over a network that fails. After a tenth of the load, and at its
//! end, everything is let come to rest and counted; what has grown between the two is a leak.
//!
//! | module | holds |
//! |---|---|
//! | `plan` | how much, how long, how many faults |
//! | `environment` | the server, the network, the managers |
//! | `load` | the tasks and what each acquisition does |
//! | `cancel` | dropping a future between two polls |
//! | `holders` | who holds what, as far as this process knows: overlaps, tokens that do not grow |
//! | `faults` | the faults |
//! | `resources` | what there is of memory, connections and keys |
//! | `verdict` | what may grow, and by how much |

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
