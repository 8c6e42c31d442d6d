//! Tests that line charts are valid XML, are to scale, and refuse invalid figures.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use leasehold_charts::{LineChart, Tone};

/// Returns the heights of the points of a tone, in the order of the file. The first one belongs to the legend.
fn heights(svg: &str, tone: &str) -> Vec<f64> {
    let class = format!(r#"class="{tone}""#);
    let dots = svg
        .lines()
        .filter(|it| it.starts_with("<circle") && it.contains(&class));
    let heights = dots.map(|line| line.split(r#" cy=""#).nth(1).unwrap());
    heights
        .map(|it| it.split('"').next().unwrap().parse().unwrap())
        .collect()
}

#[test]
fn point_heights_are_proportional_to_their_values() {
    let svg = LineChart::new("Cost", "less is better")
        .line(
            "one",
            [(1.0, 0.0), (10.0, 10.0), (100.0, 30.0)],
            Tone::Accent,
        )
        .line("two", [(1.0, 20.0), (100.0, 20.0)], Tone::Quiet)
        .svg()
        .unwrap();
    let [_, zero, ten, thirty] = heights(&svg, "accent")[..] else {
        unreachable!("{svg}");
    };
    assert!((3.0 * (zero - ten) - (zero - thirty)).abs() < 0.5, "{svg}");
    let [_, first, last] = heights(&svg, "quiet")[..] else {
        unreachable!("{svg}");
    };
    assert!((first - last).abs() < 0.01 && first < ten, "{svg}");
    assert_eq!(
        svg.matches(r#"<line x1="#).count() - svg.matches("stroke ").count(),
        4
    );
}

#[test]
fn negative_or_non_finite_point_is_refused_with_its_label() {
    for value in [-1.0, f64::NAN, f64::INFINITY] {
        let chart = LineChart::new("", "").line("odd", [(1.0, value)], Tone::Soft);
        assert_eq!(chart.svg().unwrap_err().label, "odd");
    }
}

#[test]
fn empty_chart_and_chart_of_zeros_are_drawn() {
    assert!(LineChart::new("", "").svg().unwrap().ends_with("</svg>\n"));
    let flat = LineChart::new("", "").line("flat", [(1.0, 0.0), (2.0, 0.0)], Tone::Soft);
    let svg = flat.svg().unwrap();
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}
