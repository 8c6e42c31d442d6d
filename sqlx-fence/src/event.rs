//! Emits events with the name as a field, too, because writers of text or JSON omit the name.

macro_rules! event {
    ($level:ident, $name:literal, { $($fields:tt)* }, $message:literal) => {
        ::tracing::$level!(name: $name, { event = $name, $($fields)* }, $message)
    };
}

pub(crate) use event;
