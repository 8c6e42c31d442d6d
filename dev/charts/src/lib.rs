//! Charts and timelines as SVG. Each is one file without external fonts, scripts or images, and follows the reader's
//! light or dark theme.
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
//! | `bars` | [`BarChart`]: bars for figures |
//! | `lines` | [`LineChart`]: lines for figures at several steps |
//! | `timeline` | [`Timeline`]: a lane for each participant |
//! | `page` | the background and frame: title, colours, fonts |
//! | `figure` | the format of a number |

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
