use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Expr, ExprLit, Lit};

use crate::attribute_options::{Args, Mode};
use crate::compile_errors::Mistakes;

/// Returns the method call that sets the kind of the lock, such as `.reading()`, or nothing for an exclusive lock.
/// Reports options that cannot be combined.
pub(crate) fn step(args: &Args, mistakes: &mut Mistakes) -> TokenStream {
    let mode = args.mode.as_ref();
    let reading = mode.filter(|(mode, _)| matches!(mode, Mode::Read));
    if args.keys.len() > 1 {
        several(args, reading.map(|(_, at)| *at), mistakes);
    }
    match (args.reentrant, reading, &args.permits) {
        (Some(at), _, Some(_)) => mistakes.at(
            at,
            "a semaphore is not reentrant, a nested call takes its own permit: remove `reentrant` or `max_concurrent`",
        ),
        (Some(at), Some(_), None) => mistakes.at(
            at,
            "a reentrant lock has no readers: remove `reentrant` or `mode = \"read\"`",
        ),
        _ => {}
    }
    if let (Some((_, at)), Some(_)) = (mode, &args.permits) {
        mistakes.at(
            *at,
            "a semaphore has no readers or writers: remove `mode` or `max_concurrent`",
        );
    }
    match (&args.permits, reading, args.reentrant) {
        (Some(permits), _, _) => {
            let permits = number(permits, mistakes);
            quote!(.one_of(#permits))
        }
        (None, Some(_), _) => quote!(.reading()),
        (None, None, Some(_)) => quote!(.reentrant()),
        (None, None, None) => TokenStream::new(),
    }
}

fn several(args: &Args, reading: Option<Span>, mistakes: &mut Mistakes) {
    if let Some(at) = args.reentrant {
        mistakes.at(
            at,
            "a lock of several keys cannot be reentrant: remove `reentrant`, or write only one key",
        );
    }
    if let Some(at) = reading {
        mistakes.at(
            at,
            "a lock of several keys has no readers: remove `mode = \"read\"`, or write only one key",
        );
    }
    if let Some(permits) = &args.permits {
        mistakes.under(
            permits,
            "a semaphore has only one key: remove `max_concurrent`, or write only one key",
        );
    }
}

/// Returns the number of permits: a checked literal, or the expression of the user.
fn number(permits: &Expr, mistakes: &mut Mistakes) -> TokenStream {
    if let Expr::Lit(ExprLit { lit, .. }) = permits {
        match lit {
            Lit::Int(number) if number.base10_parse::<u32>().is_ok_and(|n| n == 0) => mistakes.under(
                lit,
                "`max_concurrent` cannot be zero: write how many calls may run concurrently, as in `max_concurrent = 3`",
            ),
            Lit::Int(_) => {}
            _ => mistakes.under(
                lit,
                "`max_concurrent` is a number or an expression of type `u32`: write `max_concurrent = 3`",
            ),
        }
    }
    permits.to_token_stream()
}
