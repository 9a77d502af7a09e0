//! Damage: files that are missing, cut short or changed are errors that name file and byte, or another graph.

use crate::memory;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::split_mix::mix;
use evergraph_graph::topology::Topology as _;
use evergraph_packed::ablation::Ablation;
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::region::Domain;
use evergraph_packed::options::Options;
use evergraph_packed::recovery::Reopening;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

const OPTIONS: Options =
    Options { vertices: 12, edges: 30, log_records: 9, undo_bytes: 128, ablation: Ablation::NONE };

/// A graph of some edges in `place`; its files but for the lock.
fn write(place: &Path, is_shut_down: bool) -> Vec<String> {
    let graph = PackedGraph::create(memory(place, Domain::Adr), &OPTIONS).unwrap();
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
    for name in ["packed-00000000", "packed-00000001", "packed-00000002"] {
        for kept in [0, 1, 8, 63, 64, 100, 4096] {
            let place = tempfile::tempdir().unwrap();
            let names = write(place.path(), true);
            assert_eq!(names, ["packed-00000000", "packed-00000001", "packed-00000002"]);
            let path = place.path().join(name);
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            let length = file.metadata().unwrap().len();
            if kept >= length {
                continue;
            }
            file.set_len(kept).unwrap();
            let error = use_all(place.path(), Reopening::Saved).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            // The saved vertex array has a checksum over all of it.
            let is_summed = name == "packed-00000002" && error.to_string().contains("saved vertex array");
            assert!(error.to_string().contains(&path.display().to_string()), "{error}");
            assert!(is_summed || error.to_string().contains(&format!("at byte {kept}")), "{error}");
        }
    }
}

#[test]
fn a_file_that_is_missing_is_named() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), true);
    for (name, kind) in [
        ("packed-00000002", ErrorKind::NotFound),
        ("packed-00000001", ErrorKind::NotFound),
        ("packed-00000000", ErrorKind::NotFound),
    ] {
        fs::remove_file(place.path().join(name)).unwrap();
        let error = use_all(place.path(), Reopening::Saved).unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(name == "packed-00000000" || error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_changed_word_of_a_file_is_an_error_that_names_its_file_or_another_graph() {
    let mut refused = [0; 2];
    for seed in 0..120u64 {
        let random = |number: u64| mix(seed << 8 | number);
        let place = tempfile::tempdir().unwrap();
        let is_shut_down = random(1) % 2 == 0;
        let names = write(place.path(), is_shut_down);
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
            assert!(kinds.contains(&error.kind()), "{error}");
            refused[usize::from(names_place(&error, &path))] += 1;
        }
    }
    assert!(refused[1] > 10, "{refused:?} were refused, without and with file and byte");
}
