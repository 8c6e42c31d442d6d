//! Reads a source file: its items, imports and mentioned paths.

use proc_macro2::TokenStream;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMacro, ItemMod, ItemUse, Path, Visibility};

use super::collector::Collector;
use super::imports;
use super::map::{CrateMap, Place};
use super::syntax::{item_name, test_only};

/// Adds a parsed file, which is the module at `place`, to the map.
pub(super) fn read(map: &mut CrateMap, file: &syn::File, place: Place, shown: &str) {
    if test_only(&file.attrs) {
        map.tests.insert(place);
    } else {
        Reader(Collector::begin(map, place, shown)).visit_file(file);
    }
}

struct Reader<'a>(Collector<'a>);

/// Overrides visits so that code that only exists in tests is skipped.
macro_rules! pass_over_tests {
    ($($visit:ident($node:ident),)+) => {
        $(fn $visit(&mut self, node: &'ast syn::$node) {
            if !test_only(&node.attrs) {
                visit::$visit(self, node);
            }
        })+
    };
}

impl<'ast> Visit<'ast> for Reader<'_> {
    pass_over_tests! {
        visit_arm(Arm),
        visit_expr_block(ExprBlock),
        visit_field(Field),
        visit_field_value(FieldValue),
        visit_impl_item_const(ImplItemConst),
        visit_impl_item_fn(ImplItemFn),
        visit_impl_item_type(ImplItemType),
        visit_item_const(ItemConst),
        visit_item_enum(ItemEnum),
        visit_item_fn(ItemFn),
        visit_item_impl(ItemImpl),
        visit_item_static(ItemStatic),
        visit_item_struct(ItemStruct),
        visit_item_trait(ItemTrait),
        visit_item_type(ItemType),
        visit_local(Local),
        visit_stmt_macro(StmtMacro),
        visit_trait_item_fn(TraitItemFn),
        visit_variant(Variant),
    }

    fn visit_item(&mut self, item: &'ast Item) {
        if let Some(name) = item_name(item) {
            self.0.define(name);
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if test_only(&item.attrs) {
            return self.0.tests(&item.ident);
        }
        if has(&item.attrs, "path") {
            self.0.hidden(&item.ident);
        }
        if item.content.is_some() {
            let outer = self.0.enter(&item.ident);
            visit::visit_item_mod(self, item);
            self.0.leave(outer);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        // `use ::name` refers to another crate.
        if !test_only(&item.attrs) && item.leading_colon.is_none() {
            let public = !matches!(item.vis, Visibility::Inherited);
            for leaf in imports::leaves(&item.tree) {
                self.0.import(leaf, public);
            }
        }
    }

    fn visit_item_macro(&mut self, item: &'ast ItemMacro) {
        if test_only(&item.attrs) {
            return;
        }
        let Some(name) = &item.ident else {
            return visit::visit_item_macro(self, item);
        };
        if has(&item.attrs, "macro_export") {
            self.0.export_macro(name);
        }
        // Other paths in a macro are resolved where the macro is called.
        self.0.tokens(&item.mac.tokens, |first| first == "crate");
    }

    fn visit_token_stream(&mut self, tokens: &'ast TokenStream) {
        self.0.tokens(tokens, |_| true);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        self.0.path(path);
        visit::visit_path(self, path);
    }
}

fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|it| it.path().is_ident(name))
}
