/// Why a soak could not go on.
pub type SoakError = Box<dyn std::error::Error + Send + Sync>;
