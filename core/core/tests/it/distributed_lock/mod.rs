//! Functions with `#[distributed_lock]`.

mod drops;
mod kinds;
mod nested;
mod once;
mod outcomes;
mod size;
