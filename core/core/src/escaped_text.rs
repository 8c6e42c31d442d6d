//! Prints text from outside the crate, and escapes its control characters and invisible characters.

use std::fmt;
use std::fmt::Write;

/// Text from outside the crate, as errors show it: on one line, and without changes of the text direction.
pub(crate) struct Shown<'a>(pub(crate) &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| {
            match character.is_control() || is_invisible(character) {
                true => write!(f, "{}", character.escape_unicode()),
                false => f.write_char(character),
            }
        })
    }
}

/// Returns whether the character ends a line, changes the text direction, or is invisible.
const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use crate::{FencingToken, Key};

    #[test]
    fn control_and_bidi_characters_in_errors_are_escaped() {
        let bad = [
            '\n', '\r', '\u{1b}', '\u{85}', '\u{2028}', '\u{202e}', '\u{2066}',
        ];
        for character in bad {
            let text = format!("a{character}}}");
            let token = text.parse::<FencingToken>().unwrap_err().to_string();
            let key = Key::new("lock:", &text).unwrap_err().to_string();
            for said in [token, key] {
                assert!(!said.contains(character), "{said:?}");
                let escaped = character.escape_unicode().to_string();
                assert!(said.contains(&escaped), "{said}");
            }
        }
        let key = Key::new("lock:", "a\u{202e}b").unwrap();
        assert_eq!(key.to_string(), "a\\u{202e}b");
        assert_eq!(key.name(), "a\u{202e}b");
        let ordinary = "größe \"7\" '\\' e\u{301} 鍵";
        assert_eq!(Key::new("", ordinary).unwrap().to_string(), ordinary);
    }
}
