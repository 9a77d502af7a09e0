//! Lists of items, made by a query.

use crate::value::item::Item;
use crate::value::shared_list::SharedList;

/// Items in order. A copy shares them.
pub type ItemList = SharedList<Item>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::extent::Extent;

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
