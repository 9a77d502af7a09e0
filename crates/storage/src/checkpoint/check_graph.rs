//! Graph check: verifies one snapshot of an open store, as readers see it.
//!
//! ```text
//! lists     sorted, none twice; only live vertices have edges; both ends live
//! sides     for each group of sources: the sum of hashes of its out edges = of the in edges that
//!           name it; where they differ, every edge is looked up on the other side
//! indexes   each value of an item has its entry, those of a unique index one holder; entries that
//!           nobody has and nobody is about to remove are counted: readers pass over them. Entries that the
//!           engine keeps are its own to check, beside its files
//! ```
//!
//! One pass over both sides: no edge is looked up unless a sum differs. A sum of 64 bits misses an
//! accidental difference about once in 2^64; it is no defence against somebody who makes one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GROUP_SIZE, GroupId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId};
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::split_mix::mix;
use evergraph_graph::value::Value;
use evergraph_graph::value::shortened::Shortened;

use crate::checkpoint::report::{CheckProgress, Report, tell};
use crate::index::build::{Duplicates, other_holder};
use crate::index::entry_bound::EntryBound;
use crate::index::item::Item;
use crate::index::property_index::PropertyIndex;
use crate::view::{GroupBits, IndexAnswer, PointReads, View};

/// Checks the lists, sides and ends of everything that `view` shows; with `own`, in a store of these groups, where the other
/// side of some edges lies elsewhere and is not looked for.
///
/// Cost: reads every list of both sides once; 528 bytes a group.
///
/// # Errors
/// `cancelled`, and errors of reading.
pub fn check_graph<V: View>(
    view: &V,
    own: Option<OwnGroups>,
    progress: &mut CheckProgress<'_>,
) -> Result<Report> {
    let groups = view.group_count();
    let mut check = Check { view, own, report: Report::default(), live: Vec::new(), sums: BTreeMap::new() };
    for group in (0..groups).map(GroupId) {
        let live = view.live(group)?;
        let count = live.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        if view.group_label(group)?.is_none() && count > 0 {
            check.report.find(format!("group {}", group.0), format!("{count} live vertices and no label"));
        }
        check.report.vertices_count += count;
        check.live.push(live);
    }
    for group in (0..groups).map(GroupId) {
        tell(progress, "edges, by group", u64::from(group.0), u64::from(groups))?;
        for side in [Direction::Out, Direction::In] {
            for edge_type in view.edge_types(group, side)? {
                check.segment(group, edge_type, side)?;
            }
        }
    }
    let differ: Vec<(GroupId, TypeId)> =
        check.sums.iter().filter(|(_, sum)| **sum != 0).map(|(place, _)| *place).collect();
    for (at, (group, edge_type)) in differ.iter().enumerate() {
        tell(progress, "groups whose sides differ", at as u64, differ.len() as u64)?;
        check.compare_sides(*group, *edge_type)?;
    }
    Ok(check.report)
}

/// Checks an index against a scan: each value has its entry, and those of a unique index one holder. An index that the
/// engine keeps has nothing else.
///
/// Cost: one look-up a value, one read an entry.
///
/// # Errors
/// `cancelled`, and errors of reading.
pub fn check_index<I: Item, V: View>(
    view: &V,
    index: &PropertyIndex<I>,
    catalogue: &Catalogue,
    progress: &mut CheckProgress<'_>,
) -> Result<Report> {
    let mut report = Report::default();
    let IndexDefinition { id, unique } = index.definition();
    let place = format!("the {} index on {}", id.kind, catalogue.property_name(id.owner, id.key));
    let mut duplicates = Duplicates::default();
    for group in (0..view.group_count()).map(GroupId) {
        tell(progress, "indexes, by group", u64::from(group.0), u64::from(view.group_count()))?;
        I::for_each_in(view, id, group, &mut |item, value| {
            report.indexed_values_count += 1;
            if !index.is_kept_by_engine() && !index.contains(&value, item) {
                let value = Shortened::new(&value.to_string());
                report.find(
                    place.clone(),
                    format!("it has no entry for {}, which has {value}", item.name(catalogue)),
                );
            }
            if unique && let Some(other) = other_holder(view, index, &value, Some(item))? {
                duplicates.find(value, item, other);
            }
            Ok(())
        })?;
    }
    if !duplicates.is_empty() {
        let named = duplicates.describe(|item| item.name(catalogue));
        report.find(place.clone(), format!("duplicate values: {named}"));
    }
    if index.is_kept_by_engine() {
        check_kept::<I, V>(view, id, &place, catalogue, &mut report)?;
        return Ok(report);
    }
    let (entries_count, stale_count) = index.count_stale(|item| entry_value(view, id, item))?;
    report.index_entries_count += entries_count;
    report.stale_entries_count += stale_count;
    Ok(report)
}

