use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::visit_mut::{VisitMut, visit_pat_mut};
use syn::{Attribute, FnArg, Ident, Pat, PatIdent, PatParen, Receiver, Signature};

/// The arguments of a function, by the names that its body uses.
#[derive(Default)]
pub(crate) struct Arguments {
    /// The names that a key can use.
    known: Vec<Ident>,
    /// The values that must be moved into the body.
    bound: Vec<Bound>,
    unnamed: usize,
}

struct Bound {
    name: Ident,
    /// `#[cfg(..)]` on an argument.
    conditions: Vec<Attribute>,
    /// `#[allow(..)]` on an argument.
    allowed: Vec<Attribute>,
}

impl Arguments {
    /// Collects the names of a signature, and gives each `_` a name. A value without a name cannot be moved into the
    /// body, and would be dropped after the release.
    pub(crate) fn of(signature: &mut Signature) -> Self {
        let mut arguments = Self::default();
        for input in &mut signature.inputs {
            match input {
                FnArg::Receiver(Receiver { self_token, .. }) => {
                    let name = Ident::new("self", self_token.span);
                    arguments.add(name, Vec::new(), Vec::new());
                }
                FnArg::Typed(typed) => arguments.bind(&mut typed.pat, &typed.attrs),
            }
        }
        arguments
    }

    pub(crate) fn bind(&mut self, pattern: &mut Pat, attributes: &[Attribute]) {
        let named = |name: &str| {
            let attributes = attributes.iter().filter(|it| it.path().is_ident(name));
            attributes.cloned().collect()
        };
        let mut binder = Binder {
            arguments: self,
            conditions: named("cfg"),
            allowed: named("allow"),
            stays: false,
        };
        binder.visit_pat_mut(pattern);
    }

    fn add(&mut self, name: Ident, conditions: Vec<Attribute>, allowed: Vec<Attribute>) {
        self.known.push(name.clone());
        self.bound.push(Bound {
            name,
            conditions,
            allowed,
        });
    }

    /// Clears the values, because they were moved to other names. A key can still use the old names.
    pub(crate) fn moved_on(&mut self) {
        self.bound.clear();
    }

    /// Returns the names that a key can use.
    pub(crate) fn known(&self) -> &[Ident] {
        &self.known
    }

    /// Returns statements that make a `move` block capture all arguments, including unused ones. The block binds an
    /// argument again if it does not occur in `uses`. So rustc warns about an unused argument.
    pub(crate) fn captured(&self, uses: &[&TokenStream]) -> TokenStream {
        let is_used = |name: &Ident| {
            let text = name.unraw().to_string();
            text.starts_with('_') || text == "self" || uses.iter().any(|it| mentions(it, &text))
        };
        let (used, unused): (Vec<&Bound>, Vec<&Bound>) =
            self.bound.iter().partition(|bound| is_used(&bound.name));
        let (always, others): (Vec<&Bound>, Vec<&Bound>) = used
            .into_iter()
            .partition(|bound| bound.conditions.is_empty());
        let names: Vec<&Ident> = always.iter().map(|bound| &bound.name).collect();
        let first = match &*names {
            [] => TokenStream::new(),
            [name] => quote!(let _ = &#name;),
            names => quote!(let _ = (#(&#names),*);),
        };
        let is_marked = |name: &&Ident| {
            let text = name.to_string();
            text.starts_with('_') && !text.starts_with("__")
        };
        let allowed = |any: bool| any.then(|| quote!(#[allow(clippy::used_underscore_binding)]));
        let allow_first = allowed(names.iter().any(is_marked));
        let others = others.iter().map(|bound| {
            let Bound {
                name, conditions, ..
            } = bound;
            let allow = allowed(is_marked(&name));
            quote!(#(#conditions)* #allow let _ = &#name;)
        });
        let unused = unused.iter().map(|bound| {
            let Bound {
                name,
                conditions,
                allowed,
            } = bound;
            quote!(#(#conditions)* #(#allowed)* let #name = #name;)
        });
        quote!(#allow_first #first #(#others)* #(#unused)*)
    }
}

/// Returns whether `tokens` mention `name` other than as a field or method. A name in a string literal counts because
/// the literal can be a format string.
fn mentions(tokens: &TokenStream, name: &str) -> bool {
    let mut dots = 0;
    tokens.clone().into_iter().any(|token| {
        let is_member = dots == 1;
        dots = match &token {
            TokenTree::Punct(mark) if mark.as_char() == '.' => dots + 1,
            _ => 0,
        };
        match token {
            TokenTree::Ident(ident) => !is_member && ident.unraw() == name,
            TokenTree::Group(group) => mentions(&group.stream(), name),
            TokenTree::Literal(literal) => literal.to_string().contains(name),
            TokenTree::Punct(_) => false,
        }
    })
}

struct Binder<'a> {
    arguments: &'a mut Arguments,
    conditions: Vec<Attribute>,
    allowed: Vec<Attribute>,
    /// Whether values cannot be moved out of the current pattern.
    stays: bool,
}

impl VisitMut for Binder<'_> {
    fn visit_pat_mut(&mut self, pattern: &mut Pat) {
        match pattern {
            Pat::Ident(PatIdent { ident, .. }) => {
                let (conditions, allowed) = (self.conditions.clone(), self.allowed.clone());
                self.arguments.add(ident.clone(), conditions, allowed);
            }
            Pat::Wild(_) if !self.stays => {
                let number = self.arguments.unnamed;
                let name = format_ident!("__unused{number}", span = Span::mixed_site());
                self.arguments.unnamed += 1;
                let conditions = self.conditions.clone();
                self.arguments.bound.push(Bound {
                    name: name.clone(),
                    conditions,
                    allowed: Vec::new(),
                });
                *pattern = in_parentheses(name);
                return;
            }
            _ => {}
        }
        let outside = self.stays;
        self.stays |= keeps_its_content(pattern);
        visit_pat_mut(self, pattern);
        self.stays = outside;
    }
}

/// Returns whether patterns of this form may fail to compile if a name replaces a `_`.
fn keeps_its_content(pattern: &Pat) -> bool {
    matches!(
        pattern,
        // A value behind a reference is borrowed.
        Pat::Reference(_)
            // Fields cannot be moved out of a type that implements `Drop`.
            | Pat::Struct(_)
            | Pat::TupleStruct(_)
            // All alternatives bind the same names.
            | Pat::Or(_)
            // `whole @ (_, _)` binds the whole value.
            | Pat::Ident(_)
    )
}

/// Puts the name in parentheses, because `#[instrument]` does not record arguments in parentheses.
fn in_parentheses(name: Ident) -> Pat {
    Pat::Paren(PatParen {
        attrs: Vec::new(),
        paren_token: syn::token::Paren(Span::mixed_site()),
        pat: Box::new(Pat::Ident(PatIdent {
            attrs: Vec::new(),
            by_ref: None,
            mutability: None,
            ident: name,
            subpat: None,
        })),
    })
}
