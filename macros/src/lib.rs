//! The attribute `#[distributed_lock("key")]` of [Leasehold](https://docs.rs/leasehold) runs a function while a lock is
//! held. Use it as `leasehold::distributed_lock`, with the feature `macros` of `leasehold`. `#[chaos_test]` makes a test
//! of an async function, with faults.

mod annotated_function;
mod async_trait;
mod attribute_options;
mod chaos_test;
mod compile_errors;
mod duration;
mod expand;
#[cfg(test)]
mod expansion_snapshots;
mod function_arguments;
#[cfg(test)]
mod fuzz_tests;
mod key;
mod kind;
mod once;
mod schedule_slot;
mod token_rewriting;

use proc_macro::TokenStream;

// `core` compiles the examples.
#[cfg_attr(not(doctest), doc = include_str!("distributed_lock.md"))]
#[proc_macro_attribute]
pub fn distributed_lock(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(attribute.into(), &item.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("chaos_test.md"))]
#[proc_macro_attribute]
pub fn chaos_test(attribute: TokenStream, item: TokenStream) -> TokenStream {
    chaos_test::expand(attribute.into(), &item.into()).into()
}
