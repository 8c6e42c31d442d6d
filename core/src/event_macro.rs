//! Emits a `tracing` event that has its name as a field too.

macro_rules! event {
    ($level:ident, $name:literal, { $($fields:tt)* }, $message:literal) => {
        ::tracing::$level!(name: $name, { event = $name, $($fields)* }, $message)
    };
}

pub(crate) use event;
