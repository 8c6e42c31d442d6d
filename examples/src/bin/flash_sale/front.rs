//! The load balancer in front of the instances: it forwards each request to the next instance that is up.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::http::uri::{Authority, Parts, PathAndQuery, Scheme};
use axum::http::{Request, Response, StatusCode, Uri};
use axum::response::IntoResponse;
use tokio::process::Child;

use crate::http::Http;

/// An instance, with its address and process.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) name: &'static str,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// `None` if the instance is down.
    address: Option<SocketAddr>,
    /// The process of the instance. It is killed when this value is dropped.
    child: Option<Child>,
}

impl Backend {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            state: Mutex::default(),
        }
    }

    pub(crate) fn is_at(&self, address: SocketAddr, child: Child) {
        *self.state() = State {
            address: Some(address),
            child: Some(child),
        };
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.state().address
    }

    /// Returns the process id of the instance, if it was not killed.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.state().child.as_ref()?.id()
    }

    /// Kills the process of the instance with SIGKILL. Returns `false` if it was killed before.
    pub(crate) fn kill(&self) -> std::io::Result<bool> {
        let State { address, child } = &mut *self.state();
        *address = None;
        match child.take() {
            Some(mut child) => child.start_kill().map(|()| true),
            None => Ok(false),
        }
    }

    fn is_down(&self, at: SocketAddr) {
        let mut state = self.state();
        // The instance may have been restarted in the meantime.
        if state.address == Some(at) {
            state.address = None;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) backends: [Backend; 2],
    pub(crate) http: Http,
    turn: AtomicUsize,
}

impl Front {
    pub(crate) fn new() -> Self {
        Self {
            backends: ["A", "B"].map(Backend::new),
            http: Http::new(),
            turn: AtomicUsize::new(0),
        }
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Backend> {
        self.backends.iter().find(|it| it.name == name)
    }

    /// Forwards a request to the next instance in turn.
    pub(crate) async fn pass(&self, request: Request<Body>) -> Response<Body> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let order = [turn % 2, (turn + 1) % 2].map(|it| &self.backends[it]);
        match order.into_iter().find(|it| it.address().is_some()) {
            Some(backend) => self.pass_to(backend, request).await,
            None => nobody_there(),
        }
    }

    /// Forwards a request to one instance. It is never sent twice, because a failed instance may have sold the item.
    pub(crate) async fn pass_to(
        &self,
        backend: &Backend,
        mut request: Request<Body>,
    ) -> Response<Body> {
        let Some(address) = backend.address() else {
            return nobody_there();
        };
        let Some(uri) = at(address, request.uri().path_and_query()) else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        *request.uri_mut() = uri;
        match self.http.send(request).await {
            Ok(answer) => answer.map(Body::new),
            Err(_gone) => {
                backend.is_down(address);
                let answer = "the instance failed; it is not known whether it sold the item";
                (StatusCode::BAD_GATEWAY, answer).into_response()
            }
        }
    }
}

fn nobody_there() -> Response<Body> {
    (StatusCode::SERVICE_UNAVAILABLE, "no instance is available").into_response()
}

fn at(address: SocketAddr, path: Option<&PathAndQuery>) -> Option<Uri> {
    let mut parts = Parts::default();
    parts.scheme = Some(Scheme::HTTP);
    parts.authority = Some(Authority::try_from(address.to_string()).ok()?);
    parts.path_and_query = path.cloned();
    Uri::from_parts(parts).ok()
}
