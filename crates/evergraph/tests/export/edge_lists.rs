//! Edge lists: ids, chosen properties and types come back by the mapping that lies beside them.

use evergraph::export::options::{ExportFormat, ExportOptions};
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::{Database, ErrorKind};
use std::fs;

use crate::graphs::Content;

fn roads() -> Database {
    let db = Database::in_memory().unwrap();
    db.create_unique_index("Town", "id").unwrap();
    db.transact(|tx| {
        let towns: Vec<_> = (1..=4_i64)
            .map(|id| tx.add_vertex("Town", &[("id", (id * 10).into()), ("size", (id as f64 / 4.0).into())]))
            .collect::<Result<_, _>>()?;
        tx.add_edge(towns[0], "ROAD", towns[1], &[("km", 2.5.into()), ("name", "A 1".into())])?;
        tx.add_edge(towns[0], "ROAD", towns[1], &[])?;
        tx.add_edge(towns[2], "ROAD", towns[2], &[("km", f64::INFINITY.into())])?;
        tx.add_edge(towns[1], "RAIL way", towns[0], &[])?;
        Ok(())
    })
    .unwrap();
    db
}

#[test]
fn a_folder_of_lists_is_imported_by_the_mapping_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut options = ExportOptions::new(ExportFormat::EdgeList, &out);
    options.edge_columns = vec!["km".to_owned()];
    options.vertex_columns = vec!["size".to_owned()];
    let db = roads();
    let report = db.export(&options, &|_| ()).unwrap();
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    assert_eq!(read("vertices.v"), "10 0.25\n20 0.5\n30 0.75\n40 1.0\n");
    assert_eq!(read("ROAD.e"), "10,20,2.5\n10,20,\n30,30,inf\n");
    assert_eq!(read("RAIL_way.e"), "20 10\n");
    assert_eq!(report.losses, ["the property `name` of edges"]);

    let back = Database::in_memory().unwrap();
    let imported = back.import(&ImportOptions::new([InputFile::new(&out)]), &|_| ()).unwrap();
    let note = format!("{}: read as its import.toml says (--mapping FILE takes another one)", out.display());
    assert_eq!((imported.files.notes, imported.files.ignored_files), (vec![note], Vec::new()));
    let named = ImportOptions::new([InputFile::new(&out).label("City")]);
    let refused = Database::in_memory().unwrap().import(&named, &|_| ()).unwrap_err().to_string();
    assert!(refused.contains("import.toml: says how the files beside it are read"), "{refused}");
    db.transact(|tx| {
        let town = tx.find("Town", "id", 10_i64)?.unwrap();
        for (edge, _) in tx.edges(town, evergraph::Direction::Out, &["ROAD"])? {
            if tx.get_edge(edge, "name")?.is_some() {
                tx.by_id(); // the property that isn't carried
                let key = evergraph::graph::transaction::Transaction::key(tx.by_id(), "name")?;
                evergraph::graph::transaction::Transaction::set_edge_property(tx.by_id(), edge, key, None)?;
            }
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(Content::of(&back), Content::of(&db));
}

#[test]
fn one_file_holds_the_edges_of_all_types() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.e");
    let mut options = ExportOptions::new(ExportFormat::EdgeList, &out);
    options.types = vec!["ROAD".to_owned()];
    roads().export(&options, &|_| ()).unwrap();
    assert_eq!(fs::read_to_string(&out).unwrap(), "10 20\n10 20\n30 30\n");
    options.edge_columns = vec!["km".to_owned()];
    options.overwrite = true;
    roads().export(&options, &|_| ()).unwrap();
    assert_eq!(fs::read_to_string(&out).unwrap(), "10,20,2.5\n10,20,\n30,30,inf\n", "one has no km");
}

#[test]
fn a_list_in_which_no_value_is_missing_has_blanks_as_other_tools_expect() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.e");
    let mut options = ExportOptions::new(ExportFormat::EdgeList, &out);
    options.edge_columns = vec!["km".to_owned()];
    let db = Database::in_memory().unwrap();
    db.transact(|tx| {
        let towns = [tx.add_vertex("Town", &[])?, tx.add_vertex("Town", &[])?];
        tx.add_edge(towns[0], "ROAD", towns[1], &[("km", 2.5.into())])?;
        tx.add_edge(towns[1], "ROAD", towns[0], &[("km", 0.5.into())])
    })
    .unwrap();
    db.export(&options, &|_| ()).unwrap();
    assert_eq!(fs::read_to_string(&out).unwrap(), "0 1 2.5\n1 0 0.5\n");
}

#[test]
fn a_property_that_lists_cannot_have_is_named_with_its_type() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = ExportOptions::new(ExportFormat::EdgeList, folder.path().join("out"));
    options.edge_columns = vec!["name".to_owned()];
    let error = roads().export(&options, &|_| ()).unwrap_err();
    assert!(error.to_string().starts_with("\"name\" of edges is of type string: lists have"), "{error}");
    options.edge_columns = vec!["size".to_owned()];
    let error = roads().export(&options, &|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.to_string(), "no edges that are written have \"size\"; there are: km, name");
}
