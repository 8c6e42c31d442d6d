//! The Lua scripts of Redlock.

use std::sync::{Arc, LazyLock};

use redis::Pipeline;

use crate::backend::redis::scripts::{self, Script};

macro_rules! script {
    ($name:ident, $file:literal) => {
        pub(super) static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(concat!(
                include_str!("scripts/line.lua"),
                include_str!($file)
            ))
        });
    };
}

script!(ACQUIRE, "scripts/acquire.lua");
script!(RAISE, "scripts/raise.lua");
script!(EXTEND, "scripts/extend.lua");
script!(LEAVE, "scripts/leave.lua");
script!(FORCE, "scripts/force.lua");
script!(INSPECT, "scripts/inspect.lua");

/// Returns what makes the scripts known to a node.
pub(super) fn load() -> Arc<Pipeline> {
    let all = [&ACQUIRE, &RAISE, &EXTEND, &LEAVE, &FORCE, &INSPECT];
    scripts::load(all.map(|it| &**it))
}
