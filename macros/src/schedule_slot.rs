//! The option `slot`: a schedule whose fire time is a part of the key.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Lit, Result};

/// Returns the call that adds the slot to the key, for a checked cron expression or an expression of type `Schedule`.
pub(crate) fn parse(value: &Expr) -> Result<TokenStream> {
    let Expr::Lit(ExprLit { lit, .. }) = value else {
        return Ok(quote_spanned!(value.span()=> .slot(&#value)));
    };
    let Lit::Str(text) = lit else {
        let message = "`slot` is a cron expression or an expression of type `Schedule`: write `slot = \"0 3 * * *\"`";
        return Err(Error::new_spanned(lit, message));
    };
    match problem(&text.value()) {
        Some(problem) => Err(Error::new(text.span(), problem)),
        None => Ok(quote!(.slot_of(#text))),
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
