//! Many acquisitions of every kind, some of them cancelled, beside faults: what grows, and what is left.
//!
//! Two managers share one server, the second of them over a network that fails. After a tenth of the load, and at its
//! end, everything is let come to rest and counted; what has grown between the two is a leak.
//!
//! | room | holds |
//! |---|---|
//! | `plan` | how much, how long, how many faults |
//! | `stage` | the server, the network, the managers |
//! | `load` | the tasks and what each acquisition does |
//! | `cancel` | dropping a future between two polls |
//! | `book` | who holds what, as far as this process knows: overlaps, tokens that do not grow |
//! | `nemesis` | the faults |
//! | `census` | what there is of memory, connections and keys |
//! | `verdict` | what may grow, and by how much |

mod book;
mod cancel;
mod census;
mod load;
mod nemesis;
mod plan;
mod run;
mod stage;
mod tally;
mod verdict;

pub use census::{Census, Keys};
pub use plan::{Extent, Plan};
pub use run::{Report, run};
pub use tally::Counts;
pub use verdict::judge;
