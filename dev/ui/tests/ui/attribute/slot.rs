use leasehold::{Error, distributed_lock};

#[distributed_lock("k", once = "1d", slot = "0 3 * *")]
async fn four_fields() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", once = "1d", slot = "60 3 * * *")]
async fn minute_60() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", once = "1d", slot = "0 0 30 2 *")]
async fn never() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", once = "1d", slot = 3)]
async fn number() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", once = "1d", slot = expression)]
async fn text(expression: &str) -> Result<(), Error> {
    Ok(())
}

fn main() {}
