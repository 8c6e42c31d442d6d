//! The protocol of Redis, by hand: what foreign clients and proxies need of it.
//!
//! [`Frames`] cuts a stream into whole messages, [`Value`] is such a message
//! read, [`Command`] one on its way to the server, and [`RawClient`] a client
//! which shares no code with the one under test.

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
