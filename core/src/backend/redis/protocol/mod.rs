//! Requests to the scripts as they are encoded, and their replies.

pub(crate) mod acquire_command;
pub(crate) mod encode;
pub(crate) mod release_command;
pub(crate) mod reply;
pub(crate) mod unanswered_requests;
