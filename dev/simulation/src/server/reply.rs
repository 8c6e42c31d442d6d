//! The replies of the server.

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A status such as `OK`.
    Status(String),
    /// An error, starting with its code.
    Error(String),
    /// A number.
    Int(i64),
    /// A string.
    Text(String),
    /// Nothing.
    Nil,
    /// Several replies.
    List(Vec<Self>),
    /// Pairs.
    Map(Vec<(Self, Self)>),
    /// A push message.
    Push(Vec<Self>),
}

impl Reply {
    pub(super) fn ok() -> Self {
        Self::Status("OK".to_owned())
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn flag(set: bool) -> Self {
        Self::Int(i64::from(set))
    }

    pub(super) fn count(count: usize) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(super) fn maybe(text: Option<&str>) -> Self {
        text.map_or(Self::Nil, Self::text)
    }

    pub(super) fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(Self::text).collect())
    }

    /// Writes the reply in RESP3.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        let mut line = |text: String| {
            to.extend_from_slice(text.as_bytes());
            to.extend_from_slice(b"\r\n");
        };
        match self {
            Self::Status(text) => line(format!("+{text}")),
            Self::Error(text) => line(format!("-{text}")),
            Self::Int(number) => line(format!(":{number}")),
            Self::Nil => line("_".to_owned()),
            Self::Text(text) => {
                line(format!("${}", text.len()));
                line(text.clone());
            }
            Self::List(items) => {
                line(format!("*{}", items.len()));
                items.iter().for_each(|item| item.write(to));
            }
            Self::Push(items) => {
                line(format!(">{}", items.len()));
                items.iter().for_each(|item| item.write(to));
            }
            Self::Map(pairs) => {
                line(format!("%{}", pairs.len()));
                for (key, value) in pairs {
                    key.write(to);
                    value.write(to);
                }
            }
        }
    }
}
