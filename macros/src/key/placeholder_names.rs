use syn::ext::IdentExt;
use syn::{Expr, Ident};

/// Returns the name that an expression starts with, if it names a value and is not in `known`.
///
/// rustc checks constants, functions and paths. The call formats the key before the body runs, so a plain name in lower
/// case can only be an argument.
pub(super) fn missing(expression: &Expr, known: &[Ident]) -> Option<String> {
    let name = match start(expression) {
        Expr::Path(path) => path.path.get_ident()?,
        _ => return None,
    };
    // `r#order` and `order` are the same name.
    let is_known = known.iter().any(|it| it.unraw() == name.unraw());
    let name = name.to_string();
    let is_value = name.starts_with(|first: char| first.is_lowercase() || first == '_');
    (is_value && !is_known).then_some(name)
}

fn start(expression: &Expr) -> &Expr {
    match expression {
        Expr::Field(it) => start(&it.base),
        Expr::Index(it) => start(&it.expr),
        Expr::MethodCall(it) => start(&it.receiver),
        Expr::Paren(it) => start(&it.expr),
        Expr::Reference(it) => start(&it.expr),
        Expr::Try(it) => start(&it.expr),
        Expr::Unary(it) => start(&it.expr),
        other => other,
    }
}

pub(super) fn message(source: &str, missing: &str, known: &[Ident]) -> String {
    if missing == "self" {
        return format!("`{{{source}}}`: this function has no `self`; use one of its arguments");
    }
    // Names with two leading underscores come from other macros.
    let written = known.iter().map(ToString::to_string);
    let written = written.filter(|name| !name.starts_with("__"));
    let names: Vec<String> = written.map(|name| format!("`{name}`")).collect();
    let names = match &*names.join(" or ") {
        "" => "it has no arguments; use a constant, or call a function".to_owned(),
        names => format!("write {names}"),
    };
    format!("`{{{source}}}`: the function has no argument `{missing}`; {names}")
}
