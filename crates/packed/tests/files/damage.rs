//! Damage: files that are missing, cut short or changed are errors that name file and byte, or another graph; whichever components
//! of DGAP the graph has.
//!
//! What a power cut leaves in the midst of a change is damaged word by word in `tests/graph`.

use crate::memory;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::split_mix::mix;
use evergraph_graph::topology::Topology as _;
use evergraph_packed::ablation::{Ablation, Placement, TakenSlot, UndoKind};
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::region::Domain;
use evergraph_packed::options::Options;
use evergraph_packed::recovery::Reopening;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// With all components, without each of them, and without any.
const ABLATIONS: [Ablation; 5] = [
    Ablation::NONE,
    Ablation { taken_slot: TakenSlot::Shifted, ..Ablation::NONE },
    Ablation { undo: UndoKind::Journal, ..Ablation::NONE },
    Ablation { placement: Placement::File, ..Ablation::NONE },
    Ablation::ALL,
];

/// A graph of some edges in `place`; its files but for the lock: the root, the array, and after a shutdown the saved vertex array.
fn write(place: &Path, ablation: Ablation, is_shut_down: bool) -> Vec<String> {
    let options = Options { vertices: 12, edges: 30, log_records: 9, undo_bytes: 128, ablation };
    let graph = PackedGraph::create(memory(place, Domain::Adr), &options).unwrap();
    for at in 0..60 {
        graph.insert_edge(at % 5, at % 12).unwrap();
    }
    if is_shut_down {
        graph.shutdown().unwrap();
    } else {
        drop(graph);
    }
    let mut names: Vec<String> =
        fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != "packed.lock");
    names.sort();
    names
}

/// Opens and reads everything, and inserts.
fn use_all(place: &Path, reopening: Reopening) -> Result<(), Error> {
    let (graph, _) = PackedGraph::open(memory(place, Domain::Adr), reopening)?;
    let view = graph.consistent_view();
    (0..view.bound()).try_for_each(|vertex| view.neighbors(vertex).map(drop))?;
    drop(view);
    (0..30).try_for_each(|at| graph.insert_edge(at % 3, at % 7))?;
    graph.shutdown()
}

/// Whether the error names the file and a byte of it.
fn names_place(error: &Error, file: &Path) -> bool {
    let text = error.to_string();
    let name = file.display().to_string();
    text.find(&name).is_some_and(|at| text[at + name.len()..].contains("at byte"))
}

#[test]
fn a_file_that_is_cut_short_is_an_error_that_names_it_and_where_it_ends() {
    let each = ABLATIONS.into_iter().flat_map(|ablation| [0, 1, 2].map(|number| (ablation, number)));
    for (ablation, number) in each {
        for kept in [0, 1, 8, 63, 64, 100, 4096] {
            let place = tempfile::tempdir().unwrap();
            let names = write(place.path(), ablation, true);
            assert!(names.len() == 3 && names[0] == "packed-00000000", "{names:?}");
            let path = place.path().join(&names[number]);
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            let length = file.metadata().unwrap().len();
            if kept >= length {
                continue;
            }
            file.set_len(kept).unwrap();
            let error = use_all(place.path(), Reopening::Saved).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{ablation:?}: {error}");
            // The saved vertex array has a checksum over all of it.
            let is_summed = number == 2 && error.to_string().contains("saved vertex array");
            assert!(error.to_string().contains(&path.display().to_string()), "{ablation:?}: {error}");
            let is_told = error.to_string().contains(&format!("at byte {kept}"));
            assert!(is_summed || is_told, "{ablation:?}: {error}");
        }
    }
}

#[test]
fn a_file_that_is_missing_is_named() {
    for ablation in ABLATIONS {
        let place = tempfile::tempdir().unwrap();
        for name in write(place.path(), ablation, true).iter().rev() {
            fs::remove_file(place.path().join(name)).unwrap();
            let error = use_all(place.path(), Reopening::Saved).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{ablation:?}: {error}");
            assert!(name == "packed-00000000" || error.to_string().contains(name), "{ablation:?}: {error}");
        }
    }
}

/// Changes a word of a file, for each seed; how many of the graphs were refused by errors without and with file and byte.
fn refused(ablation: Ablation, seeds: u64) -> [u64; 2] {
    let mut refused = [0; 2];
    for seed in 0..seeds {
        let random = |number: u64| mix(seed << 8 | number);
        let place = tempfile::tempdir().unwrap();
        let is_shut_down = random(1) % 2 == 0;
        let names = write(place.path(), ablation, is_shut_down);
        let path = place.path().join(&names[random(2) as usize % names.len()]);
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let byte = random(3) % file.metadata().unwrap().len() / 8 * 8;
        let mut word = [0; 8];
        file.read_exact_at(&mut word, byte).unwrap();
        let old = u64::from_le_bytes(word);
        let new = [old ^ 1 << (random(5) % 64), u64::MAX, 0, old.wrapping_add(1)][random(4) as usize % 4];
        file.write_all_at(&new.to_le_bytes(), byte).unwrap();
        let reopening = [Reopening::Saved, Reopening::Scan][random(7) as usize % 2];
        if let Err(error) = use_all(place.path(), reopening) {
            let kinds = [ErrorKind::Corrupt, ErrorKind::Invalid, ErrorKind::NotFound];
            assert!(kinds.contains(&error.kind()), "{ablation:?}: {error}");
            refused[usize::from(names_place(&error, &path))] += 1;
        }
    }
    refused
}

#[test]
fn a_changed_word_of_a_file_is_an_error_that_names_its_file_or_another_graph() {
    for ablation in ABLATIONS {
        // Without components a file has more that is never read, or not where nothing was interrupted.
        let (seeds, least) = if ablation == Ablation::NONE { (120, 10) } else { (60, 2) };
        let refused = refused(ablation, seeds);
        assert!(
            refused[1] > least,
            "{refused:?} of {seeds} were refused with {ablation:?}, without and with file and byte"
        );
    }
}