/// What an item is filed under in an index, by its property.
fn entry_value<I: Item, V: View>(view: &V, index: IndexId, item: I) -> Result<Option<Value>> {
    let value = item.property(view, index.key)?;
    Ok(value.map(|value| index.entry_value(item.item_id(), Cow::Owned(value)).into_owned()))
}

/// Pairs that are read at once.
const PAIRS: usize = 1024;

/// Checks the entries that the engine has: as many as values, each that of its item.
fn check_kept<I: Item, V: View>(
    view: &V,
    id: IndexId,
    place: &str,
    catalogue: &Catalogue,
    report: &mut Report,
) -> Result<()> {
    let (mut after, mut pairs, mut count) = (EntryBound::Start, Vec::<(Value, I)>::new(), 0);
    loop {
        pairs.clear();
        let places = (&after, &EntryBound::End);
        if view.between(id, places, false, PAIRS, &mut pairs)? == IndexAnswer::No {
            report.find(place.to_owned(), "the engine keeps it, and doesn't answer for it".to_owned());
            return Ok(());
        }
        for (value, item) in &pairs {
            count += 1;
            if entry_value(view, id, *item)?.as_ref() != Some(value) {
                let value = Shortened::new(&value.to_string());
                let text = format!("it has {value} for {}, which has another value", item.name(catalogue));
                report.find(place.to_owned(), text);
            }
        }
        match pairs.last() {
            Some((value, item)) if pairs.len() == PAIRS => {
                after = EntryBound::At(value.clone(), Some(*item));
            }
            _ => break,
        }
    }
    report.index_entries_count += count;
    if count != report.indexed_values_count {
        let text = format!("it has {count} entries for {} values", report.indexed_values_count);
        report.find(place.to_owned(), text);
    }
    Ok(())
}

struct Check<'a, V> {
    view: &'a V,
    own: Option<OwnGroups>,
    report: Report,
    /// By group.
    live: Vec<GroupBits>,
    /// By the source's group and type: hashes of out edges minus those of in edges.
    sums: BTreeMap<(GroupId, TypeId), u64>,
}

