use std::sync::LazyLock;

use crate::backend::redis::script::{Library, Script};

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
pub(super) static ALL: Library = &[&ACQUIRE, &RAISE, &EXTEND, &LEAVE, &FORCE, &INSPECT];
