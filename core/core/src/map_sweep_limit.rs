//! Decides when a map is searched for unused entries.

/// The size at which a map is searched for unused entries: twice its size after the last search. So the map has at most
/// twice as many entries as are in use, and the average cost of an insertion is constant.
#[derive(Debug, Default)]
pub struct SweepLimit<const MIN: usize> {
    next: usize,
}

impl<const MIN: usize> SweepLimit<MIN> {
    /// Removes unused entries with `remove` if `map` is large enough.
    pub fn sweep<M>(
        &mut self,
        map: &mut M,
        len: impl Fn(&M) -> usize,
        remove: impl FnOnce(&mut M),
    ) {
        if len(map) >= self.next.max(MIN) {
            remove(map);
            self.next = len(map) * 2;
        }
    }
}
