//! Groups: the largest have the lowest numbers.

use evergraph_analysis::groups::numbers;
use evergraph_graph::id::VertexId;

#[test]
fn the_largest_groups_have_the_lowest_numbers() {
    let groups = [0, 1, 2, 2, 1, 2, 6];
    let members: Vec<VertexId> = (0..7).map(VertexId).collect();
    let found = numbers(&members, 7, |vertex| groups[vertex as usize]);
    assert_eq!(found, [2, 1, 0, 0, 1, 0, 3]);
    assert_eq!(numbers(&members[3..5], 7, |vertex| groups[vertex as usize]), [1, 0]);
}
