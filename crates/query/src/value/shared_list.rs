//! Shared lists: items in order, shared by whoever has a copy, with their extent counted once.

use crate::value::extent::{Extent, HasExtent};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Items in order. A copy shares them.
pub struct SharedList<T>(Arc<Shared<T>>);

struct Shared<T> {
    items: Box<[T]>,
    /// Once somebody asked.
    extent: OnceLock<Extent>,
}

impl<T> SharedList<T> {
    /// What an empty list takes.
    pub const BYTES: usize = size_of::<Shared<T>>() + 2 * size_of::<usize>();

    /// Whether both are copies of one list.
    #[must_use]
    pub fn shares(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T: HasExtent> SharedList<T> {
    /// How much the list holds, and how deep it is nested. Cost: the first time, a look at each item.
    #[must_use]
    pub fn extent(&self) -> Extent {
        *self.0.extent.get_or_init(|| Extent::of_all(&self.0.items).plus(Self::BYTES).enclosed())
    }
}

impl<T> Clone for SharedList<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for SharedList<T> {
    fn default() -> Self {
        Self(Arc::new(Shared { items: Box::default(), extent: OnceLock::new() }))
    }
}

/// Those that share their items aren't compared one by one.
impl<T: PartialEq> PartialEq for SharedList<T> {
    fn eq(&self, other: &Self) -> bool {
        self.shares(other) || **self == **other
    }
}

impl<T: Eq> Eq for SharedList<T> {}

impl<T: Hash> Hash for SharedList<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T> Deref for SharedList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0.items
    }
}

impl<T, I: Into<Box<[T]>>> From<I> for SharedList<T> {
    fn from(items: I) -> Self {
        Self(Arc::new(Shared { items: items.into(), extent: OnceLock::new() }))
    }
}

impl<T> FromIterator<T> for SharedList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        items.into_iter().collect::<Vec<T>>().into()
    }
}

impl<'a, T> IntoIterator for &'a SharedList<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Compares the items alone, whether or not their extent was counted.
impl<T: fmt::Debug> fmt::Debug for SharedList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&**self).finish()
    }
}
