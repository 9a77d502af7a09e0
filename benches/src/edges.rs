//! Edges: which are written, in which order, and what a store must have when they were.

use crate::engine::store::{Edge, Store};
use crate::plan::{Plan, expect};
use evergraph::generate::random::Random;
use evergraph::generate::rmat::{RmatOptions, edges};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::split_mix::finish;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

const RANDOM: u64 = 400;

/// In which order edges come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Both ends are drawn evenly.
    Random,
    /// As R-MAT draws them: a few vertices have most of the edges.
    Skewed,
}

impl Order {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Random, Self::Skewed];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Skewed => "skewed",
        }
    }

    /// `count` edges, no two alike, none of which is `there` already.
    ///
    /// # Errors
    /// `invalid` if the plan's graph doesn't have so many.
    pub fn edges(self, plan: &Plan, count: usize, there: &[Edge]) -> Result<Vec<Edge>> {
        let mut seen: HashSet<Edge> = there.iter().copied().collect();
        let mut distinct = Vec::with_capacity(count);
        let mut add = |edge: Edge| {
            if distinct.len() < count && seen.insert(edge) {
                distinct.push(edge);
            }
            distinct.len() < count
        };
        match self {
            Self::Random => {
                let mut random = Random::new(plan.seed, RANDOM, 0);
                let mut end = || random.below(u64::from(plan.vertices())) as u32;
                // Sparse enough that most draws are new.
                let draws = 4 * count + 16;
                let _ = (0..draws).all(|_| add((end(), end())));
            }
            Self::Skewed => {
                let _ = rmat(plan, 16)?.into_iter().all(&mut add);
            }
        }
        if distinct.len() < count {
            let text = format!("a graph of 2^{} vertices has no {count} {} edges", plan.scale, self.name());
            return Err(Error::invalid(text));
        }
        Ok(distinct)
    }
}

/// The edges of an R-MAT graph as they are drawn, some more than once.
fn rmat(plan: &Plan, degree: u32) -> Result<Vec<Edge>> {
    let options = RmatOptions { edge_factor: degree, ..RmatOptions::new(plan.scale, plan.seed) };
    let (sources, targets) = edges(&options)?;
    Ok(sources.into_iter().zip(targets).collect())
}

/// The edges of a graph of the same size and kind as the plan's, each once, ascending: what is there before others
/// are written.
///
/// # Errors
/// `invalid` for a scale out of range.
pub fn there_before(plan: &Plan) -> Result<Vec<Edge>> {
    sorted(&Plan { seed: plan.seed ^ 1 << 32, file_graph: None, ..plan.clone() }, 16)
}

/// The edges of the plan's graph, each once, in the order in which they are drawn: R-MAT's with so many edges a
/// vertex, or those of files, which have their own degree.
///
/// # Errors
/// `invalid` for a scale out of range.
pub fn distinct(plan: &Plan, degree: u32) -> Result<Vec<Edge>> {
    if let Some(graph) = &plan.file_graph {
        return Ok(graph.edges.clone());
    }
    let mut edges = rmat(plan, degree)?;
    let mut seen = HashSet::with_capacity(edges.len());
    edges.retain(|edge| seen.insert(*edge));
    Ok(edges)
}

/// The same, ascending.
///
/// # Errors
/// As [`distinct`].
pub fn sorted(plan: &Plan, degree: u32) -> Result<Vec<Edge>> {
    let mut edges = match &plan.file_graph {
        Some(graph) => graph.edges.clone(),
        None => rmat(plan, degree)?,
    };
    edges.sort_unstable();
    edges.dedup();
    Ok(edges)
}

/// Average degrees that reads are measured at: two of R-MAT, or that of the files.
#[must_use]
pub fn degrees(plan: &Plan) -> Vec<u32> {
    plan.file_graph.as_ref().map_or(vec![4, 16], |graph| vec![graph.degree()])
}

/// A set of edges in two numbers: different sets have different ones, but for a chance of 1 in 2^64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Contents {
    /// How many.
    pub edges: u64,
    /// A sum of scrambled edges.
    pub sum: u64,
}

impl Contents {
    /// Of `edges`, each once.
    pub fn of<'a>(edges: impl IntoIterator<Item = &'a Edge>) -> Self {
        let mut contents = Self::default();
        edges.into_iter().for_each(|edge| contents.add(*edge));
        contents
    }

    /// Of a store.
    ///
    /// # Errors
    /// What the store says.
    pub fn read(store: &dyn Store) -> Result<Self> {
        let mut contents = Self::default();
        store.read(&mut |reader| {
            contents = Self::default();
            reader.scan(&mut |source, targets| {
                targets.iter().for_each(|target| contents.add((source, *target)))
            })
        })?;
        Ok(contents)
    }

    fn add(&mut self, (source, target): Edge) {
        let number = u64::from(source) << 32 | u64::from(target);
        self.edges += 1;
        self.sum = self.sum.wrapping_add(finish(number));
    }

    /// Fails unless `store` has just this.
    ///
    /// # Errors
    /// `corrupt` if it has something else; what the store says.
    pub fn check(self, who: &str, store: &dyn Store) -> Result<()> {
        expect(who, "all its edges", Self::read(store)?, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph_file::FileGraph;
    use std::sync::Arc;

    #[test]
    fn edges_are_distinct_and_as_many_as_asked_for() {
        let plan = Plan::smoke();
        for order in Order::ALL {
            let there = there_before(&plan).unwrap();
            let edges = order.edges(&plan, 2000, &there).unwrap();
            assert_eq!(edges.iter().chain(&there).collect::<HashSet<_>>().len(), 2000 + there.len());
            assert_eq!(edges, order.edges(&plan, 2000, &there).unwrap(), "the seed says which");
        }
        assert!(Order::Skewed.edges(&plan, 10_000_000, &[]).is_err());
    }

    #[test]
    fn a_graph_of_files_takes_the_place_of_rmat() {
        let plan = Plan::smoke();
        let mut drawn = distinct(&plan, 16).unwrap();
        assert!(!drawn.is_sorted());
        drawn.sort_unstable();
        assert_eq!(drawn, sorted(&plan, 16).unwrap());
        let edges = vec![(2, 0), (0, 1)];
        let graph = FileGraph { name: "tiny".to_owned(), vertices: 3, edges: edges.clone() };
        let plan = Plan { file_graph: Some(Arc::new(graph)), ..plan };
        assert_eq!((distinct(&plan, 16).unwrap(), plan.vertices()), (edges, 3));
        assert_eq!((sorted(&plan, 4).unwrap(), degrees(&plan)), (vec![(0, 1), (2, 0)], vec![1]));
    }

    #[test]
    fn contents_tell_sets_apart_and_not_orders() {
        let all = [(1, 2), (2, 1), (7, 7)];
        assert_eq!(Contents::of(&all), Contents::of(all.iter().rev()));
        assert_ne!(Contents::of(&all), Contents::of(&[(1, 2), (2, 1), (7, 8)]));
        assert_ne!(Contents::of(&[(1, 2), (3, 4)]), Contents::of(&[(1, 4), (3, 2)]));
    }
}
