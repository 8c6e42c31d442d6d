use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use leasehold::LockManager;
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::error::BoxError;
use crate::front::{Backend, Front};
use crate::instance;
use crate::shelf::{self, Tables};

/// The item that is sold.
pub(crate) const ITEM: i64 = 1;
/// The initial stock of the item.
pub(crate) const STOCK: i64 = 10;

/// Two instances, the front in front of them, and the state that they share.
#[derive(Debug)]
pub(crate) struct Deployment {
    pub(crate) front: Arc<Front>,
    pub(crate) tables: Arc<dyn Tables>,
    pub(crate) locks: LockManager,
    /// The URL of the lock backend.
    url: String,
    database: String,
    /// The database file, if no database was given.
    _folder: Option<TempDir>,
}

impl Deployment {
    pub(crate) async fn start(
        url: Option<String>,
        database: Option<String>,
    ) -> Result<Self, BoxError> {
        let (database, folder) = match database {
            Some(database) => (database, None),
            None => {
                let folder = tempfile::tempdir()?;
                let file = folder.path().join("shop.sqlite");
                (format!("sqlite:{}", file.display()), Some(folder))
            }
        };
        let url = url.unwrap_or_else(|| database.clone());
        let tables = shelf::open(&database).await?;
        tables.set_up().await?;
        tables.stock_up(ITEM, STOCK).await?;
        let locks = LockManager::connect(&url).await?;
        let deployment = Self {
            front: Arc::new(Front::new()),
            tables,
            locks,
            url,
            database,
            _folder: folder,
        };
        let [a, b] = &deployment.front.backends;
        tokio::try_join!(deployment.start_instance(a), deployment.start_instance(b))?;
        Ok(deployment)
    }

    /// Starts or restarts an instance.
    pub(crate) async fn start_instance(&self, backend: &Backend) -> Result<(), BoxError> {
        let (child, address) =
            instance::start_process(backend.name, &self.url, &self.database).await?;
        backend.is_at(address, child);
        Ok(())
    }

    /// Opens the front on a free port, only for clients.
    pub(crate) async fn open(&self) -> Result<SocketAddr, BoxError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let front = Router::new()
            .fallback(async |State(front): State<Arc<Front>>, request: Request| {
                front.pass(request).await
            })
            .with_state(Arc::clone(&self.front));
        tokio::spawn(axum::serve(listener, front).into_future());
        Ok(address)
    }
}
