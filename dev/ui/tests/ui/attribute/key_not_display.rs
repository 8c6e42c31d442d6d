use leasehold::{Error, distributed_lock};

struct Order {
    lines: Vec<u64>,
}

#[distributed_lock("order:{order}")]
async fn a_name(order: Order) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("order:{order.lines}")]
async fn an_expression(order: Order) -> Result<(), Error> {
    Ok(())
}

fn main() {}
