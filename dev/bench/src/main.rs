//! The benchmark: see the crate's documentation, and `--help`.

use leasehold_bench::BoxError;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    leasehold_bench::follow(lexopt::Parser::from_env()).await
}
