//! Key templates with parameters: `order:{id}`.

use std::borrow::Cow;

use leasehold_core::Key;

/// A parsed template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Parameter(String),
}

impl Template {
    /// Parses a template: `{name}` is a parameter, `{{` and `}}` are literal braces.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = from.strip_prefix("{{") {
                plain.push('{');
                rest = after;
            } else if let Some(after) = from.strip_prefix("}}") {
                plain.push('}');
                rest = after;
            } else if let Some(inside) = from.strip_prefix('{') {
                let (name, after) = inside
                    .split_once('}')
                    .ok_or("a `{` is not closed; write `{{` for a literal brace")?;
                let good = |c: char| c.is_alphanumeric() || c == '_';
                if name.is_empty() || !name.chars().all(good) {
                    return Err(format!("`{{{name}}}` is not a parameter; write `{{id}}`"));
                }
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(Piece::Parameter(name.to_owned()));
                rest = after;
            } else {
                return Err("a `}` without a `{`; write `}}` for a literal brace".to_owned());
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self { pieces })
    }

    pub(super) fn has_parameters(&self) -> bool {
        let is_parameter = |piece: &Piece| matches!(piece, Piece::Parameter(_));
        self.pieces.iter().any(is_parameter)
    }

    pub(super) fn names(&self, parameter: &str) -> bool {
        let is_it = |piece: &Piece| matches!(piece, Piece::Parameter(name) if name == parameter);
        self.pieces.iter().any(is_it)
    }

    /// Returns the text with its parameters filled in. Escapes `:` and `%` in a parameter.
    pub(super) fn fill<'v, E>(
        &self,
        value: impl Fn(&str) -> Result<Cow<'v, str>, E>,
    ) -> Result<String, E> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Parameter(name) => text.push_str(&Key::escape(&value(name)?)),
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::Template;

    #[test]
    fn template_fills_parameters_and_unescapes_doubled_braces() {
        let values = |name: &str| match name {
            "id" => Ok("7".into()),
            "name" => Ok("a:b%".into()),
            "way" => Ok("b/d".into()),
            other => Err(other.to_owned()),
        };
        for (template, filled) in [
            ("all", Ok("all")),
            ("order:{id}", Ok("order:7")),
            ("{id}{way}!", Ok("7b/d!")),
            ("{name}:{id}", Ok("a%3Ab%25:7")),
            ("order:{{{id}}}", Ok("order:{7}")),
            ("{it}", Err("it".to_owned())),
        ] {
            let parsed = Template::parse(template).unwrap();
            assert_eq!(parsed.fill(values), filled.map(str::to_owned), "{template}");
        }
    }

    #[test]
    fn parse_error_contains_the_remedy() {
        for (template, remedy) in [
            ("order:{id", "`{{`"),
            ("order:id}", "`}}`"),
            ("order:{}", "write `{id}`"),
            ("order:{*rest}", "write `{id}`"),
        ] {
            let error = Template::parse(template).unwrap_err();
            assert!(error.contains(remedy), "{template}: {error}");
        }
    }
}
