//! The data with its expiry times.

use std::collections::BTreeMap;

/// The data of a server, with its clock.
#[derive(Debug, Clone, Default)]
pub struct Keyspace {
    micros: u64,
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    value: Value,
    /// The last millisecond of the key.
    ends: Option<i64>,
}

/// The value of a key.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    /// The fields in the order of their insertion.
    Hash(Vec<(String, String)>),
    /// The members in order.
    Sorted(Vec<(f64, String)>),
}

impl Keyspace {
    /// Sets the clock, in microseconds since 1970.
    pub fn set_clock(&mut self, micros: u64) {
        self.micros = micros;
    }

    /// Returns the clock, in microseconds since 1970.
    #[must_use]
    pub fn clock(&self) -> u64 {
        self.micros
    }

    /// Deletes everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Returns the existing keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let now = self.millis();
        let there = self.entries.iter().filter(move |(_, it)| it.is_there(now));
        there.map(|(key, _)| key.as_str())
    }

    /// Returns the text of a key, if it exists and has a text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        match &self.entries.get(key)?.value {
            Value::Text(text) if self.has(key) => Some(text),
            _ => None,
        }
    }

    pub(super) fn millis(&self) -> i64 {
        i64::try_from(self.micros / 1000).unwrap_or(i64::MAX)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        let now = self.millis();
        self.entries.get(key).is_some_and(|it| it.is_there(now))
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        let now = self.millis();
        let entry = self.entries.get(key).filter(|it| it.is_there(now));
        entry.map(|it| &it.value)
    }

    /// Returns the value of the key, or inserts `new`.
    pub(super) fn get_or(&mut self, key: &str, new: Value) -> &mut Value {
        if !self.has(key) {
            self.put(key, new, None);
        }
        let entry = self.entries.entry(key.to_owned());
        let unused = || Entry {
            value: Value::Text(String::new()),
            ends: None,
        };
        &mut entry.or_insert_with(unused).value
    }

    pub(super) fn put(&mut self, key: &str, value: Value, ends: Option<i64>) {
        self.entries.insert(key.to_owned(), Entry { value, ends });
        if ends.is_some_and(|ends| ends <= self.millis()) {
            self.entries.remove(key);
        }
    }

    /// Removes a key, and returns whether it existed.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        let was_there = self.has(key);
        self.entries.remove(key);
        was_there
    }

    /// Returns when a key expires, if it exists and has a TTL.
    pub(super) fn ends(&self, key: &str) -> Option<i64> {
        self.entries.get(key)?.ends
    }

    /// Sets when a key expires, possibly in the past. Returns whether the key existed.
    pub(super) fn end_at(&mut self, key: &str, millis: i64) -> bool {
        if !self.has(key) {
            return false;
        }
        if millis <= self.millis() {
            return self.remove(key);
        }
        if let Some(entry) = self.entries.get_mut(key) {
            entry.ends = Some(millis);
        }
        true
    }

    /// Removes a key whose collection has become empty.
    pub(super) fn tidy(&mut self, key: &str) {
        let is_empty = match self.get(key) {
            Some(Value::Hash(fields)) => fields.is_empty(),
            Some(Value::Sorted(members)) => members.is_empty(),
            _ => false,
        };
        if is_empty {
            self.entries.remove(key);
        }
    }
}

impl Entry {
    fn is_there(&self, now: i64) -> bool {
        self.ends.is_none_or(|ends| now <= ends)
    }
}
