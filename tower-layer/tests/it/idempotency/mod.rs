//! Requests with an idempotency key: statuses, stores, transactions, and the ends of a request.

mod buffered;
mod interrupted;
mod processes;
mod recording;
mod site;
mod statuses;
mod stores;
mod transactions;
