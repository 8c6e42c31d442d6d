//! Fuzzes the macro with key templates and options that are almost valid.

use fastrand::Rng;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::expand::expand;

/// The number of attributes, unless `LEASEHOLD_DEPTH` multiplies it.
const ATTRIBUTES: u64 = 1_000;

const TEMPLATES: [&str; 7] = [
    "order:{order_id}",
    "{self.shop}:{order.id:05}:{{eu}}",
    "{a}{b}{c}",
    "{items[0].id}",
    "{f(x, \"y\")}:{z?}",
    "{_x:>width$.2?}",
    "nightly",
];

const OPTIONS: [&str; 15] = [
    "ttl = \"30s\"",
    r#"wait = "0s""#,
    r#"wait = "forever""#,
    "max_hold = \"1.5h\"",
    r#"contended = "skip""#,
    r#"lost = "continue""#,
    "guard = lock",
    r#"mode = "read""#,
    "max_concurrent = 3",
    "reentrant",
    "manager = self.locks",
    r#"once = "7d""#,
    r#"keep_failure = "0s""#,
    r#"slot = "0 3 * * *""#,
    "crate = ::vendored::leasehold",
];

#[test]
fn garbled_templates_expand_to_valid_syntax() {
    let number = |variable| std::env::var(variable).ok()?.parse::<u64>().ok();
    let depth = number("LEASEHOLD_DEPTH").unwrap_or(1);
    let mut random = Rng::with_seed(number("LEASEHOLD_SEED").unwrap_or(1));
    let item = quote! {
        async fn ship(&self, order_id: u64, a: A, b: B, c: C) -> Result<(), Error> { pack().await }
    };
    for _ in 0..ATTRIBUTES * depth {
        let attribute = attribute(&mut random);
        let expanded = expand(attribute.clone(), &item).to_string();
        assert!(
            syn::parse_str::<syn::File>(&expanded).is_ok(),
            "{attribute} expands to {expanded}"
        );
    }
}

fn attribute(random: &mut Rng) -> TokenStream {
    let keys = (0..random.usize(1..3)).map(|_| Literal::string(&template(random)));
    let keys: Vec<_> = keys.collect();
    let options: Vec<TokenStream> = (0..random.usize(0..4))
        .filter_map(|_| {
            let option = OPTIONS[random.usize(0..OPTIONS.len())];
            match random.u32(0..4) {
                0 => garbled(option, random).parse().ok(),
                _ => option.parse().ok(),
            }
        })
        .collect();
    quote!(#(#keys),* #(, #options)*)
}

fn template(random: &mut Rng) -> String {
    let template = TEMPLATES[random.usize(0..TEMPLATES.len())];
    garbled(template, random)
}

fn garbled(text: &str, random: &mut Rng) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for _ in 0..random.usize(0..6) {
        let at = random.usize(0..text.len() + 1);
        let to = random.usize(at..text.len() + 1).min(at + 6);
        let marks = [
            "", "{", "}", "{{", "}}", "{}", "{:?}", "{0}", ":", ".", "self", "[", "]", "(", ")",
            "\"", "'", "\\", "r#", "\u{0}", "\n", "é", "😀", "?", "!", "//", "/*", "await", "$",
            "#", "|x| {", " ", ";", "let",
        ];
        let new: Vec<char> = match random.u32(0..4) {
            0 => vec![random.char(..)],
            1 => text[at..to].repeat(random.usize(1..4)),
            _ => marks[random.usize(0..marks.len())].chars().collect(),
        };
        text.splice(at..to, new);
        text.truncate(300);
    }
    text.into_iter().collect()
}
