//! Fencing tokens for sqlx 0.9 (0.8 is not supported): a stale holder of a lock cannot overwrite newer data.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod begin;
mod database;
pub mod ddl;
mod error;
mod fence;
mod name;
mod observe;
mod query;
mod resource;
mod rewrite;
mod store;

pub use leasehold::{AdmitError, FenceStore, FencingToken, InvalidToken, Stale};

pub use self::begin::{Begin, DEFAULT_LOCK_LIMIT, Isolation};
pub use self::database::{Completable, FencedDatabase};
pub use self::error::{Error, Position};
pub use self::fence::Fence;
pub use self::query::{FencedExt, FencedQuery};
pub use self::store::SqlFenceStore;

/// The column with the token, unless a fence is told otherwise.
pub const DEFAULT_COLUMN: &str = "fencing_token";
