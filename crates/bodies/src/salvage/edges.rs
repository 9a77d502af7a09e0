//! Edges: compares both sides of one type, completes each from the other, and leaves out loose ends.
//!
//! ```text
//! out side says   in side says        the edge
//! there           there               stays
//! there at a      not there at b      stays if a > b, goes if a < b, is listed if a = b
//! there           nothing (lost)      stays: the in side gets it
//! nothing         there               stays: the out side gets it, without properties
//! nothing         nothing             missing: listed by the two places where it would lie
//! ```
//!
//! A side that lost runs beside its body is known through the commits before them, but for edges of which something newer
//! speaks. So the other side decides what it knows of later commits: edges that were inserted in those runs stay, and those
//! that were deleted go. Where both sides lost runs, edges are as they were before: listed by the two places.
//!
//! Then edges go whose ends aren't there. What is told of it is in
//! [`edge_losses`](crate::salvage::edge_losses).

use std::collections::BTreeMap;

use evergraph_graph::id::{Direction, GroupId, TypeId, VertexId};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;

use crate::body::Body;
use crate::edge_body::EdgeBody;
use crate::edge_subject::EdgeSubject;
use crate::net::{Effect, Net};
use crate::salvage::changes::Changes;
use crate::salvage::edge_losses::{Counts, SideComparison};
use crate::salvage::finding::FoundBodies;
use crate::salvage::sides::{Side, Sides};
use crate::salvage::vertices::Vertices;
use evergraph_storage::record::RecordKey;
use evergraph_storage::salvage::loss::Loss;

/// Source, target, discriminator.
type Ends = (u32, u32, u16);

/// The edges of one type, both sides alike.
pub struct Edges {
    /// The out side, by group.
    pub out: BTreeMap<GroupId, EdgeBody>,
    /// The in side, by group.
    pub incoming: BTreeMap<GroupId, EdgeBody>,
    /// The oldest commit that some edges, or properties of edges, are as of, since runs are lost.
    pub stale_through: Option<Timestamp>,
}

impl Edges {
    /// Puts both sides of `edge_type` together; what is missing goes to `losses`.
    ///
    /// Cost: 24 bytes an edge, besides both sides.
    #[must_use]
    pub fn gather(
        bodies: &dyn FoundBodies,
        changes: &Changes,
        vertices: &Vertices,
        edge_type: TypeId,
        through: Timestamp,
        losses: &mut Vec<Loss>,
    ) -> Self {
        let gather = |direction| {
            let mut groups = bodies.groups(EdgeSubject::new(edge_type, direction));
            groups.extend(changes.edge_groups(edge_type, direction));
            let gather = |group| Side::gather(bodies, changes, group, edge_type, direction, through);
            groups.into_iter().map(|group| (group, gather(group))).collect()
        };
        let comparison = Comparison {
            changes,
            vertices,
            edge_type,
            through,
            out: gather(Direction::Out),
            incoming: gather(Direction::In),
            fixes: Default::default(),
            counts: Counts::default(),
        };
        comparison.run(losses)
    }
}

struct Comparison<'a> {
    changes: &'a Changes,
    vertices: &'a Vertices,
    edge_type: TypeId,
    through: Timestamp,
    out: Sides,
    incoming: Sides,
    /// What has to change in each group of the out side and of the in side.
    fixes: [BTreeMap<GroupId, Vec<Net>>; 2],
    counts: Counts,
}

