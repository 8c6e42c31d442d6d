use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};

/// The same tokens, which name what the attribute's user would name, and are shown at `span`.
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

/// The same tokens with another name for the value `self`, where they have one.
pub(crate) fn rename_self(tokens: TokenStream, name: Option<&Ident>) -> TokenStream {
    let Some(name) = name else {
        return tokens;
    };
    let mut tokens = tokens.into_iter().peekable();
    let mut renamed = TokenStream::new();
    while let Some(token) = tokens.next() {
        // `self::tenant()` is a path, and stays one.
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
