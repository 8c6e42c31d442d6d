//! Checks that every relative link in Markdown points to an existing file, and to an existing heading if it names one.
//!
//! The check reads the Markdown files in the root of the workspace and under `docs`, and the `README.md` of each
//! member. Links in code blocks and code spans are ignored. Links with a scheme, such as `https://`, are not checked.

use std::collections::HashMap;
use std::fs;

use super::Verdict;
use super::sources::{self, Source};
use crate::error::Error;
use crate::workspace::Workspace;

pub(super) fn check(workspace: &Workspace) -> Result<Verdict, Error> {
    let mut verdict = Verdict::default();
    let pages = pages(workspace)?;
    let mut count = 0;
    for page in &pages {
        for link in links(&page.text) {
            count += 1;
            if let Some(why) = problem(page, &link.target) {
                let Link { line, target } = link;
                let fault = format!("{}:{line}: {target}: {why}", page.shown);
                verdict.faults.push(fault);
            }
        }
    }
    if pages.is_empty() {
        verdict.faults.push("there is no Markdown file".to_owned());
    }
    let read = format!("{} files read, {count} relative links", pages.len());
    verdict.notes.push(read);
    Ok(verdict)
}

fn pages(workspace: &Workspace) -> Result<Vec<Source>, Error> {
    let mut paths = Vec::new();
    sources::collect(&workspace.root, "md", false, &mut paths)?;
    let docs = workspace.root.join("docs");
    if docs.is_dir() {
        sources::collect(&docs, "md", true, &mut paths)?;
    }
    let members = workspace.members.iter().map(|it| it.dir.join("README.md"));
    paths.extend(members.filter(|path| path.is_file()));
    paths.sort();
    paths.dedup();
    let read = |path| sources::read(workspace, path);
    paths.into_iter().map(read).collect()
}

/// Returns why the target of a link does not exist.
fn problem(page: &Source, target: &str) -> Option<String> {
    let (file, heading) = match target.split_once('#') {
        Some((file, heading)) => (file, Some(heading)),
        None => (target, None),
    };
    let text = if file.is_empty() {
        page.text.clone()
    } else {
        let path = page.path.parent().unwrap_or(&page.path).join(file);
        if !path.exists() {
            return Some("there is no such file".to_owned());
        }
        // Only text files have headings.
        fs::read_to_string(path).unwrap_or_default()
    };
    let heading = heading?;
    if headings(&text).any(|it| it == heading) {
        return None;
    }
    Some("there is no such heading".to_owned())
}

/// A relative link.
#[derive(Debug, PartialEq, Eq)]
struct Link {
    line: usize,
    target: String,
}

fn links(markdown: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (line, text) in prose(markdown) {
        let text = without_code_spans(text);
        let mut targets: Vec<&str> = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', ' ']).next())
            .collect();
        // A reference definition: `[name]: target`.
        if text.starts_with('[')
            && let Some((_, target)) = text.split_once("]: ")
        {
            targets.push(target.trim());
        }
        let is_relative =
            |it: &&str| !it.is_empty() && !it.contains("://") && !it.starts_with("mailto:");
        links.extend(targets.into_iter().filter(is_relative).map(|target| Link {
            line,
            target: target.to_owned(),
        }));
    }
    links
}

/// Returns the lines outside of code blocks, each with its number.
fn prose(markdown: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<usize> = None;
    let outside = move |(at, line): (usize, &'_ str)| {
        let trimmed = line.trim_start();
        let ticks = trimmed.chars().take_while(|it| *it == '`').count();
        match fence {
            None if ticks >= 3 => fence = Some(ticks),
            Some(open) if ticks >= open && trimmed.trim_end().len() == ticks => fence = None,
            None => return Some(at + 1),
            Some(_) => {}
        }
        None
    };
    let numbers = markdown.lines().enumerate().map(outside);
    let lines = numbers.zip(markdown.lines());
    lines.filter_map(|(number, line)| Some((number?, line)))
}

fn without_code_spans(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// Returns the anchors of the headings, as GitHub generates them.
fn headings(markdown: &str) -> impl Iterator<Item = String> {
    let mut seen = HashMap::<String, usize>::new();
    prose(markdown).filter_map(move |(_, line)| {
        let text = line.trim_start_matches('#');
        let level = line.len() - text.len();
        let title = text
            .strip_prefix(' ')
            .filter(|_| (1..=6).contains(&level))?;
        let name = anchor(title);
        let before = seen.entry(name.clone()).or_default();
        *before += 1;
        Some(match *before {
            1 => name,
            nth => format!("{name}-{}", nth - 1),
        })
    })
}

fn anchor(title: &str) -> String {
    let kept = title.trim().chars().filter_map(|it| match it {
        ' ' => Some('-'),
        '-' | '_' => Some(it),
        _ => it.is_alphanumeric().then_some(it),
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(markdown: &str) -> Vec<(usize, String)> {
        let found = links(markdown).into_iter();
        found.map(|it| (it.line, it.target)).collect()
    }

    #[test]
    fn links_returns_relative_links_outside_of_code() {
        let markdown = "[a](one.md) ![b](two.svg) [`c`](#three \"title\")\n\
                        [d](https://example.org/x.md) `[e](four.md)`\n\
                        ```text\n[f](five.md)\n```\n\
                        [g]: six.md\n";
        let expected = [(1, "one.md"), (1, "two.svg"), (1, "#three"), (6, "six.md")];
        assert_eq!(
            targets(markdown),
            expected.map(|(line, target)| (line, target.to_owned()))
        );
    }

    #[test]
    fn headings_are_named_as_github_names_them() {
        let markdown = "# Locks, and `run`\n## When *not* to use it?\n```\n# code\n```\n## Locks, and `run`\n#tag\n";
        let names: Vec<String> = headings(markdown).collect();
        assert_eq!(
            names,
            ["locks-and-run", "when-not-to-use-it", "locks-and-run-1"]
        );
    }
}
