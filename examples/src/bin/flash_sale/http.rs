use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, Error, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use serde::de::DeserializeOwned;

use crate::error::BoxError;

/// A client with a connection pool.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: Client<HttpConnector, Body>,
}

impl Http {
    pub(crate) fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
        }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, Error> {
        self.client.request(request).await
    }

    /// Sends a request and parses the response. Returns `None` if the request was refused.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        request: Request<Body>,
    ) -> Result<Option<T>, BoxError> {
        let answer = self.send(request).await?;
        let answered = answer.status().is_success();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok(match answered {
            true => Some(serde_json::from_slice(&body)?),
            false => None,
        })
    }
}
