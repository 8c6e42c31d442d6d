//! The key is a text with placeholders, as in `format!`. A placeholder can contain any expression.

mod placeholder_names;
mod template;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Error, Expr, Ident, LitStr, Result};

use self::template::Piece;
use crate::compile_errors::Mistakes;
use crate::token_rewriting;

/// A key with parsed placeholders.
pub(crate) struct Key {
    literal: LitStr,
    parts: Vec<Part>,
}

enum Part {
    Text(String),
    Value(Box<Value>),
}

struct Value {
    expression: Expr,
    /// The source as written: ` user.id `.
    source: String,
    /// The format with its colon: `:05`.
    format: String,
}

impl Value {
    /// Returns the placeholder for `format!`: `{:05}`.
    fn placeholder(&self) -> String {
        format!("{{{}}}", self.format)
    }
}

impl Key {
    pub(crate) fn parse(literal: LitStr, mistakes: &mut Mistakes) -> Self {
        let text = literal.value();
        if text.is_empty() {
            mistakes.at(
                literal.span(),
                "the key is empty: write one, as in `\"order:{order_id}\"`",
            );
        }
        let (pieces, found) = template::cut(&text);
        for mistake in found {
            mistakes.at(literal.span(), mistake);
        }
        let mut parts = Vec::new();
        for piece in pieces {
            parts.extend(match piece {
                Piece::Text(text) => Some(Part::Text(text)),
                Piece::Placeholder { source, format } => mistakes
                    .noted(expression(&source, literal.span()))
                    .map(|expression| {
                        Part::Value(Box::new(Value {
                            expression,
                            source,
                            format,
                        }))
                    }),
            });
        }
        Self { literal, parts }
    }

    /// Reports placeholders that start with an unknown name. `known` are the function's arguments, including `self`.
    pub(crate) fn check_names(&self, known: &[Ident], mistakes: &mut Mistakes) {
        for value in self.values() {
            if let Some(missing) = placeholder_names::missing(&value.expression, known) {
                let message = placeholder_names::message(&value.source, &missing, known);
                mistakes.at(self.literal.span(), message);
            }
        }
    }

    /// Returns the key as an expression. `within` adapts the user's expressions to their position in the expansion.
    pub(crate) fn to_expression(
        &self,
        root: &TokenStream,
        within: impl Fn(TokenStream) -> TokenStream,
    ) -> TokenStream {
        if self.values().next().is_none() {
            let text: String = self.texts().collect();
            let literal = LitStr::new(&text, self.literal.span());
            return quote!(#literal);
        }
        let values = self.values().map(|value| {
            let expression = &value.expression;
            let expression = within(quote!(#expression));
            if self.takes_as_it_is(value) {
                return expression;
            }
            let formatted = LitStr::new(&value.placeholder(), self.literal.span());
            quote!(#root::__private::escaped(#root::__private::format!(#formatted, #expression)))
        });
        let literal = LitStr::new(&self.positional(), self.literal.span());
        quote!(#root::__private::format!(#literal, #(#values),*))
    }

    /// Returns whether the key contains a value without escaping. This applies to a value that is the whole key, and to
    /// constants.
    fn takes_as_it_is(&self, value: &Value) -> bool {
        self.parts.len() == 1 || is_constant(&value.expression)
    }

    /// Returns the format string without the expressions: `order:{}`.
    fn positional(&self) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.replace('{', "{{").replace('}', "}}"),
            Part::Value(value) if self.takes_as_it_is(value) => value.placeholder(),
            Part::Value(_) => "{}".to_owned(),
        };
        self.parts.iter().map(part).collect()
    }

    fn values(&self) -> impl Iterator<Item = &Value> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(value) => Some(&**value),
            Part::Text(_) => None,
        })
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(&**text),
            Part::Value(_) => None,
        })
    }
}

/// Returns whether an expression is a path with its last name in capitals.
fn is_constant(expression: &Expr) -> bool {
    let Expr::Path(path) = expression else {
        return false;
    };
    let last = path.path.segments.last().map(|it| it.ident.to_string());
    last.is_some_and(|name| !name.contains(char::is_lowercase) && name.contains(char::is_uppercase))
}

fn expression(source: &str, span: Span) -> Result<Expr> {
    let refuse = |message: String| Err(Error::new(span, message));
    if source.trim().is_empty() {
        return refuse(
            "a placeholder is empty: write an argument, as in `{order_id}`, or `{{}}` for literal braces"
                .to_owned(),
        );
    }
    match syn::parse_str(source) {
        Ok(Expr::Lit(_)) => refuse(format!(
            "`{{{source}}}` is a literal: write an argument or an expression, as in `{{order_id}}`, or the text without braces"
        )),
        Ok(expression) => {
            let tokens = token_rewriting::located_at(quote!(#expression), span);
            syn::parse2(tokens)
        }
        Err(error) => refuse(format!(
            "`{{{source}}}` is not an expression ({error}): write one, as in `{{order_id}}` or `{{order.id}}`, or `{{{{` for a literal brace"
        )),
    }
}
