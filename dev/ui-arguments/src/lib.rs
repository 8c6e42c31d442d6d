//! The libraries that a crate is compiled with.

use std::env;

use proc_macro::{Literal, TokenStream, TokenTree};

/// Returns the arguments that name the libraries of this compilation, as `&[&str]`. With them, the compiler can compile
/// other files against the same libraries. Cargo tells no program where they are, but a macro runs in the compiler.
#[proc_macro]
pub fn library_arguments(_input: TokenStream) -> TokenStream {
    let mut arguments = TokenStream::new();
    let mut is_value = false;
    for argument in env::args().skip(1) {
        let is_name = matches!(argument.as_str(), "--extern" | "-L");
        if is_name || is_value {
            arguments.extend([
                TokenTree::Literal(Literal::string(&argument)),
                TokenTree::Punct(proc_macro::Punct::new(',', proc_macro::Spacing::Alone)),
            ]);
        }
        is_value = is_name;
    }
    let list = proc_macro::Group::new(proc_macro::Delimiter::Bracket, arguments);
    let reference = proc_macro::Punct::new('&', proc_macro::Spacing::Alone);
    [TokenTree::Punct(reference), TokenTree::Group(list)]
        .into_iter()
        .collect()
}
