//! Code that must compile, and the compile errors of code that must not.

mod compiles;
mod ui;
