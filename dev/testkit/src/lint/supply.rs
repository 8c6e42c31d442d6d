//! Checks the sources and licences of dependencies with the rules of `deny.toml`.
//!
//! The check is a subset of `cargo deny check` that takes a second and needs no other program. It does not check known
//! vulnerabilities of a version.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;
use spdx::{Expression, ParseMode};
use toml::Table;

use super::Verdict;
use crate::error::Error;
use crate::workspace::{Workspace, cargo};

const POLICY: &str = "deny.toml";

pub(super) fn check(workspace: &Workspace) -> Result<Verdict, Error> {
    let path = workspace.root.join(POLICY);
    let text = fs::read_to_string(&path).map_err(|source| Error::Read { path, source })?;
    let policy = match Policy::read(&text) {
        Ok(policy) => policy,
        Err(why) => {
            return Ok(Verdict {
                notes: Vec::new(),
                faults: vec![format!("{POLICY}: {why}")],
            });
        }
    };
    let packages = packages(workspace)?;
    let mut verdict = Verdict::default();
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for package in &packages {
        *versions.entry(&package.name).or_default() += 1;
        for why in policy.objections(package) {
            let Package { name, version, .. } = package;
            verdict.faults.push(format!("{name} {version}: {why}"));
        }
    }
    let several = versions.values().filter(|count| **count > 1).count();
    verdict.notes.push(format!(
        "{} packages, {several} names in several versions",
        packages.len()
    ));
    Ok(verdict)
}

#[derive(Debug)]
struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    /// `None` for packages of the workspace.
    source: Option<String>,
}

/// Returns the packages that this machine builds.
fn packages(workspace: &Workspace) -> Result<Vec<Package>, Error> {
    let version = said("rustc", &["-vV"], workspace)?;
    let mut lines = version.lines();
    let host = lines.find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or_else(|| Error::Metadata("rustc names no host".to_owned()))?;
    let arguments = [
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        host,
    ];
    let metadata = said(&cargo(), &arguments, workspace)?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| Error::Metadata(error.to_string()))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    Ok(packages
        .map(|package| Package {
            name: text(&package["name"]).unwrap_or_default(),
            version: text(&package["version"]).unwrap_or_default(),
            licence: text(&package["license"]),
            source: text(&package["source"]),
        })
        .collect())
}

fn said(program: &str, arguments: &[&str], workspace: &Workspace) -> Result<String, Error> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&workspace.root);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|source| Error::Run {
        command: format!("{program} {}", arguments.join(" ")),
        source,
    })?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Metadata(why.trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The checked part of `deny.toml`.
#[derive(Debug)]
struct Policy {
    licences: Vec<String>,
    /// Licences of single packages: a package and an allowed licence.
    exceptions: Vec<(String, String)>,
    banned: Vec<String>,
    registries: Vec<String>,
}

impl Policy {
    fn read(text: &str) -> Result<Self, String> {
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| error.to_string())?;
        let list = |section: &str, field: &str| {
            let value = table.get(section).and_then(|section| section.get(field));
            let value = value.and_then(toml::Value::as_array);
            value.ok_or_else(|| format!("it has no list `{section}.{field}`"))
        };
        let texts = |section: &str, field: &str| -> Result<Vec<String>, String> {
            let mut values = list(section, field)?.iter();
            let text = |value: &toml::Value| {
                let text = value.get("crate").unwrap_or(value).as_str();
                text.map(ToOwned::to_owned)
                    .ok_or_else(|| format!("`{section}.{field}` has {value}, which is no text"))
            };
            values.try_fold(Vec::new(), |mut all, value| {
                all.push(text(value)?);
                Ok(all)
            })
        };
        Ok(Self {
            licences: texts("licenses", "allow")?,
            exceptions: exceptions(&table),
            banned: texts("bans", "deny")?,
            registries: texts("sources", "allow-registry")?,
        })
    }

    fn objections(&self, package: &Package) -> Vec<String> {
        let mut found = Vec::new();
        if self.banned.contains(&package.name) {
            found.push("is banned".to_owned());
        }
        if let Some(source) = &package.source {
            let registry = source.strip_prefix("registry+").unwrap_or(source);
            if !self.registries.iter().any(|allowed| allowed == registry) {
                found.push(format!("comes from {source}, which is not allowed"));
            }
        }
        match &package.licence {
            None => found.push("names no licence".to_owned()),
            Some(licence) => found.extend(self.licence_objection(&package.name, licence)),
        }
        found
    }

    fn licence_objection(&self, package: &str, licence: &str) -> Option<String> {
        let Ok(expression) = Expression::parse_mode(licence, ParseMode::LAX) else {
            return Some(format!("the licence {licence} is not understood"));
        };
        let allowed = expression.evaluate(|wanted| {
            let wanted = wanted.to_string();
            let excepted = |it: &(String, String)| it.0 == package && it.1 == wanted;
            self.licences.contains(&wanted) || self.exceptions.iter().any(excepted)
        });
        (!allowed).then(|| format!("the licence {licence} is not allowed"))
    }
}

