//! Checks that every guarantee names existing tests.
//!
//! The guarantees are in the file `src/guarantees.rs` of a member, and in the folder of that name. Their documentation
//! consists of points, `- …`. Each point names at least one test in backticks, as `crate::binary::module::test`.

use super::Verdict;
use super::named_tests::{NamedTests, Wrong};
use super::sources;
use crate::error::Error;
use crate::workspace::Workspace;

const CHAPTER: &str = "src/guarantees.rs";

pub(super) fn check(workspace: &Workspace) -> Result<Verdict, Error> {
    let mut verdict = Verdict::default();
    let chapters = workspace.members.iter().map(|it| it.dir.join(CHAPTER));
    let Some(path) = chapters.into_iter().find(|path| path.is_file()) else {
        verdict.faults.push(format!("no member has a {CHAPTER}"));
        return Ok(verdict);
    };
    let mut chapters = sources::under(workspace, &path.with_extension(""))?;
    chapters.push(sources::read(workspace, path)?);
    let mut tests = NamedTests::of(workspace);
    let (mut count, mut named) = (0, 0);
    let points = chapters.iter().flat_map(|chapter| {
        let points = points(&chapter.text).into_iter();
        points.map(|point| (&chapter.shown, point))
    });
    for (shown, point) in points {
        count += 1;
        let names = point.names(workspace);
        if names.is_empty() {
            verdict
                .faults
                .push(format!("{shown}:{}: names no test", point.line));
        }
        for name in names {
            named += 1;
            if let Err(Wrong(why)) = tests.look_up(&name)? {
                let line = point.line;
                verdict
                    .faults
                    .push(format!("{shown}:{line}: {name}: {why}"));
            }
        }
    }
    if count == 0 {
        verdict.faults.push(format!("{CHAPTER} has no point"));
    }
    verdict
        .notes
        .push(format!("{count} points, which name {named} tests"));
    Ok(verdict)
}

/// A point of the documentation, with its lines joined.
#[derive(Debug, PartialEq, Eq)]
struct Point {
    line: usize,
    text: String,
}

fn points(chapter: &str) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    let mut goes_on = false;
    for (at, line) in chapter.lines().enumerate() {
        let text = line.strip_prefix("//!").unwrap_or_default();
        if let Some(begin) = text.strip_prefix(" - ") {
            points.push(Point {
                line: at + 1,
                text: begin.to_owned(),
            });
            goes_on = true;
        } else if goes_on && text.starts_with("   ") {
            if let Some(point) = points.last_mut() {
                point.text.push_str(text);
            }
        } else {
            goes_on = false;
        }
    }
    points
}

impl Point {
    /// Returns the texts in backticks that begin with the name of a member.
    fn names(&self, workspace: &Workspace) -> Vec<String> {
        let spans = self.text.split('`').skip(1).step_by(2);
        let names = spans.filter(|span| {
            span.split_once("::").is_some_and(|(first, _)| {
                let mut members = workspace.members.iter();
                members.any(|it| it.name.replace('-', "_") == first)
            })
        });
        names.map(ToOwned::to_owned).collect()
    }
}
