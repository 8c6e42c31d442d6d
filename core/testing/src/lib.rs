//! Tools for tests: the suite that every backend must pass, a wrapper that makes a backend misbehave, and `chaos`, which
//! runs code many times, each time with one fault.
//!
//! Programs use these through the crate `leasehold`, with its features `conformance` and `test-util`.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "chaos")]
#[cfg_attr(docsrs, doc(cfg(feature = "chaos")))]
pub mod chaos;
#[cfg(feature = "conformance")]
#[cfg_attr(docsrs, doc(cfg(feature = "conformance")))]
pub mod conformance;
#[cfg(any(feature = "chaos", feature = "conformance"))]
#[cfg_attr(
    not(feature = "conformance"),
    allow(dead_code, unreachable_pub, reason = "`chaos` uses a part of it")
)]
mod faulty_backend;
