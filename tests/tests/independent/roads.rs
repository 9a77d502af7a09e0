//! Rome's roads: the shortest ways from some crossings to all others, and what hangs together, beside scipy.

use crate::python::answer;
use evergraph::algorithms::control::Control;
use evergraph::algorithms::scc;
use evergraph::algorithms::scope::Scope;
use evergraph::algorithms::sssp::{self, SsspParameters};
use evergraph::algorithms::wcc::{self, WccParameters};
use evergraph::graph::topology::Weight;
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::{Database, Freeze, GraphView, ReadByName, VertexId};
use evergraph_tests::data_folder::data_set;
use std::ffi::OsStr;

const CROSSINGS: i64 = 3353;
const SOURCES: [&str; 5] = ["1", "332", "1000", "2500", "3353"];

#[test]
fn ways_through_rome_and_its_components_are_those_that_scipy_finds() {
    let Some(folder) = data_set("road-rome99") else { return };
    let file = folder.join("rome99.gr.gz");
    let arguments: Vec<&OsStr> = [file.as_os_str()].into_iter().chain(SOURCES.map(OsStr::new)).collect();
    let Some(expected) = answer("roads", &arguments) else { return };
    let db = Database::in_memory().unwrap();
    db.import(&ImportOptions::new([InputFile::new(&file)]), &|_| ()).unwrap();
    let snapshot = db.snapshot();
    let vertex = |id: i64| -> VertexId { snapshot.find("Vertex", "id", id).unwrap().unwrap() };
    let crossings: Vec<VertexId> = (1..=CROSSINGS).map(vertex).collect();
    let control = Control::new(snapshot.budget());
    let weight = Weight { key: snapshot.catalogue().key("weight").unwrap(), missing: None };
    for (at, source) in SOURCES.iter().enumerate() {
        let source = vertex(source.parse().unwrap());
        let parameters = SsspParameters::default();
        let found = sssp::run(&snapshot, &Scope::default(), &weight, source, &parameters, &control).unwrap();
        let found: Vec<f64> =
            crossings.iter().map(|crossing| found.distance(*crossing).unwrap_or(-1.0)).collect();
        let expected: Vec<f64> = serde_json::from_value(expected["distances"][at].clone()).unwrap();
        assert_eq!(found, expected, "from {source:?}");
    }
    let weak = wcc::run(&snapshot, &Scope::default(), &WccParameters::default(), &control).unwrap();
    let strong = scc::run(&snapshot, &Scope::default(), &control).unwrap();
    assert_eq!(expected["weak"], weak.components);
    assert_eq!(expected["strong"], strong.components);
}
