//! Expands `#[chaos_test]`: a test function that runs its async body with faults.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{ItemFn, MetaNameValue, ReturnType, Token};

use crate::compile_errors::Mistakes;
use crate::duration;

const OPTIONS: &str = "`seed`, `max_runs`, `time_limit` and `crate`";

/// Returns the test function. If there are mistakes, returns compile errors and the original function.
pub(crate) fn expand(attribute: TokenStream, item: &TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let (settings, root) = settings(attribute, &mut mistakes);
    let Some(body) = mistakes.noted(syn::parse2::<ItemFn>(item.clone())) else {
        let errors = mistakes.into_compile_errors();
        return quote!(#errors #item);
    };
    let signature = &body.sig;
    if signature.asyncness.is_none() {
        mistakes.under(
            signature.fn_token,
            "a chaos test is an `async fn` with one parameter of type `leasehold::chaos::Chaos`",
        );
    }
    if let ReturnType::Type(_, output) = &signature.output {
        mistakes.under(
            output,
            "a chaos test returns nothing: use `assert!` and `unwrap`",
        );
    }
    if !mistakes.is_empty() {
        let errors = mistakes.into_compile_errors();
        return quote!(#errors #[allow(unused)] #item);
    }
    let (attributes, visibility, name) = (&body.attrs, &body.vis, &signature.ident);
    let (inner, block) = (signature, &body.block);
    quote! {
        #[::core::prelude::v1::test]
        #(#attributes)*
        #visibility fn #name() {
            #inner #block
            #root::chaos::ChaosTest::new() #settings .run(#name);
        }
    }
}

/// Returns the method calls that set the options, and the path of the crate `leasehold`.
fn settings(attribute: TokenStream, mistakes: &mut Mistakes) -> (TokenStream, TokenStream) {
    let (mut calls, mut root) = (TokenStream::new(), quote!(::leasehold));
    let options = Punctuated::<MetaNameValue, Token![,]>::parse_terminated;
    let options = mistakes.noted(options.parse2(attribute));
    let mut seen = Vec::new();
    for option in options.into_iter().flatten() {
        let name = option.path.require_ident().map(ToString::to_string);
        let name = name.unwrap_or_default();
        let value = &option.value;
        if seen.contains(&name) {
            mistakes.under(&option.path, format!("`{name}` is set twice"));
        }
        match name.as_str() {
            "seed" | "max_runs" => {
                let method = format_ident!("{name}", span = option.path.span());
                calls.extend(quote!(.#method(#value)));
            }
            "time_limit" => {
                let limit = mistakes.noted(duration::parse("time_limit", value));
                calls.extend(limit.map(|limit| quote!(.time_limit(#limit))));
            }
            "crate" => root = quote!(#value),
            _ => mistakes.under(
                &option.path,
                format!("unknown option: the options are {OPTIONS}"),
            ),
        }
        seen.push(name);
    }
    (calls, root)
}
