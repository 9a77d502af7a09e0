//! Origins: files as other programs and data sets have them, by their headers and shapes, and what each
//! becomes without a word of explanation; by the mapping that is proposed for it, it becomes the same. The rows
//! are made up.

mod databases;
mod headerless;
mod lists;
mod sets;
mod vertices;

use crate::import::plan::propose;
use crate::import::read::tests::files::*;
use crate::import::read::*;
use evergraph_graph::value::ValueType;

/// Files of one origin and what they become.
pub struct Origin {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// What is there: labels and types with their properties and counts, and then words of notes.
    becomes: &'static [&'static str],
}

/// An origin.
pub const fn origin(
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    becomes: &'static [&'static str],
) -> Origin {
    Origin { name, files, becomes }
}

/// `Person[id:long,name:string] 2`, and `KNOWS(Person>Person)[since:int] 1`.
fn tables(load: &Load) -> Vec<String> {
    let keys = |properties: &[(String, ValueType)]| {
        let keys: Vec<String> = properties.iter().map(|(key, of)| format!("{key}:{of}")).collect();
        if keys.is_empty() { String::new() } else { format!("[{}]", keys.join(",")) }
    };
    let vertices = load
        .vertices
        .iter()
        .map(|table| format!("{}{} {}", table.label, keys(&table.properties), table.rows));
    let edges = load.edges.iter().map(|table| {
        let [source, target] =
            [table.source_label, table.target_label].map(|at| load.vertices[at].label.as_str());
        format!("{}({source}>{target}){} {}", table.edge_type, keys(&table.properties), table.rows)
    });
    vertices.chain(edges).collect()
}

/// The same without the order of files, which a folder has of its own.
fn tables_in_order(load: &Load) -> Vec<String> {
    let mut tables = tables(load);
    tables.sort();
    tables
}

/// Complains about each of `origins` that becomes something else.
#[track_caller]
pub fn check(origins: &[Origin]) {
    let mut wrong = String::new();
    for Origin { name, files, becomes } in origins {
        let files = Files::new(files);
        let folder = format!("{}/", files.folder.path().display());
        let found: Vec<String> = match files.read(&files.options()) {
            Ok(imported) => {
                assert_eq!(imported.bad_rows.count, 0);
                let proposed = propose(&files.options(), &ExistingGraph::default()).unwrap();
                let by_mapping = mapped(&files, &proposed).map(|imported| tables_in_order(&imported.load));
                let by_itself = tables_in_order(&imported.load);
                if by_mapping.as_ref().ok() != Some(&by_itself) {
                    wrong +=
                        &format!("{name}\n  by itself {by_itself:#?}\n  by {proposed}\n  {by_mapping:#?}\n");
                }
                let notes = imported.notes.iter().map(|note| format!("note {}", note.replace(&folder, "")));
                tables(&imported.load).into_iter().chain(notes).collect()
            }
            Err(error) => vec![format!("error {}", error.to_string().replace(&folder, ""))],
        };
        // A word of notes and errors is enough; tables are named in full.
        let is_there = |wanted: &&&str| match wanted.split_once(' ') {
            Some((kind @ ("note" | "error"), words)) => {
                found.iter().any(|found| found.starts_with(kind) && found.contains(words))
            }
            _ => found.iter().any(|found| found == **wanted),
        };
        let count =
            |lines: &mut dyn Iterator<Item = &str>| lines.filter(|line| !line.starts_with("note ")).count();
        let same_tables = count(&mut found.iter().map(String::as_str)) == count(&mut becomes.iter().copied());
        if !becomes.iter().all(|wanted| is_there(&wanted)) || !same_tables {
            wrong += &format!("{name}\n  wanted {becomes:#?}\n  found {found:#?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
