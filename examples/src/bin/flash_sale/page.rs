//! The page, and the handlers of its buttons.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{StatusCode, Uri};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Router, extract::FromRef};
use futures_util::stream::{self, Stream};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::args::Settings;
use crate::board::{self, Open, Status};
use crate::clients;
use crate::deployment::{Deployment, ITEM, STOCK};
use crate::error::{self, BoxError};
use crate::front::Backend;
use crate::locking::Locking;
use crate::report;

const PAGE: &str = include_str!("page.html");

/// The state of the page's handlers.
#[derive(Debug, Clone)]
struct PageState {
    shop: Arc<Deployment>,
    status: watch::Receiver<Option<Status>>,
    sale: Arc<watch::Sender<Option<Open>>>,
    open: std::time::Duration,
    at: std::net::SocketAddr,
}

impl FromRef<PageState> for Arc<Deployment> {
    fn from_ref(state: &PageState) -> Self {
        Self::clone(&state.shop)
    }
}

/// Serves the page until Ctrl-C.
pub(crate) async fn serve(settings: Settings, port: u16) -> Result<(), BoxError> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await;
    let listener = listener.map_err(|error| {
        format!("port {port} cannot be used: {error}; choose another one with --port")
    })?;
    let at = listener.local_addr()?;
    let shop = Deployment::start(settings.url, settings.database).await?;
    let shop = Arc::new(shop);
    let (sale, running) = watch::channel(None);
    let (tell, status) = watch::channel(None);
    let board = board::keep(Arc::clone(&shop), running, tell);
    let state = PageState {
        shop,
        status,
        sale: Arc::new(sale),
        open: settings.open,
        at,
    };
    report::serves(at);
    tokio::select! {
        served = axum::serve(listener, router(state)) => Ok(served?),
        error = board => Err(error),
        ended = tokio::signal::ctrl_c() => Ok(ended?),
    }
}

fn router(state: PageState) -> Router {
    Router::new()
        .route("/", get(async || Html(PAGE)))
        .route("/live", get(live))
        .route("/sale/{locking}", post(open_sale))
        .route("/restock", post(restock))
        .route("/at/{instance}/kill", post(kill))
        .route("/at/{instance}/start", post(start))
        .route("/at/{instance}/{*rest}", any(to_one))
        .fallback(
            async |State(shop): State<Arc<Deployment>>, request: Request| {
                shop.front.pass(request).await
            },
        )
        .with_state(state)
}

/// Streams the state whenever it changes.
async fn live(
    State(state): State<PageState>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let mut status = state.status;
    status.mark_changed();
    let events = stream::unfold(status, async |mut status| {
        loop {
            // The sender is dropped only if this program is about to end.
            status.changed().await.ok()?;
            let seen = status.borrow_and_update().clone();
            if let Some(Ok(event)) = seen.map(|it| Event::default().json_data(it)) {
                return Some((Ok(event), status));
            }
        }
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// Starts a sale with the clients.
async fn open_sale(State(state): State<PageState>, Path(locking): Path<String>) -> Response {
    let Ok(locking) = locking.parse::<Locking>() else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let until = Instant::now() + state.open;
    let opened = state.sale.send_if_modified(|sale| {
        let free = sale.is_none();
        if free {
            *sale = Some(Open { locking, until });
        }
        free
    });
    if !opened {
        return (StatusCode::CONFLICT, "a sale is open already").into_response();
    }
    tokio::spawn(async move {
        if let Err(error) = clients::shop(state.at, ITEM, locking, state.open).await {
            error::tell(error.as_ref());
        }
        state.sale.send_replace(None);
    });
    StatusCode::ACCEPTED.into_response()
}

async fn restock(State(shop): State<Arc<Deployment>>) -> Response {
    match shop.tables.stock_up(ITEM, STOCK).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => error.into_response(),
    }
}

async fn kill(State(shop): State<Arc<Deployment>>, Path(name): Path<String>) -> Response {
    match shop.front.named(&name).map(Backend::kill) {
        Some(Ok(true)) => StatusCode::NO_CONTENT.into_response(),
        Some(Ok(false)) => (
            StatusCode::CONFLICT,
            "the instance does not have its own process",
        )
            .into_response(),
        Some(Err(error)) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn start(State(shop): State<Arc<Deployment>>, Path(name): Path<String>) -> Response {
    let Some(backend) = shop.front.named(&name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if backend.address().is_some() {
        return (StatusCode::CONFLICT, "the instance is running").into_response();
    }
    match shop.start_instance(backend).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Forwards a request to the instance in its path.
async fn to_one(
    State(shop): State<Arc<Deployment>>,
    Path((name, _rest)): Path<(String, String)>,
    mut request: Request,
) -> Response {
    let Some(backend) = shop.front.named(&name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let path = request.uri().path_and_query().map(PathAndQuery::as_str);
    let inner = path.and_then(|it| it.strip_prefix(&format!("/at/{name}")));
    match inner.and_then(|it| it.parse::<Uri>().ok()) {
        Some(uri) => {
            *request.uri_mut() = uri;
            shop.front.pass_to(backend, request).await
        }
        None => StatusCode::BAD_REQUEST.into_response(),
    }
}
