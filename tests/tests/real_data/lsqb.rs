//! LSQB's nine queries on the social networks of LDBC: the published answers of its example, and for
//! larger graphs those of DuckDB, by SQL that has the published ones right.

use crate::imported::{Imported, options_for};
use crate::peak::{PeakMemory, alone};
use evergraph::EngineKind;
use evergraph::import::policy::OnUnknown;
use evergraph_tests::data::{json_counts, read_text};
use evergraph_tests::data_folder::data_set;
use evergraph_tests::lsqb::queries::count_all;

/// The answers in a section of `expected-counts.json`; 0 for a query that isn't there, since the graph
/// lacks its edges.
pub fn answers(text: &str, section: &str) -> [u64; 9] {
    let mut answers = [0; 9];
    for (query, count) in json_counts(text, section) {
        let number: usize = query.strip_prefix('q').unwrap().parse().unwrap();
        answers[number - 1] = count;
    }
    answers
}

#[test]
fn the_example_has_the_published_answers() {
    let Some(folder) = data_set("lsqb-example") else { return };
    for engine in EngineKind::ALL {
        let imported = Imported::without_ids(engine, &options_for([folder.clone()]));
        assert_eq!(count_all(&imported.db.snapshot()), [8, 3, 6, 8, 3, 8, 11, 2, 4], "{engine}");
    }
}

/// The set has no files of messages: comments and posts are what edges name.
fn check_a_network_of_a_million_edges(engine: EngineKind) {
    let Some(folder) = data_set("snb-sf0.1-topology") else { return };
    let options = options_for([folder.clone()]).with(|options| options.ids.on_unknown = OnUnknown::Create);
    let imported = Imported::without_ids(engine, &options);
    let statistics = imported.db.statistics().unwrap();
    assert_eq!((statistics.vertices_count(), statistics.edges_count()), (327_588, 1_354_697));
    let counts = read_text(&folder.join("expected-counts.json"));
    assert_eq!(count_all(&imported.db.snapshot()), answers(&counts, "lsqb_without_q1"));
}

#[test]
fn a_network_of_a_million_edges_has_the_computed_answers_on_disk() {
    alone("lsqb::a_network_of_a_million_edges_has_the_computed_answers_on_disk", || {
        let peak = PeakMemory::begin();
        check_a_network_of_a_million_edges(EngineKind::Disk);
        if let Some(peak) = peak {
            peak.assert_within_limit();
        }
    });
}
