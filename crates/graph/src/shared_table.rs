//! A table by small numbers whose versions share their common parts.
//!
//! ```text
//! pages   [ 256 slots ] [ 256 slots ] ...       number -> page number / 256, slot number % 256
//! clone   one count; a change then copies the list of pages and one page
//! ```
//!
//! As `shared_map`, for what is numbered: a look-up is two loads. Slots may be empty.

use std::fmt;
use std::sync::Arc;

const PAGE: usize = 256;

type Page<T> = Arc<[Option<T>; PAGE]>;

/// A table of at most 65,536 entries that is cheap to clone and to change after it.
pub struct SharedTable<T> {
    pages: Arc<Vec<Page<T>>>,
    count: usize,
}

impl<T> Default for SharedTable<T> {
    fn default() -> Self {
        Self { pages: Arc::default(), count: 0 }
    }
}

impl<T> Clone for SharedTable<T> {
    fn clone(&self) -> Self {
        Self { pages: Arc::clone(&self.pages), count: self.count }
    }
}

impl<T: PartialEq> PartialEq for SharedTable<T> {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && self.iter().eq(other.iter())
    }
}

impl<T: fmt::Debug> fmt::Debug for SharedTable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<T> SharedTable<T> {
    /// The entry with a number. Cost: two dependent loads.
    #[must_use]
    pub fn get(&self, number: u16) -> Option<&T> {
        let number = usize::from(number);
        self.pages.get(number / PAGE)?[number % PAGE].as_ref()
    }

    /// Whether there is an entry with this number.
    #[must_use]
    pub fn has(&self, number: u16) -> bool {
        self.get(number).is_some()
    }

    /// Entries in the table.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// All entries, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &T)> {
        let slots = self.pages.iter().flat_map(|page| page.iter());
        slots.enumerate().filter_map(|(number, entry)| Some((number as u16, entry.as_ref()?)))
    }
}

impl<T: Clone> SharedTable<T> {
    /// Puts an entry where it belongs, in place of the one that is there. Cost: linear in a page and in the
    /// number of pages.
    pub fn set(&mut self, number: u16, entry: T) {
        let number = usize::from(number);
        let pages = Arc::make_mut(&mut self.pages);
        while pages.len() <= number / PAGE {
            pages.push(Arc::new([const { None }; PAGE]));
        }
        let slot = &mut Arc::make_mut(&mut pages[number / PAGE])[number % PAGE];
        self.count += usize::from(slot.replace(entry).is_none());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_lie_by_number_and_a_change_of_a_clone_copies_one_page() {
        let mut table = SharedTable::default();
        let numbers = [0, 3, 255, 256, 9000, u16::MAX];
        numbers.iter().for_each(|number| table.set(*number, u32::from(*number) + 1));
        let before = table.clone();
        assert_eq!(before, table);
        table.set(300, 5);
        table.set(3, 6);
        assert_eq!((before.count(), table.count()), (6, 7));
        assert_eq!((before.get(3), table.get(3), table.get(300)), (Some(&4), Some(&6), Some(&5)));
        assert!(!before.has(300) && !table.has(301) && before != table);
        let expected: Vec<_> = numbers.iter().map(|number| (*number, u32::from(*number) + 1)).collect();
        assert_eq!(before.iter().map(|(number, entry)| (number, *entry)).collect::<Vec<_>>(), expected);
        let copied = before.pages.iter().zip(table.pages.iter()).filter(|(old, new)| !Arc::ptr_eq(old, new));
        assert_eq!(copied.count(), 2, "those of 3 and of 300");
    }

    #[test]
    fn an_empty_table_has_nothing() {
        let table = SharedTable::<u8>::default();
        assert_eq!((table.get(0), table.count(), table.iter().count()), (None, 0, 0));
    }
}
