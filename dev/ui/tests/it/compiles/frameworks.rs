//! Annotated functions as axum handlers, and with attributes of tokio.
#![deny(warnings)]

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use leasehold::{Error, LockManager, distributed_lock};

struct Failure(Error);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (StatusCode::SERVICE_UNAVAILABLE, self.0.to_string()).into_response()
    }
}

#[distributed_lock("order:{id}", manager = locks, wait = "0s")]
async fn ship(
    State(locks): State<LockManager>,
    Path(id): Path<u64>,
    body: String,
) -> Result<String, Failure> {
    Ok(format!("{id}: {body}"))
}

#[distributed_lock("order:{id}:{item}", manager = locks)]
async fn pack(
    State(locks): State<LockManager>,
    Path((id, item)): Path<(u64, String)>,
) -> Result<impl IntoResponse, Failure> {
    Ok((StatusCode::CREATED, "packed"))
}

#[distributed_lock("main", manager = LockManager::in_process())]
#[tokio::test]
async fn axum_handlers_and_tokio_attributes_compile() -> Result<(), Error> {
    let _router: Router = Router::new()
        .route("/orders/{id}", post(ship))
        .route("/orders/{id}/{item}", post(pack))
        .with_state(LockManager::in_process());
    Ok(())
}
