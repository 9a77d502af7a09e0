//! Building a unique index from one moment: a scan of its label, and every value that is there twice.

use crate::engine::View;
use crate::index::unique::UniqueIndex;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, KeyId, LabelId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::value::shortened::Shortened;

/// Duplicates named in an error; further ones are only counted.
const DUPLICATES_NAMED: usize = 5;

/// What a build found.
#[derive(Debug)]
pub struct Built {
    /// The index, exact at the view's timestamp; to be used only without duplicates.
    pub index: UniqueIndex,
    /// The first values that more than one vertex has, with two holders each.
    pub duplicates: Vec<(Value, VertexId, VertexId)>,
    /// How many vertices have a value that an earlier one has.
    pub duplicates_count: u64,
}

/// Where a build finds the vertices of its label.
#[derive(Debug)]
pub struct Sources<'a, V> {
    /// What goes into the index. No two of these show the same vertex.
    pub scanned: &'a [V],
    /// An index with other holders, and what shows them: they are compared and not taken over.
    pub beside: Option<(&'a UniqueIndex, &'a V)>,
}

/// Builds the index on `key` among the vertices of `label` as `view` shows them.
///
/// Cost: reads the key of each vertex of the label once, and twice where hashes meet.
///
/// # Errors
/// What reading may meet.
pub fn build<V: View>(view: &V, label: LabelId, key: KeyId, seed: u64) -> Result<Built> {
    let sources = Sources { scanned: std::slice::from_ref(view), beside: None };
    build_from(&sources, UniqueIndex::new(view.timestamp(), seed), label, key)
}

/// As [`build`], from several views into `index`, which is empty.
///
/// # Errors
/// What reading may meet.
pub fn build_from<V: View>(
    sources: &Sources<'_, V>,
    index: UniqueIndex,
    label: LabelId,
    key: KeyId,
) -> Result<Built> {
    let mut built = Built { index, duplicates: Vec::new(), duplicates_count: 0 };
    let mut candidates = Vec::new();
    for view in sources.scanned {
        for_each_value(view, label, key, |vertex, value| {
            let hash = built.index.hash(&value);
            candidates.clear();
            built.index.candidates(hash, &mut candidates);
            let mut holder = first_holder(sources.scanned, key, &value, &candidates)?;
            if let (None, Some((other, view))) = (holder, sources.beside) {
                candidates.clear();
                other.candidates(other.hash(&value), &mut candidates);
                holder = first_holder(std::slice::from_ref(view), key, &value, &candidates)?;
            }
            if let Some(holder) = holder {
                built.duplicates_count += 1;
                if built.duplicates.len() < DUPLICATES_NAMED {
                    built.duplicates.push((value, holder, vertex));
                }
            }
            built.index.fill(hash, vertex);
            Ok(())
        })?;
    }
    Ok(built)
}

/// The first of `candidates` that has `value` in one of `views`.
fn first_holder<V: View>(
    views: &[V],
    key: KeyId,
    value: &Value,
    candidates: &[VertexId],
) -> Result<Option<VertexId>> {
    for candidate in candidates {
        for view in views {
            if view.vertex_property(*candidate, key)?.as_ref() == Some(value) {
                return Ok(Some(*candidate));
            }
        }
    }
    Ok(None)
}

/// Visits the vertices of `label` that have a value of `key`, as `view` shows them.
///
/// # Errors
/// What reading may meet, and what `visit` says.
pub fn for_each_value<V: View>(
    view: &V,
    label: LabelId,
    key: KeyId,
    mut visit: impl FnMut(VertexId, Value) -> Result<()>,
) -> Result<()> {
    for group in (0..view.group_count()).map(GroupId) {
        if view.group_label(group) != Some(label) {
            continue;
        }
        let live = view.live(group)?;
        let rows = (0..live.len() * 64).filter(|row| live[row / 64] >> (row % 64) & 1 == 1);
        for vertex in rows.map(|row| VertexId::new(group, row as u16)) {
            if let Some(value) = view.vertex_property(vertex, key)? {
                visit(vertex, value)?;
            }
        }
    }
    Ok(())
}

impl Built {
    /// The duplicates for an error: `"ada" of v1 and v7, "bob" of v2 and v3, and 9 more`.
    #[must_use]
    pub fn describe_duplicates(&self) -> String {
        let named = self.duplicates.iter().map(|(value, first, second)| {
            format!("{} of {first} and {second}", Shortened::new(&value.to_string()))
        });
        let mut named: Vec<String> = named.collect();
        let more = self.duplicates_count - named.len() as u64;
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        named.join(", ")
    }
}
