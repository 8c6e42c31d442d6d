use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::token::Brace;
use syn::visit_mut::{VisitMut, visit_type_mut};
use syn::{Expr, ExprReference, Ident, Token, Type, TypeInfer};

use crate::annotated_function::{self, Function};
use crate::async_trait::{self, Method};
use crate::attribute_options::{Args, Contended, Lost, Wait};
use crate::compile_errors::Mistakes;
use crate::function_arguments::Arguments;
use crate::key::Key;
use crate::kind;
use crate::once;
use crate::token_rewriting::{meaning, rename_self};

/// Returns the function with its lock. If there are mistakes, returns compile errors and the original function.
pub(crate) fn expand(attribute: TokenStream, item: &TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let args = Args::parse(attribute, &mut mistakes);
    let keys = args.keys.iter().cloned();
    let keys: Vec<Key> = keys.map(|key| Key::parse(key, &mut mistakes)).collect();
    let kind = kind::step(&args, &mut mistakes);
    once::check(&args, &mut mistakes);
    let Some(mut function) = mistakes.noted(syn::parse2::<Function>(item.clone())) else {
        let errors = mistakes.into_compile_errors();
        return quote!(#errors #item);
    };
    function.check(&mut mistakes);
    let place = Place::of(&mut function);
    for key in &keys {
        key.check_names(place.arguments.known(), &mut mistakes);
    }
    match keys.split_first() {
        Some((first, others)) if mistakes.is_empty() => {
            let body = place.locked(
                &Lock {
                    first,
                    others,
                    kind,
                },
                &args,
            );
            function.body = function.body.map(|(brace, _)| (brace, body));
            function.into_token_stream()
        }
        _ => {
            let errors = mistakes.into_compile_errors();
            quote!(#errors #[allow(unused)] #function)
        }
    }
}

/// The keys, and the kind of the lock.
struct Lock<'a> {
    first: &'a Key,
    others: &'a [Key],
    /// The method call that sets the kind, such as `.reading()`.
    kind: TokenStream,
}

impl Lock<'_> {
    /// Returns the call with its keys: `Call::new(first).and(other)`.
    fn to_call(
        &self,
        root: &TokenStream,
        known: &[Ident],
        within: impl Fn(TokenStream) -> TokenStream,
    ) -> TokenStream {
        let in_key = |tokens| within(meaning(tokens, known));
        let first = self.first.to_expression(root, in_key);
        let others = self
            .others
            .iter()
            .map(|key| key.to_expression(root, in_key));
        let kind = within(self.kind.clone());
        quote!(#root::__private::Call::new(#first)#(.and(#others))*#kind)
    }
}

/// The arguments and the body of a function. The expansion acquires the lock between them.
struct Place {
    arguments: Arguments,
    /// The statements before the lock is acquired.
    prelude: TokenStream,
    /// The body, in braces.
    body: TokenStream,
    output: Type,
    /// The name of the receiver, if it is not `self`.
    receiver: Option<Ident>,
    /// Whether the function returns a boxed future.
    boxed: bool,
}

impl Place {
    fn of(function: &mut Function) -> Self {
        let mut arguments = Arguments::of(&mut function.signature);
        let braced = |content: TokenStream, brace: &Brace| {
            let mut tokens = TokenStream::new();
            let is_expression = !content
                .clone()
                .into_iter()
                .any(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ';'));
            // Use mixed-site braces, because rustc warns about unused braces that the user wrote around a single
            // expression.
            let brace = match is_expression {
                true => Brace(Span::mixed_site().located_at(brace.span.join())),
                false => *brace,
            };
            brace.surround(&mut tokens, |inside| content.to_tokens(inside));
            tokens
        };
        let (brace, content) = function.body.clone().unwrap_or_default();
        let plain = |arguments, output, body, boxed| Self {
            arguments,
            prelude: TokenStream::new(),
            body,
            output,
            receiver: None,
            boxed,
        };
        let Some(output) = async_trait::output(&function.signature) else {
            let output = annotated_function::output(&function.signature);
            return plain(arguments, output, braced(content, &brace), false);
        };
        match Method::cut(content.clone(), &mut arguments) {
            Some(method) => Self {
                arguments,
                prelude: method.prelude,
                body: braced(method.body, &brace),
                output,
                receiver: method.receiver,
                boxed: true,
            },
            None => {
                let boxed = braced(content, &brace);
                plain(arguments, output, quote!({ #boxed.await }), true)
            }
        }
    }

    fn locked(self, lock: &Lock<'_>, args: &Args) -> TokenStream {
        let root = match &args.root {
            Some(root) => root.to_token_stream(),
            None => quote!(::leasehold),
        };
        let within = |tokens| rename_self(tokens, self.receiver.as_ref());
        let call = lock.to_call(&root, self.arguments.known(), within);
        let options = options(args, within);
        let mut output = self.output;
        ImplTraitInferred.visit_type_mut(&mut output);
        let once = once::steps(args, &output, within);
        let captured = self
            .arguments
            .captured(&[&call, &options, &once, &self.body]);
        let Self {
            prelude,
            body,
            boxed,
            ..
        } = self;
        let body = quote_spanned! {Span::mixed_site()=>
            {
                #captured
                if let ::core::option::Option::Some(answer) = ::core::option::Option::None::<#output> {
                    return answer;
                }
                #body
            }
        };
        let locked = match &args.once {
            Some(_) => once::run(args, &quote!(#call #options #once), &body),
            None => held(args, &quote!(#call #options), &body, &output),
        };
        let locked = quote!(#prelude #locked);
        if boxed {
            quote!(::std::boxed::Box::pin(async move { #locked }))
        } else {
            locked
        }
    }
}

/// Returns the statements that acquire the lock, run the body, and release the lock.
fn held(args: &Args, call: &TokenStream, body: &TokenStream, output: &Type) -> TokenStream {
    let guard = args
        .guard
        .as_ref()
        .map(|name| quote_spanned!(Span::mixed_site()=> let #name = __held.handle();));
    let answering = match args.contended {
        Contended::Error => quote!(answering),
        Contended::Skip => quote!(answering_or_skipped),
    };
    let run = match args.lost {
        Lost::Cancel => quote!(run),
        Lost::Continue => quote!(run_to_end),
    };
    quote_spanned! {Span::mixed_site()=>
        let __call = #call.#answering::<#output>();
        let __held = match __call.acquire().await {
            ::core::result::Result::Ok(held) => held,
            ::core::result::Result::Err(answer) => return answer,
        };
        #guard
        let __output = __held.#run(async move #body).await;
        __held.release(__output).await
    }
}

/// Returns the calls that set the options, in a fixed order: `.manager(&self.locks).ttl(..)`.
fn options(args: &Args, within: impl Fn(TokenStream) -> TokenStream) -> TokenStream {
    let mut options = TokenStream::new();
    let by_reference = |value: &Expr| {
        let reference = ExprReference {
            attrs: Vec::new(),
            and_token: Token![&](value.span()),
            mutability: None,
            expr: Box::new(value.clone()),
        };
        within(reference.into_token_stream())
    };
    if let Some(manager) = args.manager.as_ref().map(by_reference) {
        options.extend(quote!(.manager(#manager)));
    }
    if args.wait.is_none() && matches!(args.contended, Contended::Skip) {
        // Do not use the manager's wait, because a call that waits forever is never skipped.
        options.extend(quote!(.wait(::core::time::Duration::ZERO)));
    }
    if let Some(value) = args.options.as_ref().map(by_reference) {
        options.extend(quote!(.options(#value)));
    }
    if let Some(ttl) = args.ttl.clone().map(&within) {
        options.extend(quote!(.ttl(#ttl)));
    }
    let wait = args.wait.as_ref().map(|wait| match wait {
        Wait::For(wait) => within(wait.clone()),
        Wait::Forever(_) => quote!(::core::time::Duration::MAX),
    });
    if let Some(wait) = wait {
        options.extend(quote!(.wait(#wait)));
    }
    if let Some(max_hold) = args.max_hold.clone().map(&within) {
        options.extend(quote!(.max_hold(#max_hold)));
    }
    if let Some(hold_at_least) = args.hold_at_least.clone().map(&within) {
        options.extend(quote!(.hold_at_least(#hold_at_least)));
    }
    if let Some(name) = &args.name {
        let name = within(name.to_token_stream());
        options.extend(quote!(.name(#name)));
    }
    options
}

/// Replaces `impl Trait` with `_`, because `impl Trait` is only allowed in a signature.
struct ImplTraitInferred;

impl VisitMut for ImplTraitInferred {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Type::ImplTrait(hidden) = ty {
            *ty = Type::Infer(TypeInfer {
                attrs: Vec::new(),
                underscore_token: Token![_](hidden.impl_token.span),
            });
        }
        visit_type_mut(self, ty);
    }
}
