//! Methods that the `async-trait` crate has expanded. Its expansion is
//! `fn f<'async_trait>(..) -> Pin<Box<dyn Future<Output = R> + 'async_trait>> { Box::pin(async move { .. }) }`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::visit::Visit;
use syn::{AssocType, Block, Expr, Ident, Lifetime, Local, Pat, ReturnType, Signature, Stmt, Type};

use crate::function_arguments::Arguments;

/// Returns the output type of the future of a method of `async-trait`, or `None` for any other function.
pub(crate) fn output(signature: &Signature) -> Option<Type> {
    if signature.asyncness.is_some() {
        return None;
    }
    let ReturnType::Type(_, boxed) = &signature.output else {
        return None;
    };
    let mut found = Found::default();
    found.visit_type(boxed);
    if found.lifetime { found.output } else { None }
}

#[derive(Default)]
struct Found {
    lifetime: bool,
    output: Option<Type>,
}

impl<'ast> Visit<'ast> for Found {
    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        self.lifetime |= lifetime.ident == "async_trait";
    }

    fn visit_assoc_type(&mut self, associated: &'ast AssocType) {
        if associated.ident == "Output" && self.output.is_none() {
            self.output = Some(associated.ty.clone());
        }
    }
}

/// The body of a method that `async-trait` has expanded.
pub(crate) struct Method {
    /// The statements that bind the arguments: `let __self = self; let id = id; let Path(id) = __arg1;`
    pub(crate) prelude: TokenStream,
    pub(crate) body: TokenStream,
    /// The name `__self`, if the method has a receiver.
    pub(crate) receiver: Option<Ident>,
}

impl Method {
    /// Splits a body after the statements that bind the arguments, so that a key can use them. Returns `None` if
    /// another attribute has changed the body.
    pub(crate) fn cut(body: TokenStream, arguments: &mut Arguments) -> Option<Self> {
        let stmts = inside_box_pin(body)?;
        let is_body = |stmt: &Stmt| {
            matches!(
                stmt,
                Stmt::Local(Local {
                    pat: Pat::Type(_),
                    ..
                })
            )
        };
        let at = stmts.iter().position(is_body)?;
        let mut stmts = stmts.into_iter();
        let mut method = Self {
            prelude: TokenStream::new(),
            body: TokenStream::new(),
            receiver: None,
        };
        arguments.moved_on();
        for mut stmt in stmts.by_ref().take(at) {
            if let Stmt::Local(local) = &mut stmt {
                if let Pat::Ident(name) = &local.pat
                    && name.ident == "__self"
                {
                    method.receiver = Some(name.ident.clone());
                }
                arguments.bind(&mut local.pat, &local.attrs);
            }
            stmt.to_tokens(&mut method.prelude);
        }
        for stmt in stmts {
            stmt.to_tokens(&mut method.body);
        }
        Some(method)
    }
}

fn inside_box_pin(body: TokenStream) -> Option<Vec<Stmt>> {
    let Ok(Expr::Call(call)) = syn::parse2(body) else {
        return None;
    };
    match (*call.func, call.args.into_iter().next()) {
        (Expr::Path(path), Some(Expr::Async(block))) if ends_with_pin(&path.path) => {
            let Block { stmts, .. } = block.block;
            Some(stmts)
        }
        _ => None,
    }
}

fn ends_with_pin(path: &syn::Path) -> bool {
    path.segments.last().is_some_and(|last| last.ident == "pin")
}
