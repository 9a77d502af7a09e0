//! Edge lists in place: how the lists of a group's edges, of one type and side, lie in a payload.
//!
//! ```text
//! OFFSET  SIZE   FIELD           (little-endian)
//!      0     1   kind            1
//!      1     1   version         2
//!      2     1   sort key        0: by neighbour
//!      3     1   flags           bit 0 sparse, bit 1 discriminators
//!      4     4   ends            E
//!      8     4   edges           N
//!     12     4   zero
//!     16   4 E   ends            where each list ends; in dense lists of every row up to the last with edges
//!          4 N   neighbours      ascending by (neighbour, discriminator) in a list
//!          2 N   discriminators  only if flagged
//!          2 E   rows            only if sparse, ascending
//! ```
//!
//! [`EdgeLists::parse`] looks at the header only; [`EdgeLists::check`] says what sound lists are, and runs before they
//! are written and when they are touched first.
//!
//! Source: GART (ATC 2023), section 5.1; mapped-engine, section 4: `ends` is the degree snapshot of its version.

use crate::body_ref::layout::{PayloadReader, VERSION, expected};
use crate::edge_lists::{EdgeLists, ROWS};
use evergraph_storage::checkpoint::arrays::put_array;

const KIND: u8 = 1;
const BY_NEIGHBOR: u8 = 0;
const HEADER_BYTES: usize = 16;
const SPARSE: u8 = 1;
const DISCRIMINATORS: u8 = 2;

/// How the arrays of lists lie in a payload, as its header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListLayout {
    flags: u8,
    ends: u32,
    edges: u32,
}

impl ListLayout {
    /// How `lists` are laid out by [`EdgeLists::put`].
    ///
    /// # Panics
    /// If there are 2^32 edges or more: ends of lists have 32 bits.
    #[must_use]
    pub fn of(lists: &EdgeLists<'_>) -> Self {
        let sparse = if lists.rows.is_some() { SPARSE } else { 0 };
        let discriminated = if lists.discriminators.is_empty() { 0 } else { DISCRIMINATORS };
        let edges = u32::try_from(lists.neighbors.len()).expect("ends of lists have 32 bits");
        Self { flags: sparse | discriminated, ends: lists.ends.len() as u32, edges }
    }

    /// What the header of `payload` says.
    ///
    /// # Errors
    /// What should be there, and what is.
    pub fn parse(payload: &[u8]) -> Result<Self, String> {
        let mut reader = PayloadReader::new(payload);
        let &[kind, version, sort_key, flags] = reader.array::<u8>(4)? else {
            unreachable!("four bytes were taken");
        };
        if (kind, version) != (KIND, VERSION) {
            return Err(expected(
                format!("an edge body ({KIND}) of version {VERSION}"),
                format!("kind {kind} of version {version}"),
            ));
        }
        if sort_key != BY_NEIGHBOR {
            return Err(expected("edges sorted by neighbour", format!("sort key {sort_key}")));
        }
        if flags & !(SPARSE | DISCRIMINATORS) != 0 {
            return Err(expected("known flags of an edge body", format!("{flags:#04x}")));
        }
        let &[ends, edges, zero] = reader.array::<u32>(3)? else { unreachable!("three numbers were taken") };
        if ends as usize > ROWS || zero != 0 {
            return Err(expected(format!("at most {ROWS} rows"), ends));
        }
        Ok(Self { flags, ends, edges })
    }
}

impl<'a> EdgeLists<'a> {
    /// The lists that lie in `payload`. Its header fits; its arrays are not looked at.
    ///
    /// # Errors
    /// What should be there, and what is.
    pub fn parse(payload: &'a [u8]) -> Result<Self, String> {
        Self::laid_out(payload, ListLayout::parse(payload)?)
    }

    /// The same of a payload whose header was read before: it is not looked at.
    ///
    /// # Errors
    /// If the payload is not as long as the header says, or not aligned.
    #[inline]
    pub fn laid_out(payload: &'a [u8], layout: ListLayout) -> Result<Self, String> {
        let (ends, edges) = (layout.ends as usize, layout.edges as usize);
        let mut reader = PayloadReader::new(payload);
        reader.array::<u8>(HEADER_BYTES)?;
        let (ends_array, neighbors) = (reader.array(ends)?, reader.array(edges)?);
        let discriminators =
            if layout.flags & DISCRIMINATORS == 0 { &[][..] } else { reader.array(edges)? };
        let rows = if layout.flags & SPARSE == 0 { None } else { Some(reader.array(ends)?) };
        reader.end()?;
        Ok(Self { rows, ends: ends_array, neighbors, discriminators })
    }

