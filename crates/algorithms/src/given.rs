//! Given: numbers supplied by the caller, one for each vertex id.

use evergraph_graph::error::{Error, Result};
use evergraph_graph::topology::Topology;

/// Whether `numbers`, each called `name`, are one for each id below the topology's bound, and finite and not negative for
/// each vertex in scope.
///
/// # Errors
/// `invalid`, naming the vertex.
pub(crate) fn check<T: Topology>(numbers: &[f64], name: &str, topology: &T) -> Result<()> {
    if numbers.len() != topology.bound() as usize {
        let (found, bound) = (numbers.len(), topology.bound());
        return Err(Error::invalid(format!("found {found} numbers ({name}) for vertex ids below {bound}")));
    }
    let mut all = topology.vertices().iter().map(|vertex| (vertex, numbers[vertex as usize]));
    match all.find(|(_, number)| !(*number >= 0.0 && number.is_finite())) {
        Some((vertex, number)) => Err(Error::invalid(format!(
            "the {name} of vertex {vertex} is {number}, but must be finite and not negative"
        ))),
        None => Ok(()),
    }
}
