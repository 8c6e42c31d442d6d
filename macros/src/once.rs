//! The options of a call whose result is recorded: `once`, `keep_failure` and `slot`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Type;

use crate::attribute_options::{Args, Contended, Lost, Mode};
use crate::compile_errors::Mistakes;

/// Returns the calls that set the options, such as `.once::<R>(..).slot_of("0 3 * * *")`, or nothing without `once`.
pub(crate) fn steps(
    args: &Args,
    output: &Type,
    within: impl Fn(TokenStream) -> TokenStream,
) -> TokenStream {
    let Some((keep, _)) = &args.once else {
        return TokenStream::new();
    };
    let keep = within(keep.clone());
    let keep_failure = args.keep_failure.as_ref().map(|(time, _)| {
        let time = within(time.clone());
        quote!(.keep_failure(#time))
    });
    let slot = args.slot.as_ref().map(|(slot, _)| within(slot.clone()));
    quote!(.once::<#output>(#keep)#keep_failure #slot)
}

/// Returns the statements that return a recorded result, or run the body under the lock and record its result.
pub(crate) fn run(args: &Args, call: &TokenStream, body: &TokenStream) -> TokenStream {
    let handle = match &args.guard {
        Some(name) => name.to_token_stream(),
        None => quote!(_),
    };
    quote_spanned! {Span::mixed_site()=>
        #call.run(async move |#handle| #body).await
    }
}

/// Reports options that cannot be combined with `once`, or that have no effect without it.
pub(crate) fn check(args: &Args, mistakes: &mut Mistakes) {
    let slot_at = args.slot.as_ref().map(|(_, at)| *at);
    if let Some(at) = slot_at.filter(|_| !cfg!(feature = "cron")) {
        let message = "`slot` needs the feature `cron` of `leasehold`: enable it in `Cargo.toml`";
        mistakes.at(at, message);
    }
    let Some((_, at)) = args.once else {
        if let Some((_, at)) = args.keep_failure {
            let message = "without `once` no result is kept: write `once = \"24h\"`, or remove `keep_failure`";
            mistakes.at(at, message);
        }
        if let Some(at) = slot_at {
            let message = "without `once` every process runs the body for the same slot: write `once = \"24h\"`, or remove `slot`";
            mistakes.at(at, message);
        }
        return;
    };
    if !cfg!(feature = "once") {
        let message = "`once` needs the feature `once` of `leasehold`: enable it in `Cargo.toml`";
        mistakes.at(at, message);
    }
    let reads = matches!(args.mode, Some((Mode::Read, _)));
    for (is_set, message) in [
        (
            matches!(args.contended, Contended::Skip),
            "a call with `once` waits for the result of another call and returns it: remove `contended = \"skip\"` or `once`",
        ),
        (
            matches!(args.lost, Lost::Continue),
            "a call with `once` drops its body if the lock is lost: remove `lost = \"continue\"` or `once`",
        ),
        (
            args.keys.len() > 1,
            "a result is recorded under one key: remove `once`, or write only one key",
        ),
        (
            reads,
            "readers run concurrently, so `once` cannot run the body only once: remove `mode = \"read\"` or `once`",
        ),
        (
            args.permits.is_some(),
            "the holders of a semaphore run concurrently, so `once` cannot run the body only once: remove `max_concurrent` or `once`",
        ),
        (
            args.hold_at_least.is_some(),
            "a recorded result already prevents a second run: remove `hold_at_least` or `once`",
        ),
        (
            args.reentrant.is_some(),
            "a nested call cannot return the result of a body that still runs: remove `reentrant` or `once`",
        ),
    ] {
        if is_set {
            mistakes.at(at, message);
        }
    }
}
