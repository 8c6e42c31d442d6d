//! The Lua scripts of Redlock.

use std::sync::LazyLock;

use crate::backend::redis::scripts::{Script, ScriptSet};

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

/// The scripts of one of several nodes.
pub(super) static ALL: ScriptSet = &[&ACQUIRE, &RAISE, &EXTEND, &LEAVE, &FORCE, &INSPECT];
