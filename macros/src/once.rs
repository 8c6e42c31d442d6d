//! The options of a call whose result is recorded: `once`, `keep_failure` and `slot`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Lit, LitStr, Result, Type};

use crate::args::{Args, Contended, Lost, Mode};
use crate::mistakes::Mistakes;

/// The schedule whose fire time is a part of the key.
pub(crate) enum Slot {
    /// A checked cron expression.
    Cron(LitStr),
    /// An expression of type `Schedule`.
    Schedule(Expr),
}

impl Slot {
    pub(crate) fn parse(value: Expr) -> Result<Self> {
        let Expr::Lit(ExprLit { lit, .. }) = value else {
            return Ok(Self::Schedule(value));
        };
        let Lit::Str(text) = lit else {
            let message = "`slot` is a cron expression or an expression of type `Schedule`: write `slot = \"0 3 * * *\"`";
            return Err(Error::new_spanned(lit, message));
        };
        match problem(&text.value()) {
            Some(problem) => Err(Error::new(text.span(), problem)),
            None => Ok(Self::Cron(text)),
        }
    }
}

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
    let slot = args.slot.as_ref().map(|(slot, _)| match slot {
        Slot::Cron(expression) => quote!(.slot_of(#expression)),
        Slot::Schedule(schedule) => {
            let at = schedule.span();
            let schedule = within(schedule.to_token_stream());
            quote_spanned!(at=> .slot(&#schedule))
        }
    });
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

/// Returns what is wrong with a cron expression, as `Schedule::cron` does at run time.
#[cfg(feature = "cron")]
fn problem(expression: &str) -> Option<String> {
    let problem = match croner::parser::CronParser::new().parse(expression) {
        Err(error) => error.to_string(),
        Ok(cron) => match cron.find_next_occurrence(&chrono::DateTime::UNIX_EPOCH, true) {
            Ok(_) => return None,
            Err(_) => "it never fires after 1970".to_owned(),
        },
    };
    let problem = problem.trim_end_matches('.');
    Some(format!(
        "`{expression}` is not a valid cron expression: {problem}; write minute, hour, day of month, month and day of week, as in `slot = \"0 3 * * *\"`"
    ))
}

#[cfg(not(feature = "cron"))]
fn problem(_expression: &str) -> Option<String> {
    None
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
            args.reentrant.is_some(),
            "a nested call cannot return the result of a body that still runs: remove `reentrant` or `once`",
        ),
    ] {
        if is_set {
            mistakes.at(at, message);
        }
    }
}
