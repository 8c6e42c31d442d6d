use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::token::Brace;
use syn::visit::{Visit, visit_trait_bound, visit_type_path};
use syn::{
    AttrStyle, Attribute, Error, Path, Result, ReturnType, Signature, Token, TraitBound, Type,
    TypePath, Visibility, braced,
};

use crate::async_trait;
use crate::compile_errors::Mistakes;

/// The annotated function. Its body stays unparsed, because an incomplete body does not parse while the user types it.
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    pub(crate) body: Option<(Brace, TokenStream)>,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let not_a_function = |_| {
            let message = "`#[distributed_lock]` can only be used on an `async fn`";
            Error::new(input.span(), message)
        };
        let signature = input.parse().map_err(not_a_function)?;
        if input.parse::<Option<Token![;]>>()?.is_some() {
            return Ok(Self {
                attributes,
                visibility,
                signature,
                body: None,
            });
        }
        let content;
        let brace = braced!(content in input);
        for mut attribute in content.call(Attribute::parse_inner)? {
            attribute.style = AttrStyle::Outer;
            attributes.push(attribute);
        }
        let body = Some((brace, content.parse()?));
        Ok(Self {
            attributes,
            visibility,
            signature,
            body,
        })
    }
}

impl Function {
    /// Reports everything that prevents the function from being locked.
    pub(crate) fn check(&mut self, mistakes: &mut Mistakes) {
        let stacked = |attribute: &Attribute| is_ours(attribute.path());
        if let Some(second) = self.attributes.iter().find(|it| stacked(it)) {
            mistakes.under(
                second,
                "a function can have only one `#[distributed_lock]`: move the body into a second function with this lock, and call it",
            );
        }
        // Remove the second attribute, because it would expand itself and report the same errors again.
        self.attributes.retain(|it| !stacked(it));
        if self.body.is_none() {
            mistakes.under(
                &self.signature,
                "a function without a body cannot be locked: annotate its implementations, or write a body here",
            );
        }
        self.check_output(mistakes);
    }

    fn check_output(&self, mistakes: &mut Mistakes) {
        let Signature {
            constness,
            asyncness,
            fn_token,
            output,
            ..
        } = &self.signature;
        let by_async_trait = async_trait::output(&self.signature);
        if let Some(constness) = constness {
            mistakes.at(
                constness.span,
                "a `const fn` cannot wait for a lock: write `async fn`",
            );
            return;
        }
        let mut returned = Returned::default();
        match (&by_async_trait, output) {
            (Some(output), _) => returned.visit_type(output),
            (None, ReturnType::Type(_, output)) => returned.visit_type(output),
            (None, ReturnType::Default) => {}
        }
        let is_async = asyncness.is_some() || by_async_trait.is_some();
        if let Some(stream) = returned.stream {
            mistakes.at(stream, "a returned stream runs after the release: lock where the stream is consumed, or return the collected items");
        } else if let Some(future) = returned.future {
            mistakes.at(future, "a returned future runs after the release: write `async fn`, and return the future's output");
        } else if !is_async {
            mistakes.at(fn_token.span, "only an `async fn` can wait for its lock: write `async fn`; attributes like `#[tokio::test]` go below `#[distributed_lock]`");
        }
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self {
            attributes,
            visibility,
            signature,
            body,
        } = self;
        for attribute in attributes {
            attribute.to_tokens(tokens);
        }
        visibility.to_tokens(tokens);
        signature.to_tokens(tokens);
        match body {
            Some((brace, body)) => brace.surround(tokens, |inside| body.to_tokens(inside)),
            None => <Token![;]>::default().to_tokens(tokens),
        }
    }
}

fn is_ours(path: &Path) -> bool {
    path.segments
        .last()
        .is_some_and(|last| last.ident == "distributed_lock")
}

/// The positions of streams and futures in a return type. Such a stream or future would run after the function has
/// returned.
#[derive(Default)]
struct Returned {
    stream: Option<Span>,
    future: Option<Span>,
}

impl<'ast> Visit<'ast> for Returned {
    fn visit_trait_bound(&mut self, bound: &'ast TraitBound) {
        let name = bound
            .path
            .segments
            .last()
            .map(|last| last.ident.to_string());
        match name.as_deref() {
            Some("Stream" | "AsyncIterator") => self.stream = Some(bound.path.span()),
            Some("Future") => self.future = Some(bound.path.span()),
            _ => visit_trait_bound(self, bound),
        }
    }

    fn visit_type_path(&mut self, path: &'ast TypePath) {
        let name = path.path.segments.last().map(|last| last.ident.to_string());
        match name.as_deref() {
            Some("BoxStream" | "LocalBoxStream") => self.stream = Some(path.span()),
            Some("BoxFuture" | "LocalBoxFuture") => self.future = Some(path.span()),
            _ => visit_type_path(self, path),
        }
    }
}

/// Returns the return type of the function, as the user wrote it.
pub(crate) fn output(signature: &Signature) -> Type {
    match &signature.output {
        ReturnType::Type(_, output) => Type::clone(output),
        ReturnType::Default => Type::Tuple(syn::TypeTuple {
            attrs: Vec::new(),
            paren_token: syn::token::Paren(signature.ident.span()),
            elems: syn::punctuated::Punctuated::new(),
        }),
    }
}
