use leasehold::{Error, distributed_lock};

#[distributed_lock("order:{id")]
async fn unclosed(id: u64) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("order:id}")]
async fn unopened(id: u64) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("order:{}:{:05}")]
async fn empty(id: u64) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("order:{id +}:{0}")]
async fn unparsable(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
