//! Tests that charts are valid XML, contain their texts, and have bars of the right length.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use leasehold_charts::{Bar, BarChart, Timeline, Tone, Verdict, figure};

/// Checks that all opened elements are closed, in order, and that the texts are escaped.
fn assert_xml(svg: &str) {
    let mut open = Vec::new();
    let mut rest = svg;
    while let Some((text, tag)) = rest.split_once('<') {
        assert!(!text.contains('>'), "a bare > in {text}");
        let (tag, after) = tag.split_once('>').unwrap();
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{svg}");
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap());
        }
        rest = after;
    }
    assert!(open.is_empty(), "{open:?}");
}

/// Returns the lengths of the bars, from top to bottom. The first rectangle is the background.
fn lengths(svg: &str) -> Vec<f64> {
    let bars = svg.lines().filter(|line| line.starts_with("<rect")).skip(1);
    let widths = bars.map(|line| line.split(r#" width=""#).nth(1).unwrap());
    let widths = widths.map(|rest| rest.split('"').next().unwrap());
    widths.map(|width| width.parse().unwrap()).collect()
}

#[test]
fn bar_lengths_are_proportional_to_their_values_across_groups() {
    let svg = BarChart::new("Bought", "more is better")
        .group("small", [Bar::new("one", 10.0), Bar::new("two", 0.0)])
        .group("", [Bar::new("three", 40.0).tone(Tone::Quiet)])
        .group("none", [Bar::none("four", "none bought")])
        .svg()
        .unwrap();
    assert_xml(&svg);
    let [one, two, three] = lengths(&svg)[..] else {
        unreachable!("{svg}");
    };
    assert!((three / one - 4.0).abs() < 0.01, "{one} {three}");
    assert!(
        two > 0.0 && two < 3.0,
        "a zero can be seen, and is no figure"
    );
    assert!(svg.contains("none bought"), "{svg}");
}

#[test]
fn negative_or_non_finite_bar_is_refused_with_its_label() {
    for value in [-1.0, f64::NAN, f64::INFINITY] {
        let chart = BarChart::new("", "").group("", [Bar::new("odd", value)]);
        let refused = chart.svg().unwrap_err();
        assert_eq!(refused.label, "odd");
        assert!(refused.to_string().contains("odd is "), "{refused}");
    }
}

#[test]
fn special_characters_in_texts_keep_the_svg_valid() {
    let nasty = "a < b & \"c\" > d\u{0}";
    let bars = BarChart::new(nasty, nasty).group(nasty, [Bar::new(nasty, 1.0).said(nasty)]);
    assert_xml(&bars.svg().unwrap());
    let at = Duration::from_millis(1);
    let line = Timeline::new(nasty, nasty).lane(nasty);
    let line = line.span(at, at, nasty, Tone::Soft);
    assert_xml(&line.mark(at, nasty, Verdict::Bad).svg());
}

#[test]
fn empty_chart_is_valid_xml() {
    assert_xml(&BarChart::new("", "").svg().unwrap());
    assert_xml(&Timeline::new("", "").svg());
}

#[test]
fn timeline_is_to_scale_and_moments_show_their_verdict() {
    let at = Duration::from_millis;
    let svg = Timeline::new("A pause", "")
        .lane("client 1")
        .span(at(0), at(1000), "holds", Tone::Accent)
        .span(at(1000), at(3000), "stopped", Tone::Quiet)
        .mark(
            at(4000),
            "refused, and that is a long way to say it",
            Verdict::Good,
        )
        .svg();
    assert_xml(&svg);
    let [holds, stopped] = lengths(&svg)[..] else {
        unreachable!("{svg}");
    };
    assert!((stopped / holds - 2.0).abs() < 0.01, "{holds} {stopped}");
    assert!(svg.contains(r#"class="good" text-anchor="end""#), "{svg}");
    assert!(svg.contains(">4.0 s<"), "{svg}");
}

#[test]
fn figures_are_rounded_and_grouped_by_thousands() {
    let thin = '\u{202f}';
    assert_eq!(figure(1_234_567.0), format!("1{thin}234{thin}567"));
    assert_eq!(figure(-1_000.0), format!("-1{thin}000"));
    assert_eq!(
        [figure(999.6), figure(14.04), figure(7.0)],
        [format!("1{thin}000"), "14.0".into(), "7".into()]
    );
}
