//! Level: the files of one level below L0: one sorted run, cut anywhere between two keys.
//!
//! ```text
//! files        [ csr-8          ][ csr-3   ][ csr-9            ]
//! keys          a .. list 7, 40    7, 41 ..   list 7, 990 .. z
//! list 7                    [ .. ][ ...... ][ .. ]               three files; an item is in one of them at most
//! ```
//!
//! A file is found by its bounds in memory, so that no other one is asked. Its ranks are its own: a rank of a
//! level is nothing.
//!
//! Bounds are the first 14 bytes of the keys in the manifest, as numbers: all of a list's key. Of an entry of
//! an index they say little, but the subject stands first, so lists are told from entries.
//!
//! Source: disk-engine, sections 1 and 4. Differs from LSMGraph (SIGMOD 2024), section 4.2, whose multi-level
//! index names the place of each vertex in each level: here each file has an index of its pages, and a level
//! one of its files.

use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::stored_file::{KeyedFile, StoredFile};
use evergraph_graph::id::{GROUP_SIZE, GroupId, VertexId};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// Bytes of the key of a list's item.
const LIST_KEY_BYTES: usize = 14;

/// The place of an item among all items of lists: subject 32 | vertex 32 | neighbour 32 | discriminator 16.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct KeyBits(u128);

impl KeyBits {
    #[inline]
    fn of(list: ListId, item: ItemKey) -> Self {
        let list = u128::from(list.subject.number()) << 32 | u128::from(list.vertex.0);
        Self(list << 48 | u128::from(item.bits()))
    }

    /// Of order bytes, as far as they say: where they are shorter, the least that begins with them.
    fn of_order_bytes(key: &[u8]) -> Self {
        let mut bytes = [0; 16];
        let count = key.len().min(LIST_KEY_BYTES);
        bytes[2..2 + count].copy_from_slice(&key[..count]);
        Self(u128::from_be_bytes(bytes))
    }
}

/// The files of one level, by key, which don't overlap. The file is a type parameter: a level knows no more
/// of one than its keys.
#[derive(Debug)]
pub struct Level<F> {
    files: Vec<Arc<F>>,
    /// The first key of each file.
    first: Vec<KeyBits>,
    /// The last key of each file.
    last: Vec<KeyBits>,
}

impl<F> Default for Level<F> {
    fn default() -> Self {
        Self { files: Vec::new(), first: Vec::new(), last: Vec::new() }
    }
}

impl<F: KeyedFile> Level<F> {
    /// Of `files` in any order. `None` if two of them overlap, or one ends before it begins. Cost: a sort.
    #[must_use]
    pub fn new(mut files: Vec<Arc<F>>) -> Option<Self> {
        files.sort_by(|a, b| a.stored().first_key.cmp(&b.stored().first_key));
        let is_sound = |file: &StoredFile| file.first_key <= file.last_key;
        let is_disjoint = |pair: &[Arc<F>]| pair[0].stored().last_key < pair[1].stored().first_key;
        if !files.iter().all(|file| is_sound(file.stored())) || !files.windows(2).all(is_disjoint) {
            return None;
        }
        let first = files.iter().map(|file| KeyBits::of_order_bytes(&file.stored().first_key)).collect();
        let last = files.iter().map(|file| KeyBits::of_order_bytes(&file.stored().last_key)).collect();
        Some(Self { files, first, last })
    }
}

impl<F> Level<F> {
    /// The files, by key.
    #[must_use]
    #[inline]
    pub fn files(&self) -> &[Arc<F>] {
        &self.files
    }

    /// The place of the one file that may have an item; `None` if no file does. Cost: a binary search.
    #[must_use]
    #[inline]
    pub fn place_of(&self, list: ListId, item: ItemKey) -> Option<usize> {
        let key = KeyBits::of(list, item);
        let place = self.last.partition_point(|last| *last < key);
        (*self.first.get(place)? <= key).then_some(place)
    }

