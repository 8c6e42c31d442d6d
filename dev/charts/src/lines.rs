use crate::bars::NotANumber;
use crate::figure::figure;
use crate::page::{MARGIN, Page, TOP, WIDTH, width_of};
use crate::tone::Tone;

const LEGEND: f64 = 24.0;
const HEIGHT: f64 = 220.0;
const AXIS: f64 = 30.0;
/// The maximum number of parts of the scale.
const PARTS: f64 = 5.0;

#[derive(Debug, Clone)]
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
    tone: Tone,
}

/// A line chart over steps of equal width, on a scale that begins at zero.
///
/// ```
/// use leasehold_charts::{LineChart, Tone};
///
/// let svg = LineChart::new("Cost of a lock", "µs, by the number of tasks; less is better")
///     .line("by hand", [(1.0, 40.0), (1_000.0, 22.0)], Tone::Quiet)
///     .line("Leasehold", [(1.0, 48.0), (1_000.0, 25.0)], Tone::Accent)
///     .svg()?;
/// assert!(svg.contains("1\u{202f}000") && svg.contains("Leasehold"));
/// # Ok::<(), leasehold_charts::NotANumber>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct LineChart {
    title: String,
    subtitle: String,
    lines: Vec<Line>,
}

impl LineChart {
    /// Creates an empty chart. The subtitle contains the units, and whether larger or smaller is better.
    pub fn new(title: impl Into<String>, subtitle: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            subtitle: subtitle.into(),
            lines: Vec::new(),
        }
    }

    /// Adds a line. The first number of each point is its step.
    pub fn line(
        mut self,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
        tone: Tone,
    ) -> Self {
        self.lines.push(Line {
            name: name.into(),
            points: points.into_iter().collect(),
            tone,
        });
        self
    }

    /// Returns the chart as the text of a file.
    ///
    /// # Errors
    ///
    /// Returns [`NotANumber`] if a figure is negative, infinite or NaN.
    pub fn svg(&self) -> Result<String, NotANumber> {
        let (steps, largest) = (self.steps()?, self.largest());
        let mut page = Page::new(&self.title, &self.subtitle);
        let mut x = MARGIN;
        for line in &self.lines {
            page.dot(x + 5.0, TOP - 4.0, line.tone.class());
            page.text(x + 15.0, TOP, "label", "start", &line.name);
            x += width_of(&line.name) + 35.0;
        }
        let bottom = TOP + LEGEND + HEIGHT;
        let part = step_of(largest);
        let parts = (largest / part).ceil().max(1.0) as u32;
        let top = f64::from(parts) * part;
        let left = MARGIN + width_of(&figure(top)) + 10.0;
        let at_y = |value: f64| bottom - value / top * HEIGHT;
        for value in (0..=parts).map(|it| f64::from(it) * part) {
            let y = at_y(value);
            page.line((left, y), (WIDTH - MARGIN, y), "line");
            page.text(left - 10.0, y + 4.0, "faint", "end", &figure(value));
        }
        let room = WIDTH - MARGIN - left - 60.0;
        let gaps = steps.len().saturating_sub(1).max(1) as f64;
        let at_x = |value: f64| {
            let place = steps.iter().take_while(|step| **step < value).count();
            left + 30.0 + place as f64 / gaps * room
        };
        for &step in &steps {
            page.text(at_x(step), bottom + 20.0, "faint", "middle", &figure(step));
        }
        for line in &self.lines {
            for pair in line.points.windows(2) {
                let [from, to] = [pair[0], pair[1]].map(|(x, y)| (at_x(x), at_y(y)));
                page.stroke(from, to, line.tone.class());
            }
            for &(x, y) in &line.points {
                page.dot(at_x(x), at_y(y), line.tone.class());
            }
        }
        Ok(page.finish(bottom + AXIS + MARGIN / 2.0))
    }

    /// Returns all steps in order, each once.
    fn steps(&self) -> Result<Vec<f64>, NotANumber> {
        let mut steps = Vec::new();
        for line in &self.lines {
            for &(x, y) in &line.points {
                if let Some(value) = [x, y].into_iter().find(|it| !it.is_finite() || *it < 0.0) {
                    let label = line.name.clone();
                    return Err(NotANumber { label, value });
                }
                steps.push(x);
            }
        }
        steps.sort_by(f64::total_cmp);
        steps.dedup();
        Ok(steps)
    }

    fn largest(&self) -> f64 {
        let points = self.lines.iter().flat_map(|line| &line.points);
        points.map(|point| point.1).fold(0.0, f64::max)
    }
}

/// Returns one, two or five times a power of ten, so that few steps reach the largest value.
fn step_of(largest: f64) -> f64 {
    if largest <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf((largest / PARTS).log10().floor());
    let mut round = [1.0, 2.0, 5.0].into_iter().map(|it| it * power);
    round
        .find(|step| largest / step <= PARTS)
        .unwrap_or(10.0 * power)
}
