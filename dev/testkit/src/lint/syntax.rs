//! Properties of an item: its name, and whether it only exists in tests.

use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, Item, Meta, Token};

/// Returns whether the attributes restrict an item to tests: `#[cfg(test)]`, `#[cfg(all(test, …))]`, `#[test]`,
/// `#[tokio::test]`.
pub(super) fn test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        if path.is_ident("cfg") {
            attribute
                .parse_args()
                .is_ok_and(|condition: Meta| needs_test(&condition))
        } else {
            path.segments
                .last()
                .is_some_and(|last| last.ident == "test")
        }
    })
}

fn needs_test(condition: &Meta) -> bool {
    let list = match condition {
        Meta::Path(path) => return path.is_ident("test"),
        Meta::NameValue(_) => return false,
        Meta::List(list) => list,
    };
    let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    let Ok(parts) = parts else {
        return false;
    };
    if list.path.is_ident("all") {
        parts.iter().any(needs_test)
    } else {
        list.path.is_ident("any") && !parts.is_empty() && parts.iter().all(needs_test)
    }
}

/// Returns the name that an item defines, if it defines one.
pub(super) fn item_name(item: &Item) -> Option<&Ident> {
    match item {
        Item::Const(it) => Some(&it.ident),
        Item::Enum(it) => Some(&it.ident),
        Item::Fn(it) => Some(&it.sig.ident),
        Item::Macro(it) => it.ident.as_ref(),
        Item::Static(it) => Some(&it.ident),
        Item::Struct(it) => Some(&it.ident),
        Item::Trait(it) => Some(&it.ident),
        Item::TraitAlias(it) => Some(&it.ident),
        Item::Type(it) => Some(&it.ident),
        Item::Union(it) => Some(&it.ident),
        _ => None,
    }
}
