use std::time::Duration;

use crate::page::{MARGIN, Page, TOP, WIDTH, width_of};
use crate::tone::Tone;

const BAR: f64 = 26.0;
/// The height of a line of text next to the marks.
const TEXT: f64 = 18.0;
const BETWEEN_LANES: f64 = 20.0;
const AXIS: f64 = 30.0;

/// The judgement of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The expected result.
    Good,
    /// A wrong result.
    Bad,
    /// Neither good nor bad.
    Plain,
}

impl Verdict {
    fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Plain => "plain",
        }
    }
}

#[derive(Debug, Clone)]
struct Span {
    from: Duration,
    to: Duration,
    text: String,
    tone: Tone,
}

#[derive(Debug, Clone)]
struct Mark {
    at: Duration,
    text: String,
    verdict: Verdict,
}

#[derive(Debug, Clone)]
struct Lane {
    name: String,
    spans: Vec<Span>,
    marks: Vec<Mark>,
}

/// A timeline with a lane for each participant, and spans and marked moments on the lanes.
///
/// ```
/// use std::time::Duration;
/// use leasehold_charts::{Timeline, Tone, Verdict};
///
/// let at = Duration::from_millis;
/// let svg = Timeline::new("A pause", "seconds")
///     .lane("client 1")
///     .span(at(0), at(900), "holds the lock", Tone::Accent)
///     .mark(at(1500), "late write refused", Verdict::Good)
///     .svg();
/// assert!(svg.contains("late write refused"));
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Timeline {
    title: String,
    subtitle: String,
    lanes: Vec<Lane>,
}

impl Timeline {
    /// Creates an empty timeline.
    pub fn new(title: impl Into<String>, subtitle: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            subtitle: subtitle.into(),
            lanes: Vec::new(),
        }
    }

    /// Adds a lane. Later spans and marks belong to it.
    pub fn lane(mut self, name: impl Into<String>) -> Self {
        self.lanes.push(Lane {
            name: name.into(),
            spans: Vec::new(),
            marks: Vec::new(),
        });
        self
    }

    /// Adds a span to the last lane. Without a lane, the span is ignored.
    pub fn span(
        mut self,
        from: Duration,
        to: Duration,
        text: impl Into<String>,
        tone: Tone,
    ) -> Self {
        if let Some(lane) = self.lanes.last_mut() {
            lane.spans.push(Span {
                from,
                to: to.max(from),
                text: text.into(),
                tone,
            });
        }
        self
    }

    /// Adds a moment to the last lane. Without a lane, the moment is ignored.
    pub fn mark(mut self, at: Duration, text: impl Into<String>, verdict: Verdict) -> Self {
        if let Some(lane) = self.lanes.last_mut() {
            lane.marks.push(Mark {
                at,
                text: text.into(),
                verdict,
            });
        }
        self
    }

    /// Returns the timeline as the text of a file.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut page = Page::new(&self.title, &self.subtitle);
        let names = self.lanes.iter().map(|lane| width_of(&lane.name));
        let left = MARGIN + names.fold(0.0, f64::max) + 16.0;
        let end = self.end().as_secs_f64();
        let scale = (WIDTH - MARGIN - 8.0 - left) / end;
        let x = |at: Duration| left + at.as_secs_f64() * scale;
        let mut y = TOP;
        for lane in &self.lanes {
            page.text(MARGIN, y + 17.5, "strong", "start", &lane.name);
            page.line(
                (left, y + BAR / 2.0),
                (WIDTH - MARGIN, y + BAR / 2.0),
                "line",
            );
            for span in &lane.spans {
                let (from, width) = (x(span.from), (x(span.to) - x(span.from)).max(3.0));
                page.bar(from, y, width, BAR, span.tone.class());
                if width_of(&span.text) + 8.0 <= width {
                    let class = format!("on-{}", span.tone.class());
                    let middle = from + width / 2.0;
                    page.text(middle, y + 17.5, &class, "middle", &span.text);
                }
            }
            y += BAR + draw_marks(&mut page, lane, y, &x) + BETWEEN_LANES;
        }
        draw_axis(&mut page, y, end, left, scale);
        page.finish(y + AXIS + 6.0)
    }

    fn end(&self) -> Duration {
        let spans = self.lanes.iter().flat_map(|lane| &lane.spans);
        let marks = self.lanes.iter().flat_map(|lane| &lane.marks);
        let ends = spans.map(|span| span.to).chain(marks.map(|mark| mark.at));
        ends.max().unwrap_or_default().max(Duration::from_millis(1))
    }
}

/// Draws the marks of a lane, each with its own line of text. Returns the height of all lines.
fn draw_marks(page: &mut Page, lane: &Lane, y: f64, x: &dyn Fn(Duration) -> f64) -> f64 {
    let mut height = 0.0;
    for mark in &lane.marks {
        let (at, class) = (x(mark.at), mark.verdict.class());
        height += TEXT;
        let line = y + BAR + height;
        page.line((at, y + BAR / 2.0), (at, line - 4.0), class);
        page.dot(at, y + BAR / 2.0, class);
        let fits = at + 8.0 + width_of(&mark.text) <= WIDTH - MARGIN;
        let (beside, anchor) = if fits { (7.0, "start") } else { (-7.0, "end") };
        page.text(at + beside, line, class, anchor, &mark.text);
    }
    height
}

fn draw_axis(page: &mut Page, y: f64, end: f64, left: f64, scale: f64) {
    let step = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];
    let step = step.into_iter().find(|step| end / step <= 10.0);
    let step = step.unwrap_or(end / 10.0);
    page.line((left, y), (WIDTH - MARGIN, y), "line");
    let mut count = 0.0;
    while count * step <= end {
        let (at, x) = (count * step, left + count * step * scale);
        page.line((x, y), (x, y + 5.0), "line");
        page.text(x, y + 20.0, "faint", "middle", &format!("{at:.1} s"));
        count += 1.0;
    }
}
