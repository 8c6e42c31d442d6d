//! Figures and timelines as SVG: one file each, without fonts, scripts or images of others, that a browser shows in
//! light or dark as its reader has it.
//!
//! ```
//! use leasehold_charts::{Bar, BarChart, Tone};
//!
//! let chart = BarChart::new("Items bought", "in 10 s; more is better")
//!     .group("1 seller, 1 buyer", [
//!         Bar::new("WATCH", 5_716.0).tone(Tone::Quiet),
//!         Bar::new("one lock per item", 12_626.0),
//!     ])
//!     .group("5 sellers, 5 buyers", [
//!         Bar::new("WATCH", 571.0).tone(Tone::Quiet),
//!         Bar::new("one lock per item", 12_508.0),
//!     ]);
//! let svg = chart.svg()?;
//! assert!(svg.starts_with("<svg") && svg.contains("12\u{202f}508"));
//! # Ok::<(), leasehold_charts::NotANumber>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `bars` | [`BarChart`]: figures beside each other |
//! | `lines` | [`LineChart`]: figures that change with another |
//! | `timeline` | [`Timeline`]: who did what when |
//! | `page` | the card they are drawn on: title, colours, fonts |
//! | `figure` | how a number is written |

mod bars;
mod figure;
mod lines;
mod page;
mod timeline;
mod tone;

pub use self::bars::{Bar, BarChart, NotANumber};
pub use self::figure::figure;
pub use self::lines::LineChart;
pub use self::timeline::{Timeline, Verdict};
pub use self::tone::Tone;
