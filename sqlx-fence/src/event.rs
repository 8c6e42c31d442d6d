//! An event whose name is a field, too: what writes events as text or JSON leaves the name out.

macro_rules! event {
    ($level:ident, $name:literal, { $($fields:tt)* }, $message:literal) => {
        ::tracing::$level!(name: $name, { event = $name, $($fields)* }, $message)
    };
}

pub(crate) use event;
