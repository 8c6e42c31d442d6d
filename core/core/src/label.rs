//! The label of a manager, by which people recognise a holder.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use parking_lot::Mutex;

/// The longest label of a manager, in bytes.
pub const MAX_LABEL_BYTES: usize = 64;

/// All labels and names of this process. A process has few of them, so each of them stays in memory. An attempt id is
/// copied often, and contains only a reference.
static LABELS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Returns the label in the form that attempt ids contain. Returns `None` if the label is invalid.
pub(crate) fn validated(label: &str) -> Option<&'static str> {
    is_valid(label).then(|| interned(label))
}

/// Returns the default label: the host's name and the id of this process.
pub(crate) fn of_process() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    let process = format!("/{}", std::process::id());
    let host = HOST.get_or_init(|| host_name().unwrap_or_default());
    let plain = host.chars().filter(char::is_ascii_graphic);
    let plain: String = plain.take(MAX_LABEL_BYTES - process.len()).collect();
    match plain.as_str() {
        "" => interned(&format!("localhost{process}")),
        plain => interned(&format!("{plain}{process}")),
    }
}

/// Returns whether a label has a valid length, and only characters that a Redis server accepts as a connection's name.
#[must_use]
pub fn is_valid(label: &str) -> bool {
    let plain = label.bytes().all(|it| it.is_ascii_graphic());
    plain && (1..=MAX_LABEL_BYTES).contains(&label.len())
}

/// Returns a copy of a text that the process keeps until it ends.
pub(crate) fn interned(label: &str) -> &'static str {
    let mut labels = LABELS.lock();
    if let Some(known) = labels.get(label) {
        return known;
    }
    let label: &'static str = Box::leak(label.into());
    labels.insert(label);
    label
}

#[cfg(unix)]
fn host_name() -> Option<String> {
    let names = rustix::system::uname();
    names.nodename().to_str().ok().map(str::to_owned)
}

#[cfg(not(unix))]
fn host_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_a_bounded_length_and_plain_characters() {
        for valid in ["a", "web-3/4711", "api@7:", &"x".repeat(64)] {
            assert_eq!(validated(valid), Some(valid));
        }
        for invalid in ["", "a b", "a\n", "é", &"x".repeat(65)] {
            assert_eq!(validated(invalid), None, "{invalid:?}");
        }
    }

    #[test]
    fn the_default_label_names_the_host_and_the_process() {
        let label = of_process();
        assert!(is_valid(label), "{label}");
        let (host, process) = label.rsplit_once('/').unwrap();
        assert_eq!(process, std::process::id().to_string());
        assert_eq!(host_name().as_deref().unwrap_or("localhost"), host);
    }

    #[test]
    fn equal_labels_share_one_allocation() {
        let (one, other) = (validated("same").unwrap(), validated("same").unwrap());
        assert!(std::ptr::eq(one, other));
    }
}
