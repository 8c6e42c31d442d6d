//! `#[distributed_lock("key")]` of [Leasehold](https://docs.rs/leasehold): a function that runs while its lock is
//! held. Use it as `leasehold::distributed_lock`; this crate is the feature `macros` of that one.

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
mod respan;
#[cfg(test)]
mod snapshot;

use proc_macro::TokenStream;

#[doc = include_str!("distributed_lock.md")]
#[proc_macro_attribute]
pub fn distributed_lock(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(attribute.into(), &item.into()).into()
}