/// Returns the optional `licenses.exceptions`: crates, each with its allowed licences.
fn exceptions(table: &Table) -> Vec<(String, String)> {
    let exceptions = table.get("licenses").and_then(|it| it.get("exceptions"));
    let exceptions = exceptions.and_then(toml::Value::as_array).into_iter();
    let pairs = exceptions.flatten().filter_map(|exception| {
        let package = exception.get("crate")?.as_str()?;
        let allowed = exception.get("allow")?.as_array()?.iter();
        let allowed = allowed.filter_map(toml::Value::as_str);
        Some(allowed.map(|licence| (package.to_owned(), licence.to_owned())))
    });
    pairs.flatten().collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "helpers of tests")]
mod tests {
    use super::*;

    const POLICY: &str = r#"
        [licenses]
        allow = ["MIT", "Apache-2.0 WITH LLVM-exception"]
        exceptions = [{ allow = ["MPL-2.0"], crate = "driver" }]
        [bans]
        deny = [{ crate = "openssl-sys" }]
        [sources]
        allow-registry = ["https://good"]
    "#;

    fn objections(name: &str, licence: Option<&str>, source: Option<&str>) -> Vec<String> {
        let package = Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: licence.map(ToOwned::to_owned),
            source: source.map(ToOwned::to_owned),
        };
        Policy::read(POLICY).unwrap().objections(&package)
    }

    #[test]
    fn a_licence_is_allowed_if_one_can_choose_it() {
        let good = Some("registry+https://good");
        for licence in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0/MIT",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0",
        ] {
            assert_eq!(objections("it", Some(licence), good), [""; 0], "{licence}");
        }
        for licence in ["Apache-2.0", "MIT AND GPL-3.0", "GPL-3.0 OR Apache-2.0"] {
            let said = objections("it", Some(licence), good);
            assert_eq!(said, [format!("the licence {licence} is not allowed")]);
        }
        assert_eq!(objections("driver", Some("MPL-2.0"), good), [""; 0]);
        assert_eq!(objections("it", Some("MPL-2.0"), good).len(), 1);
        let said = objections("it", Some("One of ours"), good);
        assert_eq!(said, ["the licence One of ours is not understood"]);
        assert_eq!(objections("it", None, good), ["names no licence"]);
    }

    #[test]
    fn only_known_registries_and_no_banned_package() {
        assert_eq!(objections("ours", Some("MIT"), None), [""; 0]);
        let git = objections("it", Some("MIT"), Some("git+https://good#abc"));
        assert_eq!(
            git,
            ["comes from git+https://good#abc, which is not allowed"]
        );
        let other = objections("it", Some("MIT"), Some("registry+https://bad"));
        assert_eq!(other.len(), 1);
        let banned = objections("openssl-sys", Some("MIT"), Some("registry+https://good"));
        assert_eq!(banned, ["is banned"]);
    }

    #[test]
    fn a_policy_that_says_nothing_is_none() {
        let error = Policy::read("[licenses]\nallow = []").unwrap_err();
        assert_eq!(error, "it has no list `bans.deny`");
        assert!(Policy::read("[licenses").is_err());
    }
}