impl<V: View> Check<'_, V> {
    fn is_alive(&self, vertex: VertexId) -> bool {
        let live = self.live.get(vertex.group().0 as usize);
        live.is_some_and(|live| live[usize::from(vertex.row()) / 64] >> (vertex.row() % 64) & 1 == 1)
    }

    fn segment(&mut self, group: GroupId, edge_type: TypeId, side: Direction) -> Result<()> {
        let mut list = Vec::new();
        let mut edges = 0;
        // What this leaves out by mistake is missing in the sums, and in the count.
        let rows = self.view.rows_with_edges(group, edge_type, side)?;
        let is_marked = |row: &u16| rows[usize::from(*row) / 64] >> (row % 64) & 1 == 1;
        for vertex in (0..GROUP_SIZE as u16).filter(is_marked).map(|row| VertexId::new(group, row)) {
            list.clear();
            self.view.all_neighbors(vertex, edge_type, side, &mut list)?;
            if list.is_empty() {
                continue;
            }
            edges += list.len() as u64;
            let place = || format!("the {} edges of type {} of {vertex}", side_name(side), edge_type.0);
            if !self.is_alive(vertex) {
                self.report.find(place(), format!("{} edges, but the vertex is not alive", list.len()));
            }
            if !list.is_sorted_by(|a, b| a < b) {
                self.report.find(place(), "not in ascending order, or one twice");
            }
            let degree = self.view.degree(vertex, edge_type, side)?;
            if degree != list.len() as u64 {
                self.report.find(place(), format!("{} edges, but a degree of {degree}", list.len()));
            }
            for (neighbor, discriminator) in &list {
                if is_elsewhere(self.own, *neighbor) {
                    continue;
                }
                let edge = edge_of(vertex, edge_type, side, *neighbor, *discriminator);
                if !self.is_alive(*neighbor) {
                    self.report.find(edge.to_string(), format!("{neighbor} is not alive"));
                }
                let sum = self.sums.entry((edge.source.group(), edge_type)).or_default();
                *sum = match side {
                    Direction::Out => sum.wrapping_add(hash(&edge)),
                    _ => sum.wrapping_sub(hash(&edge)),
                };
            }
        }
        if side == Direction::Out {
            self.report.edges_count += edges;
            let counted = self.view.group_edge_count(group, edge_type)?;
            if counted != edges {
                let place = format!("the out edges of type {} of group {}", edge_type.0, group.0);
                self.report.find(place, format!("{edges} edges, but a count of {counted}"));
            }
        }
        Ok(())
    }

    /// Names the edges that start in `group` and are on one side only.
    fn compare_sides(&mut self, group: GroupId, edge_type: TypeId) -> Result<()> {
        for source in (0..GROUP_SIZE as u16).map(|row| VertexId::new(group, row)) {
            self.missing_on_the_other_side(source, edge_type, Direction::Out, |_| true)?;
        }
        for target_group in (0..self.view.group_count()).map(GroupId) {
            if !self.view.edge_types(target_group, Direction::In)?.contains(&edge_type) {
                continue;
            }
            for target in (0..GROUP_SIZE as u16).map(|row| VertexId::new(target_group, row)) {
                let from_group = |source: VertexId| source.group() == group;
                self.missing_on_the_other_side(target, edge_type, Direction::In, from_group)?;
            }
        }
        Ok(())
    }

    fn missing_on_the_other_side(
        &mut self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        wanted: impl Fn(VertexId) -> bool,
    ) -> Result<()> {
        let mut list = Vec::new();
        self.view.all_neighbors(vertex, edge_type, side, &mut list)?;
        let mut others = Vec::new();
        let own = self.own;
        let is_here = |neighbor| wanted(neighbor) && !is_elsewhere(own, neighbor);
        for (neighbor, discriminator) in list.into_iter().filter(|(neighbor, _)| is_here(*neighbor)) {
            others.clear();
            self.view.all_neighbors(neighbor, edge_type, side.reversed(), &mut others)?;
            // Not a search: the list may be out of order.
            if !others.contains(&(vertex, discriminator)) {
                let edge = edge_of(vertex, edge_type, side, neighbor, discriminator);
                let other = side_name(side.reversed());
                self.report.find(edge.to_string(), format!("missing in the {other} list of {neighbor}"));
            }
        }
        Ok(())
    }
}

/// Whether a vertex, and the sides of edges there, are in another store, if they are anywhere.
fn is_elsewhere(own: Option<OwnGroups>, vertex: VertexId) -> bool {
    own.is_some_and(|own| !own.contains(vertex.group()))
}

fn side_name(side: Direction) -> &'static str {
    if side == Direction::Out { "out" } else { "in" }
}

/// The edge that `vertex` has on `side`.
fn edge_of(
    vertex: VertexId,
    edge_type: TypeId,
    side: Direction,
    neighbor: VertexId,
    discriminator: u16,
) -> EdgeId {
    let (source, target) = if side == Direction::Out { (vertex, neighbor) } else { (neighbor, vertex) };
    EdgeId { source, edge_type, target, discriminator }
}

/// A mix in which every bit of the edge moves every bit of the sum (SplitMix64's, twice).
fn hash(edge: &EdgeId) -> u64 {
    let ends = u64::from(edge.source.0) << 32 | u64::from(edge.target.0);
    mix(mix(ends).wrapping_add(u64::from(edge.discriminator)))
}
