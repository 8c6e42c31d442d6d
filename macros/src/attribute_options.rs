use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Expr, ExprLit, Ident, Lit, LitStr, Path, Result, Token};

use crate::compile_errors::Mistakes;
use crate::{duration, schedule_slot};

const OPTIONS: &str = "`manager`, `options`, `ttl`, `wait`, `contended`, `lost`, `max_hold`, `hold_at_least`, `name`, `guard`, `mode`, `max_concurrent`, `reentrant`, `once`, `keep_failure`, `slot` and `crate`";

/// The arguments of the attribute.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) keys: Vec<LitStr>,
    pub(crate) manager: Option<Expr>,
    pub(crate) options: Option<Expr>,
    pub(crate) ttl: Option<TokenStream>,
    pub(crate) wait: Option<Wait>,
    pub(crate) contended: Contended,
    pub(crate) lost: Lost,
    pub(crate) max_hold: Option<TokenStream>,
    pub(crate) hold_at_least: Option<TokenStream>,
    pub(crate) name: Option<Expr>,
    pub(crate) guard: Option<Ident>,
    /// The mode, and its position for errors.
    pub(crate) mode: Option<(Mode, Span)>,
    pub(crate) permits: Option<Expr>,
    pub(crate) reentrant: Option<Span>,
    /// The values of `once`, `keep_failure` and `slot`, and the positions of the options for errors.
    pub(crate) once: Option<(TokenStream, Span)>,
    pub(crate) keep_failure: Option<(TokenStream, Span)>,
    pub(crate) slot: Option<(TokenStream, Span)>,
    pub(crate) root: Option<Path>,
}

#[derive(Clone, Copy)]
pub(crate) enum Mode {
    Read,
    Write,
}

pub(crate) enum Wait {
    Forever(Span),
    For(TokenStream),
}

#[derive(Default, Clone, Copy)]
pub(crate) enum Contended {
    #[default]
    Error,
    Skip,
}

#[derive(Default, Clone, Copy)]
pub(crate) enum Lost {
    #[default]
    Cancel,
    Continue,
}

impl Args {
    pub(crate) fn parse(attribute: TokenStream, mistakes: &mut Mistakes) -> Self {
        let mut parsing = Parsing {
            args: Self::default(),
            seen: Vec::new(),
            mistakes,
        };
        // The parser collects every error in `mistakes`, so it does not return an error.
        let parsed = (|input: ParseStream<'_>| parsing.all(input)).parse2(attribute);
        let args = parsing.args;
        mistakes.noted(parsed);
        if let (Contended::Skip, Some(Wait::Forever(at))) = (args.contended, &args.wait) {
            let message = "`wait = \"forever\"` with `contended = \"skip\"` never skips a call: write a shorter wait, or leave it out";
            mistakes.at(*at, message);
        }
        args
    }
}

struct Parsing<'a> {
    args: Args,
    seen: Vec<String>,
    mistakes: &'a mut Mistakes,
}

