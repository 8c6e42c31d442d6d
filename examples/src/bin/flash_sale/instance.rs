use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;

use leasehold::LockManager;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, stdin};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

use crate::error::BoxError;
use crate::service;
use crate::shelf;
use crate::shop::Shop;

/// The beginning of the first line of an instance process, before its address.
const LISTENS: &str = "listens at ";

/// Starts an instance in this process.
pub(crate) async fn start_here(shop: Shop) -> Result<SocketAddr, BoxError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(axum::serve(listener, service::router(Arc::new(shop))).into_future());
    Ok(address)
}

/// Starts this program again, as an instance.
pub(crate) async fn start_process(
    name: &str,
    url: &str,
    database: &str,
) -> Result<(Child, SocketAddr), BoxError> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--instance", name, "--url", url, "--database", database])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let said = child.stdout.take().map(BufReader::new);
    let mut said = said
        .ok_or("the output of an instance cannot be read")?
        .lines();
    while let Some(line) = said.next_line().await? {
        if let Some(address) = line.strip_prefix(LISTENS) {
            return Ok((child, address.parse()?));
        }
    }
    Err("an instance did not start; see its error above".into())
}

/// Runs this process as an instance. It ends when the process that started it ends.
pub(crate) async fn run(name: &str, url: &str, database: &str) -> Result<(), BoxError> {
    let tables = shelf::open(database).await?;
    let locks = LockManager::connect(url).await?;
    let address = start_here(Shop::new(name, locks, tables)?).await?;
    println!("{LISTENS}{address}");
    // The input ends when the other process ends, for any reason.
    stdin().read_to_end(&mut Vec::new()).await?;
    Ok(())
}
