//! Every form of an annotated function compiles without a warning, and runs.

mod async_trait;
mod errors;
mod fenced_pool;
mod frameworks;
mod functions;
mod instrument;
mod keys;
mod kinds;
mod lints;
mod options;