impl Parsing<'_> {
    fn all(&mut self, input: ParseStream<'_>) -> Result<()> {
        if !input.peek(LitStr) {
            self.key_is_missing(input)?;
        }
        while !input.is_empty() {
            if let Err(mistake) = self.one(input) {
                self.mistakes.add(mistake);
                skip_to_comma(input)?;
            }
            if !input.is_empty() {
                if !input.peek(Token![,]) {
                    self.mistakes
                        .at(input.span(), "expected `,` before the next option");
                    skip_to_comma(input)?;
                }
                input.parse::<Option<Token![,]>>()?;
            }
        }
        Ok(())
    }

    fn one(&mut self, input: ParseStream<'_>) -> Result<()> {
        if input.peek(LitStr) {
            let key: LitStr = input.parse()?;
            let again = self
                .args
                .keys
                .iter()
                .any(|other| other.value() == key.value());
            let message = match again {
                true => "this key is set twice: remove one",
                false if !self.seen.is_empty() => {
                    "keys come first: write this one before the options"
                }
                false => {
                    self.args.keys.push(key);
                    return Ok(());
                }
            };
            return Err(Error::new(key.span(), message));
        }
        if is_alone(input) {
            return self.reentrant(&input.call(Ident::parse_any)?);
        }
        if !input.peek(Ident::peek_any) || !input.peek2(Token![=]) {
            return Err(input.error(format!(
                "expected an option, as in `ttl = \"30s\"`; the options are {OPTIONS}"
            )));
        }
        let name = input.call(Ident::parse_any)?;
        input.parse::<Token![=]>()?;
        if input.is_empty() || input.peek(Token![,]) {
            let message = format!("`{name}` has no value: write one, or remove the option");
            return Err(Error::new(name.span(), message));
        }
        self.option(&name, input)
    }

    /// Parses an option without a value.
    fn reentrant(&mut self, name: &Ident) -> Result<()> {
        if self.args.reentrant.replace(name.span()).is_some() {
            return Err(Error::new(
                name.span(),
                "`reentrant` is set twice: remove one",
            ));
        }
        self.seen.push(name.to_string());
        Ok(())
    }

    /// Reports a key that is missing or is not a string literal at the beginning.
    fn key_is_missing(&mut self, input: ParseStream<'_>) -> Result<()> {
        let fork = input.fork();
        let first = fork.call(Ident::parse_any).ok();
        let is_option = fork.peek(Token![=]);
        let (message, in_its_place) = match first {
            Some(name) if is_option && name == "key" => (
                "the key is written without a name: put it first, as in `#[distributed_lock(\"order:{order_id}\")]`",
                true,
            ),
            Some(_) if !is_option && !is_alone(input) => (
                "the key is a string literal: put the expression into a placeholder, as in `#[distributed_lock(\"{KEY}\")]`",
                true,
            ),
            _ => (
                "the key comes first, as a string literal: `#[distributed_lock(\"order:{order_id}\")]`",
                false,
            ),
        };
        let at = if input.is_empty() {
            Span::call_site()
        } else {
            input.span()
        };
        self.mistakes.at(at, message);
        if in_its_place {
            skip_to_comma(input)?;
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(())
    }

    fn option(&mut self, name: &Ident, input: ParseStream<'_>) -> Result<()> {
        let text = name.to_string();
        let repeated = self.seen.contains(&text);
        self.seen.push(text.clone());
        if repeated {
            let message = format!("`{text}` is set twice: remove one");
            self.mistakes.at(name.span(), message);
            return skip_to_comma(input);
        }
        let args = &mut self.args;
        match &*text {
            "manager" => args.manager = Some(input.parse()?),
            "options" => args.options = Some(expression(input)?),
            "ttl" => args.ttl = Some(duration::parse(&text, &expression(input)?)?),
            "max_hold" => args.max_hold = Some(duration::parse(&text, &expression(input)?)?),
            "hold_at_least" => {
                args.hold_at_least = Some(duration::parse(&text, &expression(input)?)?);
            }
            "name" => args.name = Some(expression(input)?),
            "wait" => args.wait = Some(wait(&expression(input)?)?),
            "contended" => {
                let choices = [("error", Contended::Error), ("skip", Contended::Skip)];
                args.contended = choice(&text, choices, input)?;
            }
            "lost" => {
                let choices = [("cancel", Lost::Cancel), ("continue", Lost::Continue)];
                args.lost = choice(&text, choices, input)?;
            }
            "guard" => {
                let example =
                    |_| input.error("expected a name for the lock's handle, as in `guard = lock`");
                args.guard = Some(input.parse().map_err(example)?);
            }
            "mode" => {
                let choices = [("read", Mode::Read), ("write", Mode::Write)];
                let at = input.span();
                args.mode = Some((choice(&text, choices, input)?, at));
            }
            "max_concurrent" => args.permits = Some(expression(input)?),
            "reentrant" => {
                let message = "`reentrant` takes no value: write it alone, or remove it";
                self.mistakes.at(name.span(), message);
                skip_to_comma(input)?;
            }
            "once" => args.once = Some((duration::parse(&text, &expression(input)?)?, name.span())),
            "keep_failure" => {
                let time = duration::parse(&text, &expression(input)?)?;
                args.keep_failure = Some((time, name.span()));
            }
            "slot" => args.slot = Some((schedule_slot::parse(&expression(input)?)?, name.span())),
            "crate" => args.root = Some(input.call(Path::parse_mod_style)?),
            _ => {
                let message = format!("unknown option `{text}`; the options are {OPTIONS}");
                self.mistakes.at(name.span(), message);
                skip_to_comma(input)?;
            }
        }
        Ok(())
    }
}

/// Returns whether the next option is `reentrant` without a value.
fn is_alone(input: ParseStream<'_>) -> bool {
    let fork = input.fork();
    let name = fork.call(Ident::parse_any);
    name.is_ok_and(|name| name == "reentrant") && !fork.peek(Token![=])
}

/// Parses an expression without the invisible group that `macro_rules!` puts around `$time:expr`.
fn expression(input: ParseStream<'_>) -> Result<Expr> {
    let mut expression = input.parse()?;
    while let Expr::Group(group) = expression {
        expression = *group.expr;
    }
    Ok(expression)
}

fn wait(value: &Expr) -> Result<Wait> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) if text.value() == "forever" => Ok(Wait::Forever(text.span())),
        value => duration::parse("wait", value).map(Wait::For),
    }
}

fn choice<T: Copy>(option: &str, choices: [(&str, T); 2], input: ParseStream<'_>) -> Result<T> {
    let at = input.span();
    let given: Option<LitStr> = input.parse()?;
    let chosen = choices
        .iter()
        .find(|(name, _)| given.as_ref().is_some_and(|given| given.value() == *name));
    let [(first, _), (second, _)] = choices;
    let message = || {
        format!("`{option}` is `\"{first}\"` or `\"{second}\"`: write `{option} = \"{second}\"`")
    };
    chosen
        .map(|(_, value)| *value)
        .ok_or_else(|| Error::new(at, message()))
}

fn skip_to_comma(input: ParseStream<'_>) -> Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}
