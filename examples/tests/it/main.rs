//! The examples, run as programs, and in tests.

mod chaos;
mod flash_sale;
mod page;
mod scenes;
