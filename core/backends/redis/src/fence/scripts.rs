//! The Lua scripts of fences on Redis.

use std::sync::{Arc, LazyLock};

use redis::Pipeline;

use crate::scripts::{self, Script};

pub(super) static ADMIT: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("admit_token.lua"),
        "return admit_token(KEYS[1], ARGV[1])"
    ))
});

pub(super) static PIPELINE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("admit_token.lua"),
        include_str!("pipeline.lua")
    ))
});

/// Returns the commands that load the scripts into a server.
pub(super) fn load() -> Arc<Pipeline> {
    scripts::load([&*ADMIT, &*PIPELINE])
}
