//! Emits a `tracing` event, and repeats its name in a field.

/// Emits a `tracing` event with a name, and repeats the name in the field `event`, because subscribers that write text or
/// JSON omit the names of events.
#[doc(hidden)]
#[macro_export]
macro_rules! __event {
    ($level:ident, $name:literal, { $($fields:tt)* }, $message:literal) => {
        ::tracing::$level!(name: $name, { event = $name, $($fields)* }, $message)
    };
}
