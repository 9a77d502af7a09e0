//! Present edges: which parallel edges the database has before a load adds more.

use crate::format::tree_key::ListId;
use crate::source::{RecordSource, keep_newest};
use crate::view::read_source::ReadSource;
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;

/// The highest discriminator of the edges of a list to a vertex, at the newest commit; `None` without such
/// edges.
pub(super) type LastPresent<'a> = dyn Fn(ListId, VertexId) -> Result<Option<u16>> + 'a;

/// The highest discriminator of the edges of `list` to `neighbor` that `sources`, newest first, show at
/// `timestamp`.
///
/// Cost: a look at each source; no page of a file whose filter does not know the edge.
///
/// # Errors
/// As [`RecordSource`].
pub(super) fn last_present<L: ReadSource>(
    sources: &[L],
    timestamp: Timestamp,
    list: ListId,
    neighbor: VertexId,
) -> Result<Option<u16>> {
    let mut items = Vec::new();
    for source in sources {
        source.at(timestamp).between(list, neighbor, &mut items)?;
    }
    keep_newest(&mut items, 0);
    let present = items.iter().filter(|listed| listed.is_present);
    Ok(present.map(|listed| listed.item.discriminator()).max())
}