    /// The places of the files that may have some of the items of a list, by key. Cost: two binary searches.
    #[must_use]
    #[inline]
    pub fn places_of_items(&self, list: ListId, items: RangeInclusive<ItemKey>) -> Range<usize> {
        self.places(KeyBits::of(list, *items.start()), KeyBits::of(list, *items.end()))
    }

    /// The places of the files that may have records of some of `lists`, by key. Cost: two binary searches.
    #[must_use]
    #[inline]
    pub fn places_of_lists(&self, lists: &RangeInclusive<ListId>) -> Range<usize> {
        self.places(KeyBits::of(*lists.start(), ItemKey::VERTEX), KeyBits::of(*lists.end(), ItemKey::LAST))
    }

    /// The places of the files that may have records of a subject in a group.
    #[must_use]
    pub fn places_of_group(&self, subject: Subject, group: GroupId) -> Range<usize> {
        let first = group.0.saturating_mul(GROUP_SIZE);
        let list = |vertex| ListId { subject, vertex: VertexId(vertex) };
        self.places_of_lists(&(list(first)..=list(first.saturating_add(GROUP_SIZE - 1))))
    }

    /// The places of the files that may have entries of the indexes `subjects`, by key.
    #[must_use]
    pub fn places_of_subjects(&self, subjects: &RangeInclusive<Subject>) -> Range<usize> {
        let bits = |subject: Subject, rest: u128| KeyBits(u128::from(subject.number()) << 80 | rest);
        self.places(bits(*subjects.start(), 0), bits(*subjects.end(), (1 << 80) - 1))
    }

    /// The places of the files that may have entries of an index with values from `low` through `high`, or to the end,
    /// by key. Values that differ behind their first ten bytes only are not told apart.
    #[must_use]
    pub fn places_of_values(&self, subject: Subject, low: &[u8], high: Option<&[u8]>) -> Range<usize> {
        let bits = |value: &[u8], filler: u8| {
            let mut bytes = [filler; 16];
            bytes[..2].fill(0);
            bytes[2..6].copy_from_slice(&subject.number().to_be_bytes());
            let count = value.len().min(LIST_KEY_BYTES - 4);
            bytes[6..6 + count].copy_from_slice(&value[..count]);
            KeyBits(u128::from_be_bytes(bytes))
        };
        self.places(bits(low, 0), bits(high.unwrap_or(&[]), u8::MAX))
    }

