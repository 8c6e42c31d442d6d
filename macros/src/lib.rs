//! The attribute `#[distributed_lock("key")]` of [Leasehold](https://docs.rs/leasehold) runs a function while a lock is
//! held. Use it as `leasehold::distributed_lock`, with the feature `macros` of `leasehold`.

mod args;
mod arguments;
mod async_trait;
mod duration;
mod expand;
mod function;
#[cfg(test)]
mod garbled;
mod key;
mod kind;
mod mistakes;
mod once;
mod respan;
mod slot;
#[cfg(test)]
mod snapshot;

use proc_macro::TokenStream;

#[doc = include_str!("distributed_lock.md")]
#[proc_macro_attribute]
pub fn distributed_lock(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(attribute.into(), &item.into()).into()
}

/// Compiles the example in this crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
