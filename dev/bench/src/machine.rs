use leasehold_testkit::servers::RedisServer;

use crate::BoxError;

/// What the figures were taken on.
pub(crate) async fn describe(server: &RedisServer) -> Result<String, BoxError> {
    let cores = std::thread::available_parallelism()?;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    let version = info(server, "redis_version").await?;
    Ok(format!(
        "{cores} cores, load {load} before the run, Redis {version}"
    ))
}

/// A field of the server's `INFO all`.
pub(crate) async fn info(server: &RedisServer, field: &str) -> Result<String, BoxError> {
    let client = redis::Client::open(server.url())?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    let mut info = redis::cmd("INFO");
    let info: String = info.arg("all").query_async(&mut connection).await?;
    let mut lines = info.lines();
    let value = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    Ok(value.unwrap_or_default().to_owned())
}
