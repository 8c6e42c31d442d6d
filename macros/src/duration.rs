use std::time::Duration;

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::{Error, Expr, ExprLit, Lit, LitStr, Result};

/// The longest TTL that `leasehold` accepts.
const LONGEST_TTL: Duration = Duration::from_secs(60 * 60 * 24);

/// Returns the value of a duration option as an expression: a checked literal, or the expression of the user.
pub(crate) fn parse(option: &str, value: &Expr) -> Result<TokenStream> {
    let Expr::Lit(ExprLit { lit, .. }) = value else {
        return Ok(value.to_token_stream());
    };
    let Lit::Str(text) = lit else {
        let given = lit.to_token_stream().to_string();
        let number: String = given.chars().take_while(char::is_ascii_digit).collect();
        let number = if number.is_empty() { "30" } else { &number };
        let message = format!(
            "`{given}` has no unit: write `{option} = \"{number}s\"`, or an expression of type `Duration`"
        );
        return Err(Error::new_spanned(lit, message));
    };
    let duration = of_literal(option, text)?;
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Ok(if millis.is_multiple_of(1000) {
        let seconds = Literal::u64_unsuffixed(millis / 1000);
        quote!(::core::time::Duration::from_secs(#seconds))
    } else {
        let millis = Literal::u64_unsuffixed(millis);
        quote!(::core::time::Duration::from_millis(#millis))
    })
}

fn of_literal(option: &str, literal: &LitStr) -> Result<Duration> {
    let refuse = |message: String| Err(Error::new(literal.span(), message));
    let text = literal.value();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return refuse(format!(
            "`{text}` is not a duration: write a number and a unit (`ms`, `s`, `m`, `h`, `d`), as in `{option} = \"30s\"`"
        ));
    }
    let millis_per_unit = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        "d" => 24 * 60 * 60 * 1000,
        "" => {
            return refuse(format!(
                "`{text}` has no unit: write `{option} = \"{number}s\"`; units are `ms`, `s`, `m`, `h` and `d`"
            ));
        }
        _ => {
            return refuse(format!(
                "unknown unit `{unit}`: write a whole number and one of `ms`, `s`, `m`, `h` and `d`, as in `{option} = \"90s\"`"
            ));
        }
    };
    let millis = number
        .parse()
        .ok()
        .and_then(|number: u64| number.checked_mul(millis_per_unit));
    match millis.map(Duration::from_millis) {
        None => refuse(format!("`{text}` is too large")),
        Some(Duration::ZERO) if !["wait", "keep_failure"].contains(&option) => refuse(format!(
            "`{option}` cannot be zero: write a duration, as in `{option} = \"30s\"`"
        )),
        Some(ttl) if option == "ttl" && ttl > LONGEST_TTL => refuse(
            "a TTL is at most 24 h: a lock that is held longer is renewed automatically".to_owned(),
        ),
        Some(duration) if option == "hold_at_least" && duration > LONGEST_TTL => {
            refuse("`hold_at_least` is at most 24 h, because it is also the TTL".to_owned())
        }
        Some(duration) => Ok(duration),
    }
}
