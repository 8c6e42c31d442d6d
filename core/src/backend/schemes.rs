//! The URL schemes of backends in other crates.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::RwLock;

use super::{Backend, Capabilities, ConnectError};

type Connected = Result<Arc<dyn Backend>, ConnectError>;

/// Connects to the backend at a URL.
pub(crate) type Connector = Arc<dyn Fn(String) -> BoxFuture<'static, Connected> + Send + Sync>;

static CONNECTORS: RwLock<BTreeMap<String, (Capabilities, Connector)>> =
    RwLock::new(BTreeMap::new());

/// Registers a backend for the URLs of a scheme, such as `sqlite` for `sqlite:locks.db`.
///
/// **Unstable**, like [`Backend`]. [`LockManager::connect`](crate::LockManager::connect), and `connect` of the builder
/// and of the blocking API, then call `connect` with the whole URL. An error must not contain the URL, because the URL
/// may contain a password. `capabilities` are those of the backend, which a manager needs before it
/// [connects](crate::LockManagerBuilder::connect_lazily).
///
/// Call this function before the first `connect`. A second call for the same scheme replaces the first one. For a scheme
/// of an enabled backend of this crate, such as `redis`, the function has no effect.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::LockManager;
/// use leasehold::backend::{Backend, InProcess, register_scheme};
///
/// let capabilities = InProcess::new().capabilities();
/// register_scheme("memory", capabilities, |_url| async { Ok(InProcess::new()) });
/// let locks = LockManager::connect("memory:").await?;
/// # locks.lock("order:42").acquire().await?;
/// # Ok(())
/// # }
/// ```
pub fn register_scheme<B, F>(
    scheme: &str,
    capabilities: Capabilities,
    connect: impl Fn(String) -> F + Send + Sync + 'static,
) where
    B: Backend,
    F: Future<Output = Result<B, ConnectError>> + Send + 'static,
{
    let connector: Connector = Arc::new(move |url| {
        let connected = connect(url);
        async move { Ok(Arc::new(connected.await?) as Arc<dyn Backend>) }.boxed()
    });
    let mut connectors = CONNECTORS.write();
    connectors.insert(scheme.to_owned(), (capabilities, connector));
}

/// Returns the registered connector of a scheme, and the capabilities of its backend.
pub(crate) fn connector(scheme: &str) -> Option<(Capabilities, Connector)> {
    CONNECTORS.read().get(scheme).cloned()
}
