use leasehold::{Error, distributed_lock};

struct Report;

#[distributed_lock("k", once = "1h")]
async fn not_serde() -> Result<Report, Error> {
    Ok(Report)
}

struct Mute;

impl From<Error> for Mute {
    fn from(_: Error) -> Self {
        Self
    }
}

#[distributed_lock("k", once = "1h")]
async fn not_display() -> Result<(), Mute> {
    Ok(())
}

#[distributed_lock("k", once = "1h")]
async fn no_result() -> u32 {
    1
}

fn main() {}
