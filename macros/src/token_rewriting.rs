use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;

/// Returns the tokens with names resolved where the attribute is used, and with errors shown at `span`.
pub(crate) fn located_at(tokens: TokenStream, span: Span) -> TokenStream {
    let span = Span::call_site().located_at(span);
    let at_span = |token| {
        let mut token = match token {
            TokenTree::Group(group) => {
                with_content(&group, located_at(group.stream(), span)).into()
            }
            other => other,
        };
        token.set_span(span);
        token
    };
    tokens.into_iter().map(at_span).collect()
}

/// Returns the tokens, with each identifier that equals one of `names` resolved to that name. In a `macro_rules!`, a
/// key and the names in it can have different hygiene, and both can differ from that of the attribute.
pub(crate) fn meaning(tokens: TokenStream, names: &[Ident]) -> TokenStream {
    let meant = |token| match token {
        TokenTree::Ident(mut ident) => {
            if let Some(name) = names.iter().rfind(|name| name.unraw() == ident.unraw()) {
                ident.set_span(name.span().located_at(ident.span()));
            }
            ident.into()
        }
        TokenTree::Group(group) => with_content(&group, meaning(group.stream(), names)).into(),
        other => other,
    };
    tokens.into_iter().map(meant).collect()
}

/// Returns the tokens with the value `self` renamed to `name`, if a name is given.
pub(crate) fn rename_self(tokens: TokenStream, name: Option<&Ident>) -> TokenStream {
    let Some(name) = name else {
        return tokens;
    };
    let mut tokens = tokens.into_iter().peekable();
    let mut renamed = TokenStream::new();
    while let Some(token) = tokens.next() {
        // `self` in the path `self::tenant()` is not the value.
        let is_path =
            matches!(tokens.peek(), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
        let token: TokenTree = match token {
            TokenTree::Ident(ident) if ident == "self" && !is_path => {
                let mut name = name.clone();
                name.set_span(name.span().located_at(ident.span()));
                name.into()
            }
            TokenTree::Group(group) => {
                with_content(&group, rename_self(group.stream(), Some(name))).into()
            }
            other => other,
        };
        renamed.extend([token]);
    }
    renamed
}

fn with_content(group: &Group, content: TokenStream) -> Group {
    let mut changed = Group::new(group.delimiter(), content);
    changed.set_span(group.span());
    changed
}
