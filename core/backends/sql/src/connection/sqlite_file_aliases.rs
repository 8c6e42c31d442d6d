//! The names of a file. `SQLite` names its log after the file. So processes that open one file by different names use
//! different logs, and do not see each other's locks.

use std::fs;
use std::path::Path;

/// Returns whether the file has another name: it has a hard link, or it is mounted alone, as into a container.
pub(crate) fn has_others(file: &Path) -> bool {
    has_hard_link(file) || is_mounted(file)
}

#[cfg(unix)]
fn has_hard_link(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    fs::metadata(file).is_ok_and(|it| it.nlink() > 1)
}

#[cfg(not(unix))]
fn has_hard_link(_file: &Path) -> bool {
    false
}

/// Returns whether the file is a mount point. Only Linux has this list.
fn is_mounted(file: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let Ok(file) = fs::canonicalize(file) else {
        return false;
    };
    names(&mounts, &file.to_string_lossy())
}

/// Returns the kind of the file system of a file, such as `ext4`, from the list of mounts.
pub(crate) fn file_system<'m>(mounts: &'m str, file: &Path) -> Option<&'m str> {
    let of_mount = mounts.lines().filter_map(|mount| {
        let point = mount.split(' ').nth(4)?;
        let (_, after) = mount.split_once(" - ")?;
        Some((point, after.split(' ').next()?))
    });
    // A later mount hides an earlier one at the same point.
    let above = of_mount.filter(|(point, _)| file.starts_with(point));
    above
        .max_by_key(|(point, _)| point.len())
        .map(|(_, kind)| kind)
}

/// Returns whether this list of mounts contains a mount point.
fn names(mounts: &str, mount_point: &str) -> bool {
    let mut escaped = String::new();
    for letter in mount_point.chars() {
        match letter {
            ' ' | '\t' | '\n' | '\\' => escaped += &format!("\\{:03o}", u32::from(letter)),
            letter => escaped.push(letter),
        }
    }
    mounts
        .lines()
        .any(|mount| mount.split(' ').nth(4) == Some(escaped.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_point_of_a_file_is_found_by_its_whole_path() {
        let mounts = "22 1 0:21 / /proc rw - proc proc rw\n\
                      90 22 8:1 /srv/locks.db /data/locks.db rw shared:1 - ext4 /dev/sda1 rw\n\
                      91 22 8:1 /srv/my\\040locks.db /my\\040locks.db rw - ext4 /dev/sda1 rw\n";
        assert!(names(mounts, "/data/locks.db"));
        assert!(names(mounts, "/my locks.db"));
        assert!(!names(mounts, "/srv/locks.db"));
        assert!(!names(mounts, "/data"));
    }

    #[test]
    fn file_system_is_that_of_the_longest_mount_point() {
        let mounts = "22 1 0:21 / / rw - ext4 /dev/sda1 rw\n\
                      30 22 0:50 / /srv/data rw shared:1 - nfs4 server:/data rw\n";
        let file_system = |file| file_system(mounts, Path::new(file));
        assert_eq!(file_system("/srv/data/locks.db"), Some("nfs4"));
        assert_eq!(file_system("/srv/database/locks.db"), Some("ext4"));
    }
}