impl Comparison<'_> {
    fn run(mut self, losses: &mut Vec<Loss>) -> Edges {
        let out = list(&self.out, |own, other, discriminator| (own, other, discriminator));
        let mut incoming = list(&self.incoming, |own, other, discriminator| (other, own, discriminator));
        incoming.sort_unstable();
        let (mut out, mut incoming) = (out.into_iter().peekable(), incoming.into_iter().peekable());
        while let Some(ends) = out.peek().into_iter().chain(incoming.peek()).min().copied() {
            let is_out = out.next_if_eq(&ends).is_some();
            let is_in = incoming.next_if_eq(&ends).is_some();
            self.decide(ends, is_out, is_in);
        }
        let Self { changes, edge_type, out, incoming, counts, .. } = &self;
        let compared = SideComparison { changes, edge_type: *edge_type, out, incoming, counts };
        losses.extend(compared.losses());
        let stale_through = compared.stale_through();
        let [fix_out, fix_in] = &mut self.fixes;
        fix_in.values_mut().for_each(|nets| nets.sort_unstable_by_key(|net| net.key));
        Edges { out: fixed(self.out, fix_out), incoming: fixed(self.incoming, fix_in), stale_through }
    }

    fn decide(&mut self, ends: Ends, is_out: bool, is_in: bool) {
        let (source, target) = (VertexId(ends.0), VertexId(ends.1));
        let sides = [(&self.out, source, target), (&self.incoming, target, source)];
        let known = sides.map(|(sides, own, other)| {
            let Some(side) = sides.get(&own.group()) else { return Some(self.through) };
            let key = RecordKey::edge(own.row(), other.0, ends.2);
            side.parts[side.part(own.row())].known_of(key, self.through)
        });
        let groups = (source.group(), target.group());
        let stays = match (is_out, is_in) {
            (true, true) => true,
            _ => {
                let [out, incoming] = known;
                let (says, denies) = if is_out { (out, incoming) } else { (incoming, out) };
                if denies == says {
                    *self.counts.differing.entry(groups).or_default() += 1;
                }
                // Who has it isn't lost; who is lost (`None`, less than any commit) denies nothing.
                says > denies
            }
        };
        let at = known.into_iter().flatten().max().unwrap_or(self.through);
        let stays = stays && self.has_ends(source, target, at);
        let put = |sides: &mut BTreeMap<GroupId, Vec<Net>>, own: VertexId, other: VertexId| {
            let key = RecordKey::edge(own.row(), other.0, ends.2);
            let effect = if stays { Effect::Present(Properties::EMPTY) } else { Effect::Absent };
            sides.entry(own.group()).or_default().push(Net { key, effect, difference: 0 });
        };
        let [fix_out, fix_in] = &mut self.fixes;
        if is_out != stays {
            put(fix_out, source, target);
            if stays {
                let part = self.out.get(&groups.0).map_or(0, |side| side.part(source.row()));
                *self.counts.added.entry((groups.0, part)).or_default() += 1;
            }
        }
        if is_in != stays {
            put(fix_in, target, source);
        }
    }

    /// Whether both ends of an edge that is known to be there at `at` live. One that doesn't, and isn't known
    /// to have died later, is missing, and so is the edge.
    fn has_ends(&mut self, source: VertexId, target: VertexId, at: Timestamp) -> bool {
        let dead = [source, target].into_iter().filter(|end| !self.vertices.is_alive(*end));
        let mut all = true;
        let mut is_missing = false;
        for end in dead {
            all = false;
            is_missing |= self.vertices.known(end).is_none_or(|known| known <= at);
        }
        if is_missing {
            *self.counts.loose.entry((source.group(), target.group())).or_default() += 1;
        }
        all
    }
}

/// Every edge of one side, as `ends` has it.
fn list(sides: &Sides, ends: impl Fn(u32, u32, u16) -> Ends) -> Vec<Ends> {
    let mut list = Vec::with_capacity(sides.values().map(|side| side.body.items()).sum());
    for side in sides.values() {
        side.body.for_each_row(|row, range| {
            let own = VertexId::new(side.group, row).0;
            list.extend(range.map(|at| ends(own, side.body.neighbors()[at], side.body.discriminator(at))));
        });
    }
    list
}

/// Bodies with their fixes, which ascend.
fn fixed(sides: Sides, fixes: &mut BTreeMap<GroupId, Vec<Net>>) -> BTreeMap<GroupId, EdgeBody> {
    let mut bodies: BTreeMap<GroupId, EdgeBody> =
        sides.into_iter().map(|(group, side)| (group, side.body)).collect();
    for (group, nets) in std::mem::take(fixes) {
        let body = bodies.entry(group).or_insert_with(EdgeBody::empty);
        *body = body.merged(&nets);
    }
    bodies
}
