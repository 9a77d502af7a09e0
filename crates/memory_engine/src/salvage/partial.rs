//! Partial body: the lists and columns that verify of a body in damaged blocks.
//!
//! ```text
//! head, liveness or lists | key, column | key, column | key, column
//!        whole or nothing      ok           bad: this      unreadable head: this and all behind it,
//!                                           one, named     which can't be named
//! ```

use std::ops::Range;
use std::sync::Arc;

use evergraph_graph::bytes::Reader;
use evergraph_graph::id::{GROUP_SIZE, KeyId};
use evergraph_graph::packed_column::PackedColumn;

use crate::salvage::blocks::BodyBytesRange;
use evergraph_bodies::body::Body;
use evergraph_bodies::body_form::StableForm;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::salvage::finding::{LostColumn, Partial};
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_storage::checkpoint::column_form::{HEAD_BYTES, stored_bytes, take_column};
use evergraph_storage::view::GroupBits;

/// A body whose columns lie behind the rest of it.
pub trait PartialForm: StableForm {
    /// How many bytes lie before the columns, by the first 16; and where the count of columns is.
    fn fixed_bytes(head: &[u8]) -> Result<(u64, usize), String>;

    /// How many items a column may have, given the body.
    fn fits(&self, items: usize) -> bool;
}

impl PartialForm for VertexBody {
    fn fixed_bytes(_head: &[u8]) -> Result<(u64, usize), String> {
        Ok((8 + size_of::<GroupBits>() as u64, 2))
    }

    fn fits(&self, items: usize) -> bool {
        items <= GROUP_SIZE as usize
    }
}

impl PartialForm for EdgeBody {
    fn fixed_bytes(head: &[u8]) -> Result<(u64, usize), String> {
        let number = |at: usize| {
            u64::from(u32::from_le_bytes(head[at..at + 4].try_into().expect("the head has 16 bytes")))
        };
        let (flags, ends, edges) = (head[3], number(4), number(8));
        let rows = if flags & 1 == 0 { 0 } else { 2 * ends };
        let discriminators = if flags & 2 == 0 { 0 } else { 2 * edges };
        Ok((HEAD_BYTES as u64 + rows + 4 * ends + 4 * edges + discriminators, 12))
    }

    fn fits(&self, items: usize) -> bool {
        items == self.items()
    }
}

/// What verifies of the body in `range`.
///
/// # Errors
/// Why nothing does.
pub fn take_partial<B: PartialForm>(
    stretch: &BodyBytesRange,
    range: Range<u64>,
) -> Result<Partial<B>, String> {
    let unreadable = || {
        let at = stretch.first_bad().unwrap_or(range.start);
        format!("the block at byte {at} does not match its checksum")
    };
    if let Some(bytes) = stretch.verified(range.clone()) {
        let body = B::take(&mut Reader::new(bytes)).map_err(|error| error.to_string())?;
        return Ok(Partial { body, lost: Vec::new() });
    }
    let head = stretch.verified(range.start..range.start + HEAD_BYTES as u64).ok_or_else(unreadable)?;
    let (fixed, count_at) = B::fixed_bytes(head)?;
    let columns_at = range.start.checked_add(fixed).filter(|at| *at <= range.end).ok_or_else(unreadable)?;
    // The same body without columns, so that one function alone knows what is sound.
    let mut bare = stretch.verified(range.start..columns_at).ok_or_else(unreadable)?.to_vec();
    let count = u16::from_le_bytes(bare[count_at..count_at + 2].try_into().expect("two bytes"));
    bare[count_at..count_at + 2].fill(0);
    let body = B::take(&mut Reader::new(&bare)).map_err(|error| error.to_string())?;
    let (mut columns, mut lost): (Vec<(KeyId, Arc<PackedColumn>)>, Vec<LostColumn>) = Default::default();
    let mut at = columns_at;
    for _ in 0..count {
        let rest = at..range.end;
        let Some(head) = stretch.verified(at..at + 2 + HEAD_BYTES as u64) else {
            lost.push(LostColumn { key: None, range: rest });
            break;
        };
        let key = KeyId(u16::from_le_bytes([head[0], head[1]]));
        let end = stored_bytes(&head[2..]).ok().and_then(|bytes| (at + 2).checked_add(bytes));
        let Some(end) = end.filter(|end| *end <= range.end) else {
            lost.push(LostColumn { key: None, range: rest });
            break;
        };
        let taken = stretch.verified(at + 2..end).and_then(|bytes| {
            let mut reader = Reader::new(bytes);
            take_column(&mut reader, |items| body.fits(items)).ok().filter(|_| reader.is_empty())
        });
        match taken {
            Some(column) if columns.last().is_none_or(|last| last.0 < key) => {
                columns.push((key, Arc::new(column)));
            }
            _ => lost.push(LostColumn { key: Some(key), range: at..end }),
        }
        at = end;
    }
    let body = body.with_columns(columns);
    body.check()?;
    Ok(Partial { body, lost })
}
