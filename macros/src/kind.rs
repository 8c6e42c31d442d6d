use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Expr, ExprLit, Lit};

use crate::args::{Args, Mode};
use crate::mistakes::Mistakes;

/// How the lock is held, as a step of the call: `.reading()`. One at most; what goes together with nothing else is
/// noted as a mistake.
pub(crate) fn step(args: &Args, mistakes: &mut Mistakes) -> TokenStream {
    let mode = args.mode.as_ref();
    let reading = mode.filter(|(mode, _)| matches!(mode, Mode::Read));
    if args.keys.len() > 1 {
        several(args, reading.map(|(_, at)| *at), mistakes);
    }
    match (args.reentrant, reading, &args.permits) {
        (Some(at), _, Some(_)) => mistakes.at(
            at,
            "a semaphore is not reentrant, a nested call takes a permit of its own: leave out `reentrant` or `permits`",
        ),
        (Some(at), Some(_), None) => mistakes.at(
            at,
            "a reentrant lock has no readers: leave out `reentrant` or `mode = read`",
        ),
        _ => {}
    }
    if let (Some((_, at)), Some(_)) = (mode, &args.permits) {
        mistakes.at(
            *at,
            "a semaphore has no readers and no writer: leave out `mode` or `permits`",
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
            "several keys cannot be reentrant: leave out `reentrant`, or give the function one key",
        );
    }
    if let Some(at) = reading {
        mistakes.at(
            at,
            "several keys have no readers: leave out `mode = read`, or give the function one key",
        );
    }
    if let Some(permits) = &args.permits {
        mistakes.under(
            permits,
            "several keys are no semaphore: leave out `permits`, or give the function one key",
        );
    }
}

/// The number of permits: a literal that was looked at, or what the user wrote.
fn number(permits: &Expr, mistakes: &mut Mistakes) -> TokenStream {
    if let Expr::Lit(ExprLit { lit, .. }) = permits {
        match lit {
            Lit::Int(number) if number.base10_parse::<u32>().is_ok_and(|n| n == 0) => mistakes.under(
                lit,
                "a semaphore without permits lets nobody in: write how many calls may run at once, as in `permits = 3`",
            ),
            Lit::Int(_) => {}
            _ => mistakes.under(
                lit,
                "`permits` is a number, or an expression that gives a `u32`: write `permits = 3`",
            ),
        }
    }
    permits.to_token_stream()
}
