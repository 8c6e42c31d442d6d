/// How prominent a shape is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// The subject of the chart.
    #[default]
    Accent,
    /// Related to the subject.
    Soft,
    /// For comparison.
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