    fn places(&self, from: KeyBits, through: KeyBits) -> Range<usize> {
        let start = self.last.partition_point(|last| *last < from);
        let count = self.first[start..].partition_point(|first| *first <= through);
        start..start + count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::file_head::FileStamps;
    use crate::format::file_name::FileNumber;
    use crate::format::subject::EdgeSide;
    use crate::stored_file::{StoredPart, entry_key, list_key};
    use evergraph_graph::id::TypeId;
    use evergraph_graph::index_entry::ItemId;
    use evergraph_graph::timestamp::Timestamp;
    use proptest::prelude::*;

    fn file(first_key: Vec<u8>, last_key: Vec<u8>) -> Arc<StoredFile> {
        Arc::new(StoredFile {
            number: FileNumber(1),
            level: 1,
            stamps: FileStamps::Unstamped,
            first_ts: Timestamp(1),
            last_ts: Timestamp(1),
            first_key,
            last_key,
            topology: StoredPart { bytes: 1, footer_crc: 0 },
            columns: None,
        })
    }

    /// Keys of few lists and entries, so that lists go on over files.
    fn any_key() -> impl Strategy<Value = Vec<u8>> {
        let list = (0..3u16, any::<bool>(), 0..3u32, 0..4u32, 0..3u16).prop_map(
            |(edge_type, is_vertex, vertex, neighbor, discriminator)| match is_vertex {
                true => list_key(ListId::vertex(VertexId(vertex * 4095)), ItemKey::VERTEX),
                false => {
                    let list = ListId::edges(VertexId(vertex * 4095), TypeId(edge_type), EdgeSide::In);
                    list_key(list, ItemKey::edge(VertexId(neighbor), discriminator))
                }
            },
        );
        let entry = (0..2u32, proptest::collection::vec(0..3u8, 0..12), 0..3u32).prop_map(
            |(index, value, vertex)| {
                entry_key(Subject::index(index).unwrap(), &value, ItemId::Vertex(VertexId(vertex)))
            },
        );
        prop_oneof![4 => list, 1 => entry]
    }

    /// A level whose files' bounds are keys of `keys`.
    fn level(mut keys: Vec<Vec<u8>>) -> Level<StoredFile> {
        keys.sort();
        keys.dedup();
        let files: Vec<_> = keys.chunks_exact(2).map(|pair| file(pair[0].clone(), pair[1].clone())).collect();
        Level::new(files.into_iter().rev().collect()).unwrap()
    }

    fn having(level: &Level<StoredFile>, first: &[u8], last: &[u8]) -> Vec<usize> {
        let overlaps = |file: &StoredFile| *file.first_key <= *last && *first <= *file.last_key;
        (0..level.files().len()).filter(|at| overlaps(&level.files()[*at])).collect()
    }

    proptest! {
        #[test]
        fn the_files_that_are_asked_are_those_whose_keys_overlap(
            keys in proptest::collection::vec(any_key(), 0..24),
            vertex in 0..3u32,
            edge_type in 0..3u16,
            items in (0..4u32, 0..3u16, 0..4u32),
        ) {
            let level = level(keys);
            let (neighbor, discriminator, other) = items;
            let list = ListId::edges(VertexId(vertex * 4095), TypeId(edge_type), EdgeSide::In);
            let item = ItemKey::edge(VertexId(neighbor), discriminator);
            for (list, item) in [(list, item), (ListId::vertex(list.vertex), ItemKey::VERTEX)] {
                let key = list_key(list, item);
                let place: Vec<_> = level.place_of(list, item).into_iter().collect();
                prop_assert_eq!(place, having(&level, &key, &key));
            }
            let last = ItemKey::edge(VertexId(neighbor.max(other)), u16::MAX);
            let places: Vec<_> = level.places_of_items(list, item..=last).collect();
            prop_assert_eq!(places, having(&level, &list_key(list, item), &list_key(list, last)));
            let end = ListId { vertex: VertexId(u32::MAX), ..list };
            let (first, last) = (list_key(list, ItemKey::VERTEX), list_key(end, ItemKey::LAST));
            let places: Vec<_> = level.places_of_lists(&(list..=end)).collect();
            prop_assert_eq!(places, having(&level, &first, &last));
            let in_group = |vertex: u32, item| list_key(ListId { vertex: VertexId(vertex), ..list }, item);
            let places: Vec<_> = level.places_of_group(list.subject, GroupId(1)).collect();
            let (first, last) = (in_group(4096, ItemKey::VERTEX), in_group(8191, ItemKey::LAST));
            prop_assert_eq!(places, having(&level, &first, &last));
            let index = Subject::index(1).unwrap();
            let places: Vec<_> = level.places_of_subjects(&(index..=index)).collect();
            let (mut first, mut last) = (index.number().to_be_bytes().to_vec(), index.number().to_be_bytes().to_vec());
            first.push(0);
            last.extend([u8::MAX; 30]);
            prop_assert!(having(&level, &first, &last).iter().all(|place| places.contains(place)));
        }
    }

    #[test]
    fn files_that_overlap_are_no_level() {
        let key = |at: u32| list_key(ListId::vertex(VertexId(at)), ItemKey::VERTEX);
        let of = |bounds: &[(u32, u32)]| {
            Level::new(bounds.iter().map(|(first, last)| file(key(*first), key(*last))).collect())
        };
        assert!(of(&[(5, 9), (1, 4)]).is_some_and(|level| level.files()[0].last_key == key(4)));
        assert!(of(&[]).is_some() && of(&[(1, 4), (4, 9)]).is_none() && of(&[(1, 9), (2, 3)]).is_none());
        assert!(of(&[(4, 1)]).is_none(), "a file that ends before it begins");
    }
}
