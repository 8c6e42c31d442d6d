//! The compiler's messages for code that does not compile.
//!
//! Each file of `tests/ui` is compiled against the libraries of this test, so nothing is compiled for it alone. The
//! messages must equal the `.stderr` file next to the case. With `LEASEHOLD_UI=overwrite`, the test writes these files.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

const LIBRARIES: &[&str] = leasehold_ui_arguments::library_arguments!();

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// The folder of the cases in the workspace.
const CASES: &str = "dev/ui/tests/ui/";

#[test]
fn each_invalid_use_has_the_expected_compile_error() {
    let cases = cases();
    assert!(cases.len() > 30, "{cases:?}");
    let overwrites = env::var("LEASEHOLD_UI").is_ok_and(|it| it == "overwrite");
    let wrong = Mutex::new(Vec::new());
    let half = cases.len().div_ceil(2);
    thread::scope(|scope| {
        for cases in cases.chunks(half) {
            let wrong = &wrong;
            scope.spawn(move || {
                for case in cases {
                    let file = case.with_extension("stderr");
                    let messages = messages(case);
                    if overwrites {
                        fs::write(&file, &messages).unwrap();
                    }
                    let expected = fs::read_to_string(&file).unwrap_or_default();
                    if expected != messages {
                        let case = case.display();
                        let wrong_case =
                            format!("{case}\nEXPECTED:\n{expected}\nACTUAL:\n{messages}");
                        wrong.lock().unwrap().push(wrong_case);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the paths of all cases.
fn cases() -> Vec<PathBuf> {
    let mut cases = Vec::new();
    for folder in fs::read_dir(workspace().join(CASES)).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|it| it == "rs") {
                cases.push(path);
            }
        }
    }
    cases.sort();
    cases
}

/// Compiles a case, and returns the errors and warnings.
fn messages(case: &Path) -> String {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(rustc)
        .args([
            "--edition=2024",
            "--emit=metadata",
            "--color=never",
            "--verbose",
        ])
        .args(["--diagnostic-width=140", "-Adead_code", "--out-dir"])
        .arg(folder.path())
        .args(LIBRARIES)
        .arg(case.strip_prefix(workspace()).unwrap())
        // The libraries were compiled there, so the compiler finds their sources.
        .current_dir(workspace())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    let case = case.display();
    assert!(!output.status.success(), "{case} compiles: {messages}");
    normalized(&messages)
}

fn workspace() -> &'static Path {
    Path::new(PACKAGE).ancestors().nth(2).unwrap()
}

/// Removes what differs between machines and versions of the libraries: their folders and the numbers of their lines.
fn normalized(messages: &str) -> String {
    let summary = |it: &&str| SUMMARIES.iter().any(|start| it.starts_with(start));
    let lines: Vec<&str> = messages.lines().filter(|it| !summary(it)).collect();
    let messages = lines.split(|it| it.is_empty());
    let messages = messages.filter(|it| !it.is_empty()).map(message);
    messages.collect::<Vec<_>>().join("\n")
}

/// The beginnings of the lines after the messages.
const SUMMARIES: [&str; 3] = [
    "error: aborting due to",
    "For more information about ",
    "Some errors have detailed explanations",
];

fn message(lines: &[&str]) -> String {
    let (mut is_own, mut is_shown, mut width, mut own_width) = (true, true, 1, 1);
    let mut kept = Vec::new();
    for line in lines {
        let place = line.split_once("--> ").or_else(|| line.split_once("::: "));
        if let Some((indent, place)) = place {
            width = indent.len();
            is_own = place.starts_with(CASES);
            let shown = match place.strip_prefix("dev/ui/") {
                Some(own) if is_own => own.to_owned(),
                _ => library_path(place),
            };
            // Not each machine has the sources of the standard library.
            is_shown = !shown.starts_with("$RUST");
            kept.push(line.replace(place, &shown));
            continue;
        }
        if line.starts_with(char::is_alphabetic) {
            // Without a place, the code that follows is the case.
            (is_own, is_shown) = (true, true);
        }
        let gutter = line.split_once('|').map_or("", |(gutter, _)| gutter);
        let number = gutter.trim();
        let is_code = line.starts_with("...")
            || line.trim_start().starts_with('|')
            || !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
        match is_code {
            true if !is_shown => {}
            true if is_own => {
                own_width = own_width.max(number.len());
                kept.push((*line).to_owned());
            }
            true => kept.push(line.replacen(number, &" ".repeat(number.len()), 1)),
            false => kept.push((*line).to_owned()),
        }
    }
    // The numbers of the libraries' lines may be longer.
    let longer = " ".repeat(width.saturating_sub(own_width));
    let mut text = String::new();
    for line in kept {
        text += line.strip_prefix(&longer).unwrap_or(&line).trim_end();
        text.push('\n');
    }
    text
}

/// Returns the path of a library's file without its folder, its version, and the number of the line.
fn library_path(place: &str) -> String {
    let path = place.rsplitn(3, ':').last().unwrap_or(place);
    if let Some((_, path)) = path.split_once("/registry/src/") {
        let mut parts = path.splitn(3, '/').skip(1);
        let package = parts.next().unwrap_or_default();
        let name = package.rsplit_once('-').map_or(package, |it| it.0);
        return format!(
            "$CARGO/{name}-$VERSION/{}",
            parts.next().unwrap_or_default()
        );
    }
    match path.split_once("/library/") {
        Some((_, path)) => format!("$RUST/{path}"),
        None => format!("$WORKSPACE/{path}"),
    }
}
