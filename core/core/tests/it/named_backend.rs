//! Backends that a test adds while it runs, with URLs such as `named:slow`.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use leasehold::ConnectError;
use leasehold::backend::{Backend, Connector, InProcess, URL_BACKENDS, UrlBackend};

type Connected = Result<InProcess, ConnectError>;

type Connect = Arc<dyn Fn() -> BoxFuture<'static, Connected> + Send + Sync>;

static CONNECTS: LazyLock<Mutex<BTreeMap<String, Connect>>> = LazyLock::new(Mutex::default);

#[linkme::distributed_slice(URL_BACKENDS)]
static NAMED: UrlBackend = UrlBackend {
    schemes: &["named"],
    connector: |url, _options| {
        let connect = Arc::clone(&connects()[url]);
        Connector::new(InProcess::new().capabilities(), move || connect())
    },
};

fn connects() -> MutexGuard<'static, BTreeMap<String, Connect>> {
    CONNECTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Connects to the URL with `connect` from now on.
pub(crate) fn add<F>(url: &str, connect: impl Fn() -> F + Send + Sync + 'static)
where
    F: Future<Output = Connected> + Send + 'static,
{
    let connect: Connect = Arc::new(move || connect().boxed());
    connects().insert(url.to_owned(), connect);
}
