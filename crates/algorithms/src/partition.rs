//! Partition: the community of each vertex, and the volume and size of each community.
//!
//! A community goes by the number of some vertex. Its volume is the sum of the strengths of its
//! members.

use crate::labels::Labels;
use evergraph_graph::vertex_set::VertexSet;

/// In place of a community: the vertex is out of scope.
pub(crate) const NOWHERE: u32 = Labels::OUT_OF_SCOPE;

/// Vertices that are divided into communities.
pub(crate) struct Partition {
    communities: Vec<u32>,
    volumes: Vec<f64>,
    sizes: Vec<u32>,
}

impl Partition {
    /// Bytes for each vertex.
    pub(crate) const BYTES: usize = size_of::<f64>() + 2 * size_of::<u32>();

    /// The `communities` of vertices with these strengths.
    pub(crate) fn new(communities: Vec<u32>, strengths: &[f64]) -> Self {
        let (mut volumes, mut sizes) = (vec![0.0; communities.len()], vec![0; communities.len()]);
        for (community, strength) in communities.iter().zip(strengths) {
            if *community != NOWHERE {
                volumes[*community as usize] += strength;
                sizes[*community as usize] += 1;
            }
        }
        Self { communities, volumes, sizes }
    }

    /// The community of `vertex`; [`NOWHERE`] out of scope.
    #[inline]
    pub(crate) fn community(&self, vertex: u32) -> u32 {
        self.communities[vertex as usize]
    }

    /// The strengths of the members of `community`, summed.
    #[inline]
    pub(crate) fn volume(&self, community: u32) -> f64 {
        self.volumes[community as usize]
    }

    /// How many members `community` has.
    #[inline]
    pub(crate) fn size(&self, community: u32) -> u32 {
        self.sizes[community as usize]
    }

    /// Moves `vertex`, of this strength, to `community`; returns the community that it leaves.
    pub(crate) fn join(&mut self, vertex: u32, strength: f64, community: u32) -> u32 {
        let left = std::mem::replace(&mut self.communities[vertex as usize], community);
        self.sizes[left as usize] -= 1;
        // An empty community has no rounding errors.
        let volume = &mut self.volumes[left as usize];
        *volume = if self.sizes[left as usize] == 0 { 0.0 } else { *volume - strength };
        self.sizes[community as usize] += 1;
        self.volumes[community as usize] += strength;
        left
    }

    /// The community of each vertex.
    pub(crate) fn into_communities(self) -> Vec<u32> {
        self.communities
    }
}

/// Every one of `vertices` in a community of its own.
pub(crate) fn singletons(vertices: &VertexSet) -> Vec<u32> {
    (0..vertices.bound()).map(|vertex| if vertices.contains(vertex) { vertex } else { NOWHERE }).collect()
}

/// Numbers communities from zero on, in the order of their first members; how many there are.
pub(crate) fn renumber(communities: &mut [u32]) -> u32 {
    let mut numbers = vec![NOWHERE; communities.len()];
    let mut count = 0;
    for community in communities.iter_mut().filter(|community| **community != NOWHERE) {
        let number = &mut numbers[*community as usize];
        if *number == NOWHERE {
            *number = count;
            count += 1;
        }
        *community = *number;
    }
    count
}

/// Names each community by its smallest member.
pub(crate) fn name_by_smallest(communities: &mut [u32]) {
    let mut smallest = vec![NOWHERE; communities.len()];
    for (vertex, community) in (0..).zip(communities).filter(|(_, community)| **community != NOWHERE) {
        let name = &mut smallest[*community as usize];
        if *name == NOWHERE {
            *name = vertex;
        }
        *community = *name;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_and_sizes_follow_who_moves_and_an_empty_community_has_none() {
        let strengths = [0.1, 0.2, 0.7, 5.0];
        let mut partition = Partition::new(vec![0, 0, 2, NOWHERE], &strengths);
        assert_eq!((partition.size(0), partition.size(2)), (2, 1));
        assert_eq!(partition.join(0, 0.1, 2), 0);
        assert_eq!(partition.join(1, 0.2, 2), 0);
        assert_eq!((partition.volume(0), partition.size(0)), (0.0, 0));
        assert!((partition.volume(2) - 1.0).abs() < 1e-15);
        assert_eq!(partition.size(2), 3);
        assert_eq!(partition.into_communities(), [2, 2, 2, NOWHERE]);
    }

    #[test]
    fn communities_are_numbered_by_their_first_members_and_named_by_their_smallest() {
        let mut communities = [4, NOWHERE, 2, 4, 2, 0];
        assert_eq!(renumber(&mut communities), 3);
        assert_eq!(communities, [0, NOWHERE, 1, 0, 1, 2]);
        name_by_smallest(&mut communities);
        assert_eq!(communities, [0, NOWHERE, 2, 0, 2, 5]);
        let mut vertices = VertexSet::empty(3);
        vertices.insert(0);
        vertices.insert(2);
        assert_eq!(singletons(&vertices), [0, NOWHERE, 2]);
    }
}
