//! Charts, timelines and their texts.

mod charts;
mod lines;
