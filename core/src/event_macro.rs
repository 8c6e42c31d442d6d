//! Emits a `tracing` event, and repeats its name in a field.

macro_rules! event {
    ($level:ident, $name:literal, { $($fields:tt)* }, $message:literal) => {
        ::tracing::$level!(name: $name, { event = $name, $($fields)* }, $message)
    };
}

pub(crate) use event;
