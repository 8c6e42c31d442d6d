//! Splits the text of a key into literal text and placeholders.

/// A piece of a key.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece {
    /// Literal text, with braces unescaped.
    Text(String),
    /// `{source:format}`. The format includes the colon.
    Placeholder { source: String, format: String },
}

/// Splits `text` at its placeholders. Also returns a message for each mistake.
pub(crate) fn cut(text: &str) -> (Vec<Piece>, Vec<String>) {
    let (mut pieces, mut mistakes) = (Vec::new(), Vec::new());
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        let after = &rest[at + 1..];
        if let Some(behind) = after.strip_prefix(brace) {
            plain.push_str(brace);
            rest = behind;
        } else if brace == "}" {
            mistakes.push("a `}` without a `{`: write `}}` for a literal brace".to_owned());
            rest = after;
        } else if let Some((inside, behind)) = placeholder(after) {
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(inside);
            rest = behind;
        } else {
            mistakes.push(format!(
                "the placeholder `{{{after}` is not closed: write `}}` behind it, or `{{{{` for a literal brace"
            ));
            rest = "";
        }
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    (pieces, mistakes)
}

/// Returns the placeholder before the closing brace, and the text after it.
fn placeholder(text: &str) -> Option<(Piece, &str)> {
    let mut depth = 0_usize;
    let mut colon = None;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '}' if depth == 0 => {
                let (source, format) = text[..at].split_at(colon.unwrap_or(at));
                let piece = Piece::Placeholder {
                    source: source.to_owned(),
                    format: format.to_owned(),
                };
                return Some((piece, &text[at + 1..]));
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '"' => skip_string(&mut characters),
            ':' if depth == 0 && colon.is_none() => {
                let is_path = characters.next_if(|(_, next)| *next == ':').is_some();
                colon = (!is_path).then_some(at);
            }
            _ => {}
        }
    }
    None
}

fn skip_string(characters: &mut impl Iterator<Item = (usize, char)>) {
    while let Some((_, character)) = characters.next() {
        match character {
            '"' => return,
            '\\' => drop(characters.next()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    fn placeholder(source: &str, format: &str) -> Piece {
        Piece::Placeholder {
            source: source.to_owned(),
            format: format.to_owned(),
        }
    }

    #[test]
    fn cut_separates_text_and_placeholders() {
        let cases = [
            ("nightly", vec![text("nightly")]),
            ("order:{id}", vec![text("order:"), placeholder("id", "")]),
            (
                "{id:05}{n}",
                vec![placeholder("id", ":05"), placeholder("n", "")],
            ),
            ("{a::b(1)}", vec![placeholder("a::b(1)", "")]),
            ("{a::<B>::c:?}", vec![placeholder("a::<B>::c", ":?")]),
            (
                "{f(|x: u8| { x })}!",
                vec![placeholder("f(|x: u8| { x })", ""), text("!")],
            ),
            (r#"{m["}\":"]}"#, vec![placeholder(r#"m["}\":"]"#, "")]),
            (
                "{{{id}}}",
                vec![text("{"), placeholder("id", ""), text("}")],
            ),
            ("{}", vec![placeholder("", "")]),
            ("é{id}é", vec![text("é"), placeholder("id", ""), text("é")]),
        ];
        for (key, pieces) in cases {
            assert_eq!(cut(key), (pieces, vec![]), "{key}");
        }
    }

    #[test]
    fn cut_reports_each_unbalanced_brace() {
        for (key, mistakes) in [
            ("a}b}c", 2),
            ("a{b", 1),
            ("{a}{b(}", 1),
            ("{a\"}", 1),
            ("}{", 2),
        ] {
            assert_eq!(cut(key).1.len(), mistakes, "{key}");
        }
    }
}
