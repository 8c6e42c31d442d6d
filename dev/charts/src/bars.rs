use crate::figure::figure;
use crate::page::{MARGIN, Page, TOP, WIDTH, width_of};
use crate::tone::Tone;

const BAR: f64 = 20.0;
const STEP: f64 = 27.0;
const HEADING: f64 = 26.0;
const BETWEEN_GROUPS: f64 = 14.0;
/// Shorter bars would be invisible.
const LEAST: f64 = 2.0;

/// The error for a figure that cannot be drawn.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{label} is {value}, which is no length: leave it out with `Bar::none`")]
pub struct NotANumber {
    /// The bar.
    pub label: String,
    /// The value of the bar, which is negative, infinite or NaN.
    pub value: f64,
}

/// A bar with its figure.
#[derive(Debug, Clone)]
#[must_use]
pub struct Bar {
    label: String,
    value: Option<f64>,
    said: String,
    tone: Tone,
}

impl Bar {
    /// Creates a bar with its value as the text at its end: see [`figure()`].
    pub fn new(label: impl Into<String>, value: f64) -> Self {
        Self {
            label: label.into(),
            value: Some(value),
            said: figure(value),
            tone: Tone::default(),
        }
    }

    /// Creates a bar without a figure. `why` states the reason.
    pub fn none(label: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            value: None,
            said: why.into(),
            tone: Tone::default(),
        }
    }

    /// Sets the text at the end of the bar instead of the plain figure, such as `"6.9 ms"`.
    pub fn said(mut self, text: impl Into<String>) -> Self {
        self.said = text.into();
        self
    }

    /// Sets how prominent the bar is.
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
}

/// Bars in groups, on one scale that begins at zero.
#[derive(Debug, Clone)]
#[must_use]
pub struct BarChart {
    title: String,
    subtitle: String,
    groups: Vec<(String, Vec<Bar>)>,
}

impl BarChart {
    /// Creates an empty chart. The subtitle contains the unit, and whether larger or smaller is better.
    pub fn new(title: impl Into<String>, subtitle: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            subtitle: subtitle.into(),
            groups: Vec::new(),
        }
    }

    /// Adds bars under a heading. An empty heading takes no space.
    pub fn group(
        mut self,
        heading: impl Into<String>,
        bars: impl IntoIterator<Item = Bar>,
    ) -> Self {
        let bars = bars.into_iter().collect();
        self.groups.push((heading.into(), bars));
        self
    }

    /// Returns the chart as the text of a file.
    ///
    /// # Errors
    ///
    /// Returns [`NotANumber`] if a value is negative, infinite or NaN.
    pub fn svg(&self) -> Result<String, NotANumber> {
        let largest = self.largest()?;
        let (left, room) = self.columns();
        let mut page = Page::new(&self.title, &self.subtitle);
        let mut y = TOP;
        for (heading, bars) in &self.groups {
            if !heading.is_empty() {
                page.text(MARGIN, y + 14.0, "strong", "start", heading);
                y += HEADING;
            }
            for bar in bars {
                page.text(left - 10.0, y + 14.5, "label", "end", &bar.label);
                let length = match bar.value {
                    Some(value) if largest > 0.0 => (value / largest * room).max(LEAST),
                    Some(_) => LEAST,
                    None => 0.0,
                };
                if bar.value.is_some() {
                    page.bar(left, y, length, BAR, bar.tone.class());
                }
                let class = match (bar.value, bar.tone) {
                    (None, _) => "faint",
                    (Some(_), Tone::Accent) => "strong",
                    (Some(_), _) => "value",
                };
                page.text(left + length + 8.0, y + 14.5, class, "start", &bar.said);
                y += STEP;
            }
            y += BETWEEN_GROUPS;
        }
        Ok(page.finish(y - BETWEEN_GROUPS + MARGIN - (STEP - BAR)))
    }

    fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|(_, bars)| bars)
    }

    fn largest(&self) -> Result<f64, NotANumber> {
        let mut largest = 0.0_f64;
        for bar in self.bars() {
            match bar.value {
                Some(value) if !value.is_finite() || value < 0.0 => {
                    let label = bar.label.clone();
                    return Err(NotANumber { label, value });
                }
                Some(value) => largest = largest.max(value),
                None => {}
            }
        }
        Ok(largest)
    }

    /// Returns where the bars begin, after the longest label, and the maximum length of a bar, before the longest
    /// figure.
    fn columns(&self) -> (f64, f64) {
        let widest = |text: fn(&Bar) -> &str| {
            let widths = self.bars().map(|bar| width_of(text(bar)));
            widths.fold(0.0_f64, f64::max)
        };
        let left = MARGIN + (widest(|bar| &bar.label) + 14.0).min(WIDTH / 2.0);
        let room = WIDTH - MARGIN - left - widest(|bar| &bar.said) - 14.0;
        (left, room.max(60.0))
    }
}
