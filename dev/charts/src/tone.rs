/// How much a shape is to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// What the chart is about.
    #[default]
    Accent,
    /// What is next to it.
    Soft,
    /// What it is compared with.
    Quiet,
}

impl Tone {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Accent => "accent",
            Self::Soft => "soft",
            Self::Quiet => "quiet",
        }
    }
}
