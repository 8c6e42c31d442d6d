//! Lets a handler record its response in its own transaction.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::Response;
use http_body::Body;
use leasehold_core::FencingToken;
use leasehold_sqlx::OpenTransaction;

use super::body_fingerprint::read;
use super::recorded_response::Recorded;
use super::store::Call;
use super::store_in_sql::record;
use crate::{BoxError, Problem, ResponseBody};

/// Records the response of a request in the transaction of its handler. Then only one effect per key is committed.
///
/// [`IdempotencyLayer`](crate::IdempotencyLayer) adds it to the request's extensions. With the feature `axum` this type
/// is also an extractor. It refuses the request as misconfigured if the layer does not apply to the route and method, if
/// the layer has no store in a database, or if the key is optional and the request has none.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "axum")]
/// # mod example {
/// use axum::extract::State;
/// use axum::http::StatusCode;
/// use axum::response::IntoResponse;
/// use leasehold_tower::{IdempotentRequest, Problem};
/// use sqlx::SqlitePool;
///
/// async fn pay(
///     State(db): State<SqlitePool>,
///     request: IdempotentRequest,
///     amount: String,
/// ) -> Result<impl IntoResponse, Problem> {
///     let mut tx = db.begin().await?;
///     sqlx::query("INSERT INTO payments (amount) VALUES (?)")
///         .bind(&amount)
///         .execute(&mut *tx)
///         .await?;
///     let response = (StatusCode::CREATED, format!("paid {amount}")).into_response();
///     let response = request.record(&mut tx, response).await?;
///     tx.commit().await?;
///     Ok(response)
/// }
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct IdempotentRequest {
    call: Call,
    token: FencingToken,
}

/// Marks a response that its handler has recorded.
#[derive(Debug, Clone, Copy)]
struct RecordedByHandler;

/// Removes the mark from a response. Returns the response, and whether the handler has recorded it.
pub(super) fn take_mark<B>(mut response: Response<B>) -> (Response<B>, bool) {
    let mark = response.extensions_mut().remove::<RecordedByHandler>();
    (response, mark.is_some())
}

impl IdempotentRequest {
    pub(super) const fn new(call: Call, token: FencingToken) -> Self {
        Self { call, token }
    }

    /// Records the response in the transaction of the handler's writes, and returns it. The transaction must be on the
    /// database of the layer's [`store`](crate::IdempotencyLayer::store). Commit it, and return the response.
    ///
    /// The layer then returns the recorded response to the client. So a header that is not
    /// [recorded](crate::IdempotencyLayer::recorded_headers) reaches the client only if the handler returns this
    /// response unchanged.
    ///
    /// The response is recorded even if [`record_if`](crate::IdempotencyLayer::record_if) does not accept it. If the
    /// handler returns this response or another success, but has not committed the transaction, the client gets a 500 of
    /// the type `not-recorded`. Nothing is recorded then, and a repeat runs again. To return an error after a rollback,
    /// create a new response.
    ///
    /// After an error, drop the transaction. Then nothing is written. Return the error: if another execution of the
    /// request has committed, the client gets the response of that execution.
    ///
    /// # Errors
    ///
    /// Returns a problem if:
    ///
    /// - another execution with the same key has committed
    /// - the response is too large, or has trailers
    /// - the database failed, for example because the table does not exist
    ///
    /// # Cancel safety
    ///
    /// If you drop the call, drop the transaction, too.
    pub async fn record<T, B>(
        &self,
        transaction: &mut T,
        response: Response<B>,
    ) -> Result<Response<ResponseBody<B>>, Problem>
    where
        T: OpenTransaction,
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let (mut head, body) = response.into_parts();
        let options = &self.call.options;
        let most = options.max_response_bytes;
        let body = read(body, most).await;
        let body = body.map_err(|it| it.of_response(most))?;
        let fingerprint = self.call.fingerprint.clone();
        let recorded = Recorded::new(fingerprint, &head, &options.headers, body.clone());
        let record = record(&self.call, self.token.get(), &recorded)?;
        // Even a failed attempt may mean that another execution has committed.
        self.call.attempted.store(true, Ordering::Release);
        record.insert(transaction, options.keep).await?;
        head.extensions.insert(RecordedByHandler);
        Ok(Response::from_parts(head, ResponseBody::answer(body)))
    }
}

#[cfg(feature = "axum")]
#[cfg_attr(docsrs, doc(cfg(feature = "axum")))]
impl<S: Sync> axum::extract::FromRequestParts<S> for IdempotentRequest {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut http::request::Parts, _: &S) -> Result<Self, Problem> {
        let request = parts.extensions.get::<Self>().cloned();
        request.ok_or_else(|| {
            let detail = "the handler needs an `IdempotencyLayer` with `store` on this route and method, and a required key";
            Problem::new(crate::ProblemKind::Misconfigured).with_detail(detail)
        })
    }
}
