use super::resources::Resources;
use super::tally::Counts;

/// The allowed growth of the heap between two idle moments, because maps and buffers keep their capacity. It detects 50
/// 000 cancelled acquisitions that leak six bytes each.
const HEAP: u64 = 256 * 1024;

/// The allowed growth of resident memory, because the allocator keeps freed pages.
const RESIDENT: u64 = 16 * 1024 * 1024;

/// The allowed growth of tasks. For example, a watchdog may be idle at one moment and busy at another.
const TASKS: u64 = 4;

/// The allowed growth of the server's buffers and tables.
const SERVER_MEMORY: u64 = 1024 * 1024;

/// The memory of a tombstone at the server, until it expires.
const SEAL: u64 = 256;

/// Returns the failures: growth between two idle moments, and wrong counts.
#[must_use]
pub fn judge(first: &Resources, last: &Resources, counts: &Counts) -> Vec<String> {
    let mut faults = Vec::new();
    let mut at_most = |what: &str, before: u64, now: u64, more: u64| {
        if now > before + more {
            faults.push(format!(
                "{what} grew from {before} to {now} within {} acquisitions, by more than {more}",
                last.begun - first.begun
            ));
        }
    };
    let server = SERVER_MEMORY + last.keys.seals * SEAL;
    at_most("the heap", first.heap, last.heap, HEAP);
    at_most("resident memory", first.resident, last.resident, RESIDENT);
    at_most("open files", first.files, last.files, 0);
    at_most("tasks", first.tasks, last.tasks, TASKS);
    at_most(
        "the server's memory",
        first.server_memory,
        last.server_memory,
        server,
    );
    at_most("connections", first.connections, last.connections, 0);
    for key in &last.keys.others {
        faults.push(format!("{key} is left on the server"));
    }
    for key in &last.keys.endless {
        faults.push(format!("{key} has no TTL"));
    }
    if counts.overlaps > 0 {
        faults.push(format!("{} times two guards were valid", counts.overlaps));
    }
    if counts.unordered > 0 {
        faults.push(format!("{} tokens did not grow", counts.unordered));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::Keys;

    fn rest() -> Resources {
        Resources {
            begun: 100_000,
            heap: 4 << 20,
            resident: 20 << 20,
            files: 20,
            tasks: 12,
            server_memory: 2 << 20,
            connections: 7,
            keys: Keys {
                counters: 72,
                ..Keys::default()
            },
        }
    }

    fn faults(change: impl FnOnce(&mut Resources, &mut Counts)) -> Vec<String> {
        let (mut last, mut counts) = (rest(), Counts::default());
        last.begun = 1_000_000;
        change(&mut last, &mut counts);
        judge(&rest(), &last, &counts)
    }

    #[test]
    fn constant_or_shrinking_resources_are_accepted() {
        assert_eq!(faults(|_, _| {}), [""; 0]);
        let less = |last: &mut Resources, _: &mut Counts| {
            last.heap /= 2;
            last.connections = 0;
        };
        assert_eq!(faults(less), [""; 0]);
    }

    #[test]
    fn each_leak_is_reported() {
        type Leak = fn(&mut Resources, &mut Counts);
        let leaks: [(&str, Leak); 10] = [
            ("the heap grew", |it, _| it.heap += 50_000 * 6),
            ("resident memory grew", |it, _| it.resident += 17 << 20),
            ("open files grew", |it, _| it.files += 1),
            ("tasks grew", |it, _| it.tasks += 5),
            ("the server's memory grew", |it, _| {
                it.server_memory += 2 << 20;
            }),
            ("connections grew", |it, _| it.connections += 1),
            ("lock:k is left", |it, _| {
                it.keys.others.push("lock:k".to_owned());
            }),
            ("fence has no TTL", |it, _| {
                it.keys.endless.push("{lock:k}:lh1:fence".to_owned());
            }),
            ("1 times two guards were valid", |_, counts| {
                counts.overlaps = 1;
            }),
            ("1 tokens did not grow", |_, counts| counts.unordered = 1),
        ];
        for (said, leak) in leaks {
            let faults = faults(leak);
            assert_eq!(faults.len(), 1, "{said}: {faults:?}");
            assert!(faults[0].contains(said), "{said}: {faults:?}");
        }
    }

    #[test]
    fn memory_of_remaining_tombstones_is_not_a_leak() {
        let seals = |last: &mut Resources, _: &mut Counts| {
            last.keys.seals = 10_000;
            last.server_memory += 10_000 * SEAL;
        };
        assert_eq!(faults(seals), [""; 0]);
    }
}
