use std::convert::Infallible;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Empty;
use leasehold::{InProcessFenceStore, LockManager};
use leasehold_tower::{FenceLayer, LockLayer, key};
use tower::{Layer, Service, ServiceExt, service_fn};

use super::{Environment, Workload};
use crate::BoxError;
use crate::report::Outcome;
use crate::turns::Plan;

pub(crate) const IN_PROCESS: &str = "a request, in process";
pub(crate) const METRIC: &str = "request_us";
pub(crate) const BY_HAND: &str = "a lock by hand";
pub(crate) const LAYER: &str = "LockLayer";

const NAMES: &[&str] = &[BY_HAND, LAYER, "LockLayer, GET", "FenceLayer", "no layer"];

/// The cost of a layer for a request whose lock is free, compared with a handler that locks itself. The requests run
/// one after the other, without a network. A GET passes through unlocked.
#[derive(Debug)]
pub(crate) struct Tower {
    pub(crate) on_redis: bool,
}

#[async_trait(?Send)]
impl Workload for Tower {
    fn name(&self) -> String {
        match self.on_redis {
            true => "a request, on Redis".into(),
            false => IN_PROCESS.into(),
        }
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let (locks, requests) = match self.on_redis {
            true => (LockManager::connect(&environment.server.url()).await?, 20),
            false => (LockManager::in_process(), 200),
        };
        let handler = service_fn(async |_: Request<()>| {
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        });
        let order = || key::path("order:{id}").raw("id").on("/orders/{id}");
        let locked = LockLayer::new(locks.clone(), order()).layer(handler);
        let fenced = FenceLayer::new(InProcessFenceStore::new(), order()).layer(handler);
        let plan = Plan {
            workload: &self.name(),
            metrics: &[METRIC],
            rounds: if environment.quick { 30 } else { 200 },
        };
        let run = async |at: usize| {
            // Run on a worker of the runtime, as in a server.
            let slice = match at {
                0 => tokio::spawn(by_hand(locks.clone(), requests)),
                1 => tokio::spawn(serve(locked.clone(), Method::POST, requests)),
                2 => tokio::spawn(serve(locked.clone(), Method::GET, requests)),
                3 => tokio::spawn(serve(fenced.clone(), Method::POST, requests)),
                _ => tokio::spawn(serve(handler, Method::POST, requests)),
            };
            let each = slice.await??.as_secs_f64() * 1e6 / requests as f64;
            Ok(vec![each])
        };
        plan.take_turns(NAMES, run).await
    }
}

async fn serve<S, B>(service: S, method: Method, requests: usize) -> Result<Duration, BoxError>
where
    S: Service<Request<()>, Response = Response<B>, Error = Infallible> + Clone,
{
    let made = (0..requests).map(|_| {
        let request = Request::builder().method(method.clone()).uri("/orders/7");
        request.header("x-fencing-token", "7").body(())
    });
    let made = made.collect::<Result<Vec<_>, _>>()?;
    let begin = Instant::now();
    for request in made {
        let answer = service.clone().oneshot(request).await?;
        if !answer.status().is_success() {
            return Err(format!("a request was refused with {}", answer.status()).into());
        }
    }
    Ok(begin.elapsed())
}

/// Runs what a handler with its own lock does.
async fn by_hand(locks: LockManager, requests: usize) -> Result<Duration, BoxError> {
    let begin = Instant::now();
    for _ in 0..requests {
        let Some(guard) = locks.lock("order:7").try_acquire().await? else {
            return Err("somebody else has the lock".into());
        };
        let handle = guard.handle();
        guard
            .run(async |_| {
                handle.scope(std::future::ready(())).await;
                Ok::<_, leasehold::Error>(())
            })
            .await?;
        guard.release().await?;
    }
    Ok(begin.elapsed())
}
