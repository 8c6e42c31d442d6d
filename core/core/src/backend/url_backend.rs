//! The backends that `connect` finds by the scheme of a URL.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use linkme::distributed_slice;

use super::{Backend, Capabilities};
use crate::Error;

/// The backends of this build. Each crate of a backend adds its own when it is linked: the features of `leasehold` link
/// them.
///
/// **Unstable**, like [`Backend`].
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::{ConnectError, LockManager};
/// use leasehold::backend::{Backend, Connector, InProcess, URL_BACKENDS, UrlBackend};
///
/// #[linkme::distributed_slice(URL_BACKENDS)]
/// static MEMORY: UrlBackend = UrlBackend {
///     schemes: &["memory"],
///     connector: |_url, _options| {
///         let connect = || async { Ok::<_, ConnectError>(InProcess::new()) };
///         Connector::new(InProcess::new().capabilities(), connect)
///     },
/// };
///
/// let locks = LockManager::connect("memory:").await?;
/// # locks.lock("order:42").acquire().await?;
/// # Ok(())
/// # }
/// ```
#[distributed_slice]
pub static URL_BACKENDS: [UrlBackend];

/// A backend that [`LockManager::connect`](crate::LockManager::connect), and `connect` of the builder and of the
/// blocking API, find by the scheme of a URL.
///
/// **Unstable**, like [`Backend`].
#[derive(Debug, Clone, Copy)]
pub struct UrlBackend {
    /// The schemes of its URLs, such as `sqlite` for `sqlite:locks.db`. Each scheme belongs to one backend.
    pub schemes: &'static [&'static str],
    /// Returns the connector for a whole URL.
    pub connector: fn(url: &str, options: &ConnectOptions) -> Connector,
}

/// The options of a manager that its backend uses.
///
/// **Unstable**, like [`Backend`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The [label](crate::LockManagerBuilder::label) of the manager, if the user has set one.
    pub label: Option<String>,
    /// The [maximum number of connections](crate::LockManagerBuilder::max_connections), if the user has set one.
    pub max_connections: Option<NonZeroU32>,
}

/// Connects to the backend at one URL, perhaps repeatedly.
///
/// **Unstable**, like [`Backend`].
pub struct Connector {
    pub(crate) capabilities: Capabilities,
    connect: Box<dyn Fn() -> BoxFuture<'static, Connected> + Send + Sync>,
}

type Connected = Result<Arc<dyn Backend>, Error>;

impl Connector {
    /// Creates a connector. `capabilities` are those of the backend, which a manager needs before it
    /// [connects](crate::LockManagerBuilder::connect_lazily).
    ///
    /// An error of `connect` must not contain the URL, because the URL may contain a password.
    pub fn new<B, F, E>(
        capabilities: Capabilities,
        connect: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        B: Backend,
        F: Future<Output = Result<B, E>> + Send + 'static,
        E: Into<Error>,
    {
        let connect = move || {
            let connected = connect();
            async move {
                let backend = connected.await.map_err(Into::into)?;
                Ok(Arc::new(backend) as Arc<dyn Backend>)
            }
            .boxed()
        };
        Self {
            capabilities,
            connect: Box::new(connect),
        }
    }

    pub(crate) fn connect(&self) -> BoxFuture<'static, Connected> {
        (self.connect)()
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("capabilities", &self.capabilities)
            .finish_non_exhaustive()
    }
}

/// Returns the backend of this build for a scheme.
pub(crate) fn of_scheme(scheme: &str) -> Option<UrlBackend> {
    let mut backends = URL_BACKENDS.iter();
    backends.find(|it| it.schemes.contains(&scheme)).copied()
}
