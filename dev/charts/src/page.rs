//! The background and frame of a chart.

use std::fmt::Write;

pub(crate) const WIDTH: f64 = 720.0;
pub(crate) const MARGIN: f64 = 24.0;
/// The top of the chart, below title and subtitle.
pub(crate) const TOP: f64 = 84.0;

/// The approximate width of a character in the small font. SVG cannot measure text.
pub(crate) const LETTER: f64 = 6.6;

const STYLE: &str = "\
text{font-family:ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;\
font-size:12.5px;fill:#3d4450;font-variant-numeric:tabular-nums}\
.card{fill:#ffffff;stroke:#dfe3e8}\
.title{font-size:17px;font-weight:650;fill:#14181f}\
.subtitle,.faint{fill:#6a7280}\
.strong{font-weight:650;fill:#14181f}\
.line{stroke:#dfe3e8}\
.accent{fill:#1f6feb}.soft{fill:#8ab8f8}.quiet{fill:#b6bec9}\
.stroke{stroke-width:2.5;stroke-linecap:round}\
line.accent{stroke:#1f6feb}line.soft{stroke:#8ab8f8}line.quiet{stroke:#b6bec9}\
.on-accent{fill:#ffffff}.on-soft,.on-quiet{fill:#14181f}\
.good{stroke:#1a7f4b;fill:#1a7f4b}.bad{stroke:#cf222e;fill:#cf222e}.plain{stroke:#57606a;fill:#57606a}\
text.good,text.bad,text.plain{stroke:none}\
@media(prefers-color-scheme:dark){\
text{fill:#c4ccd6}\
.card{fill:#14181f;stroke:#2f3641}\
.title,.strong{fill:#f0f3f6}\
.subtitle,.faint{fill:#8f99a6}\
.line{stroke:#2f3641}\
.accent{fill:#4c94ff}.soft{fill:#2f5d9e}.quiet{fill:#565f6c}\
line.accent{stroke:#4c94ff}line.soft{stroke:#2f5d9e}line.quiet{stroke:#565f6c}\
.on-accent{fill:#0b1320}.on-soft,.on-quiet{fill:#f0f3f6}\
.good{stroke:#4cc38a;fill:#4cc38a}.bad{stroke:#ff7b72;fill:#ff7b72}.plain{stroke:#9aa4b1;fill:#9aa4b1}}";

/// The shapes so far, from top to bottom.
#[derive(Debug)]
pub(crate) struct Page {
    title: String,
    subtitle: String,
    shapes: String,
}

impl Page {
    pub(crate) fn new(title: &str, subtitle: &str) -> Self {
        Self {
            title: escaped(title),
            subtitle: escaped(subtitle),
            shapes: String::new(),
        }
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, class: &str, anchor: &str, text: &str) {
        let text = escaped(text);
        self.add(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" class="{class}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    pub(crate) fn bar(&mut self, x: f64, y: f64, width: f64, height: f64, class: &str) {
        self.add(format_args!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="3" class="{class}"/>"#
        ));
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.add(format_args!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" class="{class}"/>"#
        ));
    }

    /// Draws a thick line in a tone.
    pub(crate) fn stroke(&mut self, from: (f64, f64), to: (f64, f64), tone: &str) {
        self.line(from, to, &format!("stroke {tone}"));
    }

    pub(crate) fn dot(&mut self, x: f64, y: f64, class: &str) {
        self.add(format_args!(
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="4.5" class="{class}"/>"#
        ));
    }

    pub(crate) fn finish(self, height: f64) -> String {
        let Self {
            title,
            subtitle,
            shapes,
        } = self;
        let (inner_width, inner_height) = (WIDTH - 1.0, height - 1.0);
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0}" viewBox="0 0 {WIDTH} {height:.0}" role="img" aria-label="{title}: {subtitle}">
<style>{STYLE}</style>
<rect x="0.5" y="0.5" width="{inner_width}" height="{inner_height:.0}" rx="10" class="card"/>
<text x="{MARGIN}" y="38" class="title">{title}</text>
<text x="{MARGIN}" y="59" class="subtitle">{subtitle}</text>
{shapes}</svg>
"#
        )
    }

    fn add(&mut self, shape: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _written = writeln!(self.shapes, "{shape}");
    }
}

/// Returns the approximate width of a text in the small font.
pub(crate) fn width_of(text: &str) -> f64 {
    let letters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    f64::from(letters) * LETTER
}

/// Escapes a text for XML. Characters that are invalid in XML become spaces.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            letter if letter.is_control() => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}
