//! Sides: whether the out-lists and the in-lists of a file have the same edges.
//!
//! An adjacency file states each edge twice: at its source and at its target. A reader takes one of
//! the two; an edge that only the other has would be lost without a word. So every edge of both lists
//! is hashed, by id, type and ends, and the hashes of a side are added up. Sums don't depend on any
//! order, so each thread may add up its own lines. Equal sums mean equal lists but for a chance of
//! 2^-64; this guards against broken files, not against forged ones.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::element::Edge;

/// At which end of an edge an adjacency list stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// At its source: `outE`.
    Out,
    /// At its target: `inE`.
    In,
}

/// How many edges each side has, and the sum of their hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SideSums {
    out_count: u64,
    in_count: u64,
    out_sum: u64,
    in_sum: u64,
}

/// What the lists of a whole file have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// Both sides have the same edges (or none).
    Same,
    /// Only one side is written, as writers may choose to.
    OneSided(Side),
    /// Both sides are written, and differ.
    Different {
        /// Edges in out-lists.
        out_count: u64,
        /// Edges in in-lists.
        in_count: u64,
    },
}

impl SideSums {
    /// Counts an edge of a list at `side`.
    pub fn add(&mut self, side: Side, edge: &Edge) {
        let parts = (&edge.id, &edge.edge_type, &edge.source, &edge.target);
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(parts);
        let (count, sum) = match side {
            Side::Out => (&mut self.out_count, &mut self.out_sum),
            Side::In => (&mut self.in_count, &mut self.in_sum),
        };
        *count += 1;
        *sum = sum.wrapping_add(hash);
    }

    /// Adds the sums of other lines.
    pub fn merge(&mut self, other: &SideSums) {
        self.out_count += other.out_count;
        self.in_count += other.in_count;
        self.out_sum = self.out_sum.wrapping_add(other.out_sum);
        self.in_sum = self.in_sum.wrapping_add(other.in_sum);
    }

    /// What the sides have in common, once every line of the file was added.
    #[must_use]
    pub fn agreement(&self) -> Agreement {
        if (self.out_count, self.out_sum) == (self.in_count, self.in_sum) {
            return Agreement::Same;
        }
        match (self.out_count, self.in_count) {
            (_, 0) => Agreement::OneSided(Side::Out),
            (0, _) => Agreement::OneSided(Side::In),
            (out_count, in_count) => Agreement::Different { out_count, in_count },
        }
    }

    /// Says why edges would be missing if only those of `side` were taken from the file.
    ///
    /// # Errors
    /// A text for people, if the other side is the only one that is written, or has different edges.
    pub fn check(&self, side: Side) -> Result<(), String> {
        match self.agreement() {
            Agreement::Same => Ok(()),
            Agreement::OneSided(written) if written == side => Ok(()),
            Agreement::OneSided(Side::Out) => Err(one_sided("outE", "inE")),
            Agreement::OneSided(Side::In) => Err(one_sided("inE", "outE")),
            Agreement::Different { out_count, in_count } => Err(format!(
                "outE and inE list different edges ({out_count} and {in_count}): the file is incomplete"
            )),
        }
    }
}

fn one_sided(written: &str, read: &str) -> String {
    format!(
        "edges are in {written} only, but {read} is read: vertices are missing, or were written without it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::value::Value;
    use std::slice::from_ref;

    fn edge(id: i32, source: i32, target: i32) -> Edge {
        let (source, target) = (Value::I32(source), Value::I32(target));
        Edge {
            id: Some(Value::I32(id)),
            edge_type: "knows".to_owned(),
            source,
            target,
            properties: Vec::new(),
        }
    }

    fn sums(out: &[Edge], in_: &[Edge]) -> SideSums {
        let mut sums = SideSums::default();
        out.iter().for_each(|edge| sums.add(Side::Out, edge));
        in_.iter().for_each(|edge| sums.add(Side::In, edge));
        sums
    }

    #[test]
    fn the_order_of_edges_and_lines_does_not_matter() {
        let edges = [edge(1, 1, 2), edge(2, 2, 1), edge(3, 1, 1)];
        let reversed: Vec<_> = edges.iter().rev().cloned().collect();
        assert_eq!(sums(&edges, &reversed).agreement(), Agreement::Same);
        let mut merged = sums(&edges[..1], &edges[1..]);
        merged.merge(&sums(&edges[1..], &edges[..1]));
        assert_eq!(merged, sums(&edges, &edges));
        assert_eq!(SideSums::default().check(Side::In), Ok(()));
    }

    #[test]
    fn an_edge_of_one_side_is_noticed() {
        let (first, second) = (edge(1, 1, 2), edge(2, 1, 3));
        let different = sums(from_ref(&first), from_ref(&second));
        assert_eq!(different.agreement(), Agreement::Different { out_count: 1, in_count: 1 });
        assert!(different.check(Side::Out).is_err());
        let turned = sums(&[edge(1, 1, 2)], &[edge(1, 2, 1)]);
        assert!(turned.check(Side::Out).is_err());
        assert!(sums(&[first.clone(), second.clone()], from_ref(&first)).check(Side::Out).is_err());
        let one_sided = sums(&[], &[first, second]);
        assert_eq!(one_sided.check(Side::In), Ok(()));
        assert!(one_sided.check(Side::Out).unwrap_err().contains("in inE only"));
    }
}
