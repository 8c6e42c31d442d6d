//! A simple implementation of Redis's protocol, for foreign clients and proxies.
//!
//! [`Frames`] splits a stream into complete messages. [`Value`] is a parsed message, and [`Command`] is a message to
//! the server. [`RawClient`] is a client that shares no code with the tested one.

mod client;
mod command;
mod error;
mod frames;
mod value;

pub use client::{RawClient, Stream};
pub use command::Command;
pub use error::RespError;
pub use frames::{Frames, NotResp};
pub use value::Value;
