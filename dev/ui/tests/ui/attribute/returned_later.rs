use std::future::Future;
use std::pin::Pin;

use leasehold::{Error, distributed_lock};

trait Stream {}

impl Stream for () {}

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

#[distributed_lock("k")]
fn a_stream() -> impl Stream {}

#[distributed_lock("k")]
async fn a_stream_in_a_result() -> Result<impl Stream, Error> {
    Ok(())
}

#[distributed_lock("k")]
fn a_future() -> impl Future<Output = Result<(), Error>> {
    async { Ok(()) }
}

#[distributed_lock("k")]
fn a_boxed_future() -> Pin<Box<dyn Future<Output = Result<(), Error>>>> {
    Box::pin(async { Ok(()) })
}

#[distributed_lock("k")]
fn an_alias() -> BoxFuture<'static, Result<(), Error>> {
    Box::pin(async { Ok(()) })
}

fn main() {}