    /// How many bytes of `payload` the arrays of a body take, by its header; for what is saved of a damaged one.
    ///
    /// # Errors
    /// If there is no header of one.
    pub fn payload_bytes(payload: &[u8]) -> Result<usize, String> {
        let mut reader = PayloadReader::new(payload);
        let &[kind, version, _, flags] = reader.array::<u8>(4)? else {
            unreachable!("four bytes were taken")
        };
        if (kind, version) != (KIND, VERSION) {
            return Err(expected("the header of an edge body", format!("kind {kind} of version {version}")));
        }
        let &[ends, edges, _] = reader.array::<u32>(3)? else { unreachable!("three numbers were taken") };
        let an_edge = if flags & DISCRIMINATORS == 0 { 4 } else { 6 };
        let an_end = if flags & SPARSE == 0 { 4 } else { 6 };
        Ok(HEADER_BYTES + an_end * ends as usize + an_edge * edges as usize)
    }

    /// Appends the payload.
    pub fn put(&self, out: &mut Vec<u8>) {
        let ListLayout { flags, ends, edges } = ListLayout::of(self);
        out.extend_from_slice(&[KIND, VERSION, BY_NEIGHBOR, flags]);
        put_array(out, &[ends, edges, 0]);
        put_array(out, self.ends);
        put_array(out, self.neighbors);
        put_array(out, self.discriminators);
        put_array(out, self.rows.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge_lists::tests::{Arrays, any_edges};
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    /// A payload at an aligned address, as an extent has it.
    struct Payload {
        words: Vec<u64>,
        length: usize,
    }

    impl Payload {
        fn of(bytes: &[u8]) -> Self {
            let mut words = vec![0; bytes.len().div_ceil(8)];
            words.as_mut_bytes()[..bytes.len()].copy_from_slice(bytes);
            Self { words, length: bytes.len() }
        }

        fn bytes(&self) -> &[u8] {
            &self.words.as_bytes()[..self.length]
        }
    }

    fn put(lists: &EdgeLists<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        lists.put(&mut bytes);
        bytes
    }

    proptest! {
        #[test]
        fn lists_are_read_in_place(edges in any_edges(), is_sparse in any::<bool>()) {
            let arrays = Arrays::of(&edges, is_sparse);
            let payload = Payload::of(&put(&arrays.lists()));
            let lists = EdgeLists::parse(payload.bytes()).unwrap();
            prop_assert_eq!(lists, arrays.lists());
            prop_assert_eq!(lists.check(), Ok(()));
            prop_assert_eq!(ListLayout::parse(payload.bytes()), Ok(ListLayout::of(&lists)));
            let neighbors = lists.neighbors().as_ptr().cast();
            prop_assert!(lists.edges_count() == 0 || payload.bytes().as_ptr_range().contains(&neighbors));
        }

        #[test]
        fn damaged_lists_are_refused_or_sound(
            edges in any_edges(), is_sparse in any::<bool>(), at in any::<prop::sample::Index>(), to in any::<u8>(),
        ) {
            let mut bytes = put(&Arrays::of(&edges, is_sparse).lists());
            // All of the header, and some of what follows it.
            let length = bytes.len();
            for cut in (0..length).filter(|cut| cut % 11 == 0 || *cut < 64 || cut + 9 > length) {
                prop_assert!(EdgeLists::parse(Payload::of(&bytes[..cut]).bytes()).is_err(), "cut at {}", cut);
            }
            let at = at.index(bytes.len());
            bytes[at] = to;
            let payload = Payload::of(&bytes);
            if let Ok(lists) = EdgeLists::parse(payload.bytes())
                && lists.check().is_ok()
            {
                lists.for_each_row(|row, range| assert_eq!(lists.range(row), range));
            }
        }
    }

    #[test]
    fn each_unknown_header_is_told() {
        let sound = put(&EdgeLists::new(None, &[2], &[5, 6], &[]).unwrap());
        for (at, to, expected) in [
            (0, 2, "an edge body (1) of version 2 expected, found kind 2 of version 2"),
            (1, 1, "found kind 1 of version 1"),
            (2, 1, "sort key 1"),
            (3, 4, "0x04"),
            (5, 16, "at most 4096 rows expected, found 4097"),
            (12, 1, "at most 4096 rows"),
        ] {
            let mut bytes = sound.clone();
            bytes[at] = to;
            let problem = EdgeLists::parse(Payload::of(&bytes).bytes()).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
        let longer = Payload::of(&[&sound[..], &[0]].concat());
        assert!(EdgeLists::parse(longer.bytes()).unwrap_err().contains("1 more bytes"));
    }
}
