//! Lists of items, made by a query: shared by whoever has a copy, with their extent counted once.

use crate::value::extent::Extent;
use crate::value::item::Item;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Items in order. A copy shares them.
#[derive(Clone, Default)]
pub struct ItemList(Arc<Shared>);

#[derive(Default)]
struct Shared {
    items: Box<[Item]>,
    /// Once somebody asked.
    extent: OnceLock<Extent>,
}

impl ItemList {
    /// What an empty list takes.
    pub const BYTES: usize = size_of::<Shared>() + 2 * size_of::<usize>();

    /// How much the list holds, and how deep it is nested. Cost: the first time, a look at each item.
    #[must_use]
    pub fn extent(&self) -> Extent {
        *self.0.extent.get_or_init(|| Extent::of_all(&self.0.items).plus(Self::BYTES).enclosed())
    }

    /// Whether both are copies of one list.
    #[must_use]
    pub fn shares(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Those that share their items aren't compared one by one.
impl PartialEq for ItemList {
    fn eq(&self, other: &Self) -> bool {
        self.shares(other) || **self == **other
    }
}

impl Eq for ItemList {}

impl Hash for ItemList {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl Deref for ItemList {
    type Target = [Item];

    fn deref(&self) -> &[Item] {
        &self.0.items
    }
}

impl<T: Into<Box<[Item]>>> From<T> for ItemList {
    fn from(items: T) -> Self {
        Self(Arc::new(Shared { items: items.into(), extent: OnceLock::new() }))
    }
}

impl FromIterator<Item> for ItemList {
    fn from_iter<I: IntoIterator<Item = Item>>(items: I) -> Self {
        items.into_iter().collect::<Vec<Item>>().into()
    }
}

impl<'a> IntoIterator for &'a ItemList {
    type Item = &'a Item;
    type IntoIter = std::slice::Iter<'a, Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The items alone: whether their extent was counted is nobody's business.
impl fmt::Debug for ItemList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&**self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_counts_what_it_holds_and_how_deep_without_walking_what_was_counted() {
        let mut list = ItemList::from(vec![Item::from("abcd")]);
        assert_eq!(list.extent(), Extent { heap_bytes: ItemList::BYTES + 24 + 4, depth: 1 });
        // Of two copies of itself each time: nobody lives to see it walked.
        for level in 2..=200 {
            list = ItemList::from([Item::List(list.clone()), Item::List(list)]);
            assert_eq!(list.extent().depth, level);
        }
        assert_eq!(list.extent().heap_bytes, usize::MAX);
    }
}
