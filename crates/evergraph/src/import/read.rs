//! Read: the whole of an import, from options to tables in memory.
//!
//! Order: CSV and Parquet files of vertices; files of both, but for their edges; CSV and Parquet files
//! of edges; the edges of files of both; lists of vertices, then of edges. Each file is read by the pipeline; the tables stand in the order in which their first rows came.

use crate::import::assembly::graph::Assembly;
use crate::import::context::Context;
use crate::import::csv_graph::{read_nodes, read_relationships};
use crate::import::edge_list_file::{ListFile, ListKind};
use crate::import::edge_list_graph::EdgeListGraph;
use crate::import::elements::element_graph::ElementGraph;
use crate::import::faults::FaultCollector;
use crate::import::known::Known;
use crate::import::lines::BLOCK_BYTES;
use crate::import::meter::Meter;
use crate::import::options::{ImportOptions, Imported, Progress, Role};
use crate::import::parquet::file::ParquetFile;
use crate::import::parquet::graph as parquet_graph;
use crate::import::plan::Plan;
use crate::import::report::ReportFile;
use crate::import::spill::Staging;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::load::Load;
use rayon::ThreadPoolBuilder;
use std::sync::Arc;

/// Reads all files of `options` into tables of packed columns, telling `progress` how far it is a few times a second
/// or more.
///
/// Cost: memory for the columns, 4 to 20 bytes a vertex for its id besides, and some megabytes a
/// thread.
///
/// # Errors
/// `not_found` or `io` for a file that can't be read; `cancelled`; `limit` beyond 4,294,967,295
/// vertices of one label or id space; `invalid` for everything that is wrong with options, headers
/// and rows: the text names file, line and column. Rows are errors only where they stop an import.
pub fn read(options: &ImportOptions, progress: &dyn Fn(Progress<'_>)) -> Result<Imported> {
    read_beside(options, Known::default(), progress)
}

/// As [`read`], into a database that has `known`: edges may begin and end there, and a vertex that is
/// known is a bad row.
///
/// # Errors
/// As [`read`].
pub fn read_beside(
    options: &ImportOptions,
    known: Known,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Imported> {
    read_in_blocks(options, known, progress, BLOCK_BYTES)
}

/// As [`read_beside`], with blocks of about `block_bytes`: tests cut small files into many.
pub(crate) fn read_in_blocks(
    options: &ImportOptions,
    known: Known,
    progress: &dyn Fn(Progress<'_>),
    block_bytes: usize,
) -> Result<Imported> {
    options.check()?;
    options.cancel.check()?;
    let plan = Plan::new(options, &known)?;
    let has_vertex_lists = plan.lists.iter().any(|list| list.kind == ListKind::Vertices);
    if options.vertices.is_some() && (plan.lists.is_empty() || has_vertex_lists) {
        return Err(Error::invalid(
            "a range of vertices declares those of edge lists: give it with edge lists and without vertex lists",
        ));
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .thread_name(|index| format!("import-{index}"))
        .build()
        .map_err(|error| Error::new(ErrorKind::Io, "start the import's threads").because(error))?;
    let report = options.bad_rows_report.as_deref().map(ReportFile::create).transpose()?;
    let mut context = Context {
        options,
        pool: &pool,
        meter: Meter::new(progress, options.cancel.clone(), plan.bytes_total),
        faults: FaultCollector::new(options.on_bad_row, report),
        known: Arc::new(known),
        staging: Arc::new(Staging::new(options.memory_bytes() / 2, options.temporary_folder())),
        block_bytes,
    };
    let mut load = Load::default();
    let mut assembly = Assembly::new(options, Arc::clone(&context.known), Arc::clone(&context.staging));
    for file in &plan.nodes {
        read_nodes(&mut assembly, file.open(options)?, &mut context)?;
    }
    let parquet = plan.parquet.iter().map(ParquetFile::open).collect::<Result<Vec<_>>>()?;
    for file in parquet.iter().filter(|file| file.role == Role::Nodes) {
        parquet_graph::read_nodes(&mut assembly, file, &mut context)?;
    }
    let mut elements = ElementGraph::default();
    for file in &plan.elements {
        elements.read(file, &mut assembly, &mut context)?;
    }
    for file in &plan.relationships {
        read_relationships(&mut assembly, file.open(options)?, &mut context)?;
    }
    for file in parquet.iter().filter(|file| file.role != Role::Nodes) {
        parquet_graph::read_relationships(&mut assembly, file, &mut context)?;
    }
    elements.finish(&mut assembly, &mut context)?;
    let mut notes = plan.notes.clone();
    notes.extend(elements.notes);
    notes.extend(assembly.settle_types());
    let mut settled = assembly.finish(&mut load)?;
    for (label, lists) in lists_by_label(&plan, options) {
        let mut graph = EdgeListGraph::new(label, &context)?;
        for list in lists {
            match list.kind {
                ListKind::Vertices => graph.read_vertices(list, &mut context)?,
                _ => graph.read_edges(list, &mut context)?,
            }
        }
        settled.join(pool.install(|| graph.finish(&context.known, &mut load))?);
    }
    Ok(Imported {
        load,
        bad_rows: context.faults.finish(),
        settled,
        spilled_bytes: context.staging.file_bytes(),
        notes,
        ignored_files: plan.ignored_files,
        guessed_files: plan.guessed_files,
    })
}

/// The lists whose vertices are of one label, in the order of the plan.
fn lists_by_label<'a>(plan: &'a Plan, options: &'a ImportOptions) -> Vec<(&'a str, Vec<&'a ListFile>)> {
    let mut graphs: Vec<(&str, Vec<&ListFile>)> = Vec::new();
    for list in &plan.lists {
        let label = list.rule.label.as_ref().unwrap_or(&options.vertex_label);
        match graphs.iter_mut().find(|(known, _)| *known == label) {
            Some((_, lists)) => lists.push(list),
            None => graphs.push((label, vec![list])),
        }
    }
    graphs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::faults::OnBadRow;
    use crate::import::id_type::IdType;
    use crate::import::mapping::document::Mapping;
    use crate::import::options::{HeaderPlace, InputFile};
    use crate::import::policy::{OnDuplicate, OnUnknown};
    use evergraph_graph::load::{EdgeTable, VertexTable};
    use evergraph_graph::value::collection::List;
    use evergraph_graph::value::{Value, ValueType};
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use std::fs;
    use std::io::Write;
    use std::path::{Path, PathBuf};

    /// Files of one import in a folder of their own.
    struct Files {
        folder: tempfile::TempDir,
        inputs: Vec<InputFile>,
    }

    impl Files {
        fn new(files: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mut inputs = Vec::new();
            for (name, text) in files {
                let path = folder.path().join(name);
                fs::write(&path, text).unwrap();
                inputs.push(InputFile::new(path));
            }
            Self { folder, inputs }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn options(&self) -> ImportOptions {
            ImportOptions { threads: 2, ..ImportOptions::new(self.inputs.clone()) }
        }

        fn load(&self) -> Load {
            self.read(&self.options()).unwrap().load
        }

        fn read(&self, options: &ImportOptions) -> Result<Imported> {
            read_in_blocks(options, Known::default(), &|_| (), 16)
        }

        /// The text of the error, without the folder's name.
        fn error(&self, options: &ImportOptions) -> (ErrorKind, String) {
            let error = self.read(options).unwrap_err();
            (error.kind(), error.to_string().replace(&format!("{}/", self.folder.path().display()), ""))
        }
    }

    fn invalid(files: &[(&str, &str)]) -> String {
        let files = Files::new(files);
        let (kind, text) = files.error(&files.options());
        assert_eq!(kind, ErrorKind::Invalid);
        text
    }

    /// The values of a property that the table has, a row.
    trait Values {
        fn values(&self, key: &str) -> Vec<Option<Value>>;
    }

    impl Values for VertexTable {
        fn values(&self, key: &str) -> Vec<Option<Value>> {
            assert!(self.properties.iter().any(|(name, _)| name == key), "{key}: {:?}", self.properties);
            let column = self.column(key).unwrap();
            (0..self.rows as usize).map(|row| column.as_ref()?.get(row)).collect()
        }
    }

    impl Values for EdgeTable {
        fn values(&self, key: &str) -> Vec<Option<Value>> {
            assert!(self.properties.iter().any(|(name, _)| name == key), "{key}: {:?}", self.properties);
            let column = self.column(key).unwrap();
            (0..self.rows as usize).map(|row| column.as_ref()?.get(row)).collect()
        }
    }

    fn ids(table: &VertexTable) -> Vec<i64> {
        table.values("id").into_iter().map(|id| id.unwrap().as_i64().unwrap()).collect()
    }

    fn edges(table: &EdgeTable) -> Vec<(u32, u32)> {
        table.ends().unwrap()
    }

    #[test]
    fn an_edge_list_has_the_vertices_that_its_edges_mention_in_the_order_of_ids() {
        let load = Files::new(&[("g.txt", "# a graph\n7 -3 0.5\n9007199254740993 7 1\n7 -3 2\n")]).load();
        assert_eq!(load.vertices.len(), 1);
        let vertices = &load.vertices[0];
        assert_eq!((vertices.label.as_str(), vertices.rows), ("Vertex", 3));
        assert_eq!(vertices.unique_key.as_deref(), Some("id"));
        assert_eq!(ids(vertices), [-3, 7, 9_007_199_254_740_993]);
        assert_eq!(load.edges[0].edge_type, "EDGE");
        assert_eq!(edges(&load.edges[0]), [(1, 0), (2, 1), (1, 0)], "parallel edges are kept");
        let weights = [0.5, 1.0, 2.0].map(|weight| Some(Value::F64(weight)));
        assert_eq!(load.edges[0].values("weight"), weights);
    }

    #[test]
    fn ids_at_both_ends_of_64_bits_survive() {
        let load = Files::new(&[("g.e", "9223372036854775807 -9223372036854775808\n")]).load();
        assert_eq!(ids(&load.vertices[0]), [i64::MIN, i64::MAX]);
        assert_eq!(edges(&load.edges[0]), [(1, 0)]);
        let load = Files::new(&[("g.e", "18446744073709551615 9223372036854775807\n")]).load();
        let big = |text| Some(Value::parse(text, ValueType::BigInteger).unwrap());
        assert_eq!(load.vertices[0].values("id"), [big("9223372036854775807"), big("18446744073709551615")]);
        assert_eq!(edges(&load.edges[0]), [(1, 0)]);
        assert_eq!(
            invalid(&[("g.e", "1 2\n-1 2\n1 9223372036854775808\n")]),
            "g.e:3: an id above 2^63-1, and g.e:2 has a negative one: ids of 64 bits are with sign or without"
        );
    }

    #[test]
    fn a_vertex_list_says_which_vertices_there_are_and_in_which_order() {
        let load = Files::new(&[("g.e", "5 3\n"), ("g.v", "5 10\n\n4 20\n3 30\n")]).load();
        assert_eq!(ids(&load.vertices[0]), [5, 4, 3]);
        assert_eq!(load.vertices[0].values("value")[2], Some(Value::I64(30)));
        assert_eq!(edges(&load.edges[0]), [(0, 2)]);
        assert_eq!(
            invalid(&[("g.e", "5 3\n3 6\n"), ("g.v", "5\n3\n")]),
            "g.e:2: column 2 (target): there is no vertex 6 in the vertex lists or the range of vertices"
        );
        assert_eq!(
            invalid(&[("a.v", "# ids\n5\n3\n"), ("b.v", "4\n3\n")]),
            "b.v:2: column 1 (id): vertex 3 is there already, from a.v:3"
        );
    }

    #[test]
    fn a_range_declares_isolated_vertices() {
        let files = Files::new(&[("g.e", "4 0\n")]);
        let load = files.read(&ImportOptions { vertices: Some(0..6), ..files.options() }).unwrap().load;
        assert_eq!(ids(&load.vertices[0]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(edges(&load.edges[0]), [(4, 0)]);
        assert_eq!(
            files.error(&ImportOptions { vertices: Some(1..6), ..files.options() }).1,
            "g.e:1: column 2 (target): there is no vertex 0 in the vertex lists or the range of vertices"
        );
        assert_eq!(
            files.error(&ImportOptions { vertices: Some(6..6), ..files.options() }).1,
            "vertices 6..6: the first id must be below the second one, which is excluded"
        );
    }

    #[test]
    fn several_edge_lists_share_their_vertices_and_keep_their_types() {
        let mut files = Files::new(&[("a.txt", "1 2\n"), ("b.txt", "2 3 0.5\n"), ("c.txt", "3 1\n")]);
        files.inputs[2].edge_type = Some("LIKES".to_owned());
        let load = files.load();
        assert_eq!(load.vertices[0].rows, 3);
        assert_eq!(edges(&load.edges[0]), [(0, 1), (1, 2)]);
        assert_eq!(load.edges[0].values("weight"), [None, Some(Value::F64(0.5))]);
        assert_eq!((load.edges[1].edge_type.as_str(), edges(&load.edges[1])), ("LIKES", vec![(2, 0)]));
    }

    #[test]
    fn columns_of_an_edge_list_take_the_names_and_types_that_are_given() {
        let files = Files::new(&[("g.csv", "6,2,4,1289241911.5\n6,5,2,1289241941\n")]);
        let options = ImportOptions { edge_columns: Some("rating,time".to_owned()), ..files.options() };
        let load = files.read(&options).unwrap().load;
        assert_eq!(load.edges[0].values("rating")[1], Some(Value::I64(2)));
        assert_eq!(load.edges[0].values("time")[1], Some(Value::F64(1_289_241_941.0)));
        assert_eq!(
            invalid(&[("g.txt", "1 2 3 4 5\n")]),
            "g.txt: 3 columns behind source and target have no names: give them, as in --columns \
             weight,time,kind:string (`columns` in a mapping); a mapping file can say how it is read, `evergraph \
             import --propose` writes one to begin with"
        );
    }

    const PERSONS: &str = "id:ID(Person),name,born:int\n17,Ada,1815\n4,\"Charles \"\"C\"\", Esq.\",\n";
    const KNOWS: &str = ":START_ID(Person),:END_ID(Person),since:int\n17,4,1833\n";

    #[test]
    fn csv_files_belong_together_through_their_id_spaces() {
        let load = Files::new(&[("KNOWS.csv", KNOWS), ("Person.csv", PERSONS)]).load();
        let person = load.vertex_table("Person").unwrap();
        assert_eq!((person.rows, person.unique_key.as_deref()), (2, Some("id")));
        assert_eq!(person.values("id"), [Some(Value::from("17")), Some(Value::from("4"))]);
        assert_eq!(person.values("name")[1], Some(Value::from("Charles \"C\", Esq.")));
        assert_eq!(person.values("born"), [Some(Value::I32(1815)), None]);
        assert_eq!(load.edges[0].edge_type, "KNOWS");
        assert_eq!(edges(&load.edges[0]), [(0, 1)]);
        assert_eq!(load.edges[0].values("since"), [Some(Value::I32(1833))]);
    }

    #[test]
    fn ids_are_integers_where_a_header_or_the_options_say_so() {
        let header = "id:ID(Person){id-type:long},name,born:int".to_owned();
        let mut files = Files::new(&[("Person.csv", PERSONS), ("KNOWS.csv", KNOWS)]);
        files.inputs[0].header = HeaderPlace::Replaced(header);
        assert_eq!(ids(&files.load().vertices[0]), [17, 4]);
        files.inputs[0].header = HeaderPlace::FirstLine;
        let load = files.read(&ImportOptions { id_type: IdType::LONG, ..files.options() }).unwrap().load;
        assert_eq!((ids(&load.vertices[0]), edges(&load.edges[0])), (vec![17, 4], vec![(0, 1)]));
    }

    #[test]
    fn label_and_type_columns_name_rows_one_by_one() {
        let load = Files::new(&[
            ("nodes.csv", "key:ID,:LABEL,x:int\na,Cat,1\nb,Dog,2\nc,Cat,3\nd,,4\n"),
            ("edges.csv", ":END_ID,:TYPE,:START_ID\nb,SEES,a\na,SEES,b\nc,BITES,b\nc,SEES,b\nd,,a\n"),
        ])
        .load();
        let labels: Vec<(&str, u64)> =
            load.vertices.iter().map(|table| (table.label.as_str(), table.rows)).collect();
        assert_eq!(labels, [("Cat", 2), ("Dog", 1), ("nodes", 1)]);
        assert_eq!(load.vertices[0].values("x"), [Some(Value::I32(1)), Some(Value::I32(3))]);
        let joins = |table: &EdgeTable| (table.edge_type.clone(), table.source_label, table.target_label);
        let tables: Vec<_> = load.edges.iter().map(joins).collect();
        let expected = [("SEES", 0, 1), ("SEES", 1, 0), ("BITES", 1, 0), ("edges", 0, 2)];
        assert_eq!(
            tables,
            expected.map(|(edge_type, source, target)| (edge_type.to_owned(), source, target))
        );
        let ends: Vec<_> = load.edges.iter().map(edges).collect();
        assert_eq!(ends, [vec![(0, 0)], vec![(0, 0), (0, 1)], vec![(0, 1)], vec![(0, 0)]]);
    }

    #[test]
    fn several_files_feed_one_label() {
        let mut files = Files::new(&[("a.csv", "id:ID,x:int\n1,5\n"), ("b.csv", "id:ID,y\n2,z\n")]);
        for input in &mut files.inputs {
            input.label = Some("T".to_owned());
        }
        let load = files.load();
        assert_eq!((load.vertices.len(), load.vertices[0].rows), (1, 2));
        assert_eq!(load.vertices[0].values("x"), [Some(Value::I32(5)), None]);
        assert_eq!(load.vertices[0].values("y"), [None, Some(Value::from("z"))]);
    }

    #[test]
    fn a_header_may_come_from_elsewhere_and_quotes_may_be_characters() {
        let mut files = Files::new(&[("Tag.csv", "1|\"a\n2|b\"\n")]);
        files.inputs[0].header = HeaderPlace::Given(":ID|name".to_owned());
        let options = ImportOptions { delimiter: Some(b'|'), quote: None, ..files.options() };
        let load = files.read(&options).unwrap().load;
        assert_eq!(load.vertices[0].values("name"), [Some(Value::from("\"a")), Some(Value::from("b\""))]);
        assert_eq!(load.vertices[0].unique_key, None, "an id without a name is not kept");
        assert_eq!(load.vertices[0].properties.len(), 1);
    }

    #[test]
    fn bad_rows_are_named_by_file_line_and_column() {
        let nodes = ("Person.csv", PERSONS);
        let cases: [(&[(&str, &str)], &str); 9] = [
            (
                &[("person.csv", "id:ID,name,born:int\n1,A,1815\n\n2,B,18x5\n")],
                "person.csv:4: column 3 (born:int): \"18x5\" is no int: expected digits with an optional sign",
            ),
            (
                &[("a.csv", "id:ID\n1\n2\n1\n")],
                "a.csv:4: column 1 (id:ID): vertex \"1\" of the id space without a name is there already, from a.csv:2",
            ),
            (
                &[nodes, ("KNOWS.csv", ":START_ID(Person),:END_ID(Person)\n17,4\n17,9\n")],
                "KNOWS.csv:3: column 2 (:END_ID(Person)): there is no vertex \"9\" in id space Person",
            ),
            (&[("a.csv", "id:ID,n\n1,x\n2\n")], "a.csv:3: 2 fields expected, as in the header, 1 found"),
            (&[("a.csv", "id:ID,n\n1,x\n,y\n")], "a.csv:3: column 1 (id:ID): the id is missing"),
            (
                &[("a.csv", "id:ID{id-type:long},n\n1x,x\n")],
                "a.csv:2: column 1 (id:ID{id-type:long}): \"1x\" is no long, as ids are here",
            ),
            (
                &[("a.csv", "id:ID,:LABEL\n1,A;B\n")],
                "a.csv:2: column 2 (:LABEL): \"A;B\" are several labels; a vertex has one",
            ),
            (
                &[("a.csv", "id:ID,n\n1,\"x\n2,y\n")],
                "a.csv:2: a quote that opens in this record is never closed; if quotes are ordinary \
                 characters in the file, say --quote none",
            ),
            (&[("g.e", "1 2\n1 x\n")], "g.e:2: column 2 (target): \"x\" is no whole number"),
        ];
        for (files, expected) in cases {
            assert_eq!(invalid(files), expected);
        }
    }

    #[test]
    fn headers_that_do_not_fit_together_are_named() {
        assert_eq!(
            invalid(&[("Person.csv", PERSONS), ("KNOWS.csv", ":START_ID(Preson),:END_ID(Person)\n17,4\n")]),
            "KNOWS.csv: header column 1 (\":START_ID(Preson)\"): no file of vertices has the id space \
             \"Preson\"; the files have \"Person\"; --on-unknown create makes its vertices"
        );
        assert_eq!(
            invalid(&[("a.csv", "id:ID(A)\n1\n"), ("b.csv", "id:ID(A){id-type:long}\n2\n")]),
            "b.csv: ids of id space A are whole numbers here and strings in a.csv; give both headers one id-type"
        );
        assert_eq!(
            invalid(&[("a.csv", "id:ID,:LABEL\n1,T\n"), ("b.csv", "pid:ID,:LABEL\n2,T\n")]),
            "b.csv: the id of label T is pid:ID() here and id:ID() in a.csv; give both one key and space"
        );
        assert_eq!(
            invalid(&[("a.csv", "id:ID,:LABEL,x:int\n1,T,1\n"), ("b.csv", "id:ID,:LABEL,x\n2,T,1\n")]),
            "b.csv: property x of label T is string here and int in a.csv; give both one type"
        );
        assert_eq!(
            invalid(&[("a.csv", "")]),
            "a.csv: is empty: a header is wanted, such as id:ID,name,born:int"
        );
        let mut files = Files::new(&[("a.csv", "id:ID\n")]);
        files.inputs[0].role = Some(Role::Relationships);
        assert_eq!(files.error(&files.options()).1, "a.csv: the header is that of vertices, not of edges");
    }

    #[test]
    fn what_cannot_be_a_graph_at_all_is_told_by_what_it_is() {
        for (file, text, expected) in [
            (
                "a.csv",
                "  \n1\n",
                "a.csv: its first line has no names: a header is wanted, such as id:ID,name,born:int",
            ),
            (
                "g.e",
                "1 2\r3 4\r",
                "g.e: its lines end in CR alone, which isn't read; convert it: tr '\\r' '\\n' < g.e",
            ),
            (
                "a.json",
                "[]",
                "a.json: it doesn't begin with a vertex of GraphSON, nor with {\"vertices\": [; if it is GraphSON all \
                 the same, say --graphson a.json",
            ),
            (
                "a.xml",
                "<html/>",
                "a.xml: there is no <graphml> in its beginning; if it is GraphML all the same, say --graphml a.xml",
            ),
            (
                "g.gr",
                "c x\np sp 2 1\na 1 3 7\n",
                "g.gr:3: column 2 (target): there is no vertex 3 among the 2 that line 2 announces",
            ),
            (
                "knows.csv",
                "from,to\na,b\n",
                "knows.csv: its columns don't tell between which vertices its edges are; there is no file of vertices \
                 beside it; a mapping file can say how it is read, `evergraph import --propose` writes one to begin with",
            ),
        ] {
            assert_eq!(invalid(&[(file, text)]), expected);
        }
    }

    #[test]
    fn more_vertices_than_there_is_memory_for_are_refused_by_the_line_that_announces_them() {
        let files = Files::new(&[("g.gr", "p sp 4294967295 0\n")]);
        let (kind, text) = files.error(&files.options());
        assert_eq!(kind, ErrorKind::Limit);
        assert_eq!(text, "g.gr:1: more than 4,294,967,295 vertices of one label");
        let files = Files::new(&[("g.gr", "p sp 4294967294 0\n")]);
        // What 128 GiB are enough for is not for a test.
        if crate::import::memory::available_bytes() < 100 << 30 {
            let (kind, text) = files.error(&files.options());
            assert_eq!(kind, ErrorKind::Limit);
            assert!(
                text.starts_with("g.gr:1: 4294967294 vertices are announced, whose ids take 131071 MiB; "),
                "{text}"
            );
        }
    }

    #[test]
    fn missing_files_and_files_of_unknown_content_are_named() {
        let mut files = Files::new(&[("a.dat", "1 2\n")]);
        assert_eq!(
            files.error(&files.options()).1,
            "a.dat: its name doesn't tell what it holds (known are .csv .tsv .v .e .edges .el .txt .gr .mtx .json .graphson .xml .graphml, each \
             also with .gz or .zst, and .parquet); say it by --nodes LABEL=FILE, --edges TYPE=FILE, --vertex-list \
             FILE, --graphson FILE or --graphml FILE"
        );
        assert_eq!(invalid(&[("a.xml", "")]), "a.xml: is empty");
        files.inputs[0].role = Some(Role::EdgeList);
        assert_eq!(files.load().edges_count(), 1);
        files.inputs[0].path = files.path("b.e");
        assert_eq!(
            files.error(&files.options()),
            (ErrorKind::NotFound, "b.e: there is no such file or folder; check the path".to_owned())
        );
        files.inputs[0] = InputFile::new(files.folder.path());
        let error = read(&files.options(), &|_| ()).unwrap_err().to_string();
        assert!(
            error.ends_with("known are .csv .tsv .v .e .edges .el .txt .gr .mtx .json .graphson .xml .graphml, each also with .gz or .zst, and .parquet"),
            "{error}"
        );
    }

    #[test]
    fn truncated_gzip_is_named_after_the_rows_before_it_were_sound() {
        let files = Files::new(&[]);
        let packed = gzip(&"1 2\n".repeat(100_000));
        fs::write(files.path("g.e.gz"), &packed[..packed.len() / 2]).unwrap();
        let options = ImportOptions::new([InputFile::new(files.path("g.e.gz"))]);
        let (kind, text) = files.error(&options);
        assert_eq!(kind, ErrorKind::Invalid);
        assert!(text.starts_with("g.e.gz: the gzip data ends too early, after "), "{text}");
    }

    #[test]
    fn a_damaged_archive_is_named_whatever_format_is_in_it() {
        for (name, text) in [
            ("g.graphml.gz", "<graphml><graph/></graphml>"),
            ("g.graphson.gz", "{\"id\":1,\"label\":\"P\"}\n"),
            ("a.csv.gz", "id:ID\n1\n"),
            ("g.mtx.gz", "%%MatrixMarket matrix coordinate pattern general\n2 2 0\n"),
        ] {
            let files = Files::new(&[]);
            let mut packed = gzip(text);
            let checksum = packed.len() - 5;
            packed[checksum] ^= 1;
            fs::write(files.path(name), packed).unwrap();
            let (kind, found) = files.error(&ImportOptions::new([InputFile::new(files.path(name))]));
            assert_eq!(kind, ErrorKind::Invalid, "{found}");
            assert!(found.starts_with(&format!("{name}: the gzip data is damaged, after ")), "{found}");
        }
    }

    #[test]
    fn skipped_rows_are_counted_and_the_first_ones_reported() {
        let files = Files::new(&[
            ("Person.csv", "id:ID,born:int\n1,x\n2,5\n2,6\n3,7,8\n4,9\n"),
            ("KNOWS.csv", ":START_ID,:END_ID\n2,4\n1,2\n4,2\n"),
            ("g.e", "1 2 0.5\nx 2 1\n3 1 2\n"),
        ]);
        let options = ImportOptions { on_bad_row: OnBadRow::Skip { at_most: None }, ..files.options() };
        let imported = files.read(&options).unwrap();
        assert_eq!(imported.bad_rows.count, 5);
        let folder = format!("{}/", files.folder.path().display());
        let first: Vec<String> =
            imported.bad_rows.first.iter().map(|row| row.to_string().replace(&folder, "")).collect();
        assert_eq!(
            first,
            [
                "Person.csv:2: column 2 (born:int): \"x\" is no int: expected digits with an optional sign",
                "Person.csv:4: column 1 (id:ID): vertex \"2\" of the id space without a name is there already, from Person.csv:3",
                "Person.csv:5: 2 fields expected, as in the header, 3 found",
                "KNOWS.csv:3: column 1 (:START_ID): there is no vertex \"1\" in the id space without a name",
                "g.e:2: column 1 (source): \"x\" is no whole number",
            ]
        );
        let load = imported.load;
        assert_eq!(load.vertices[0].values("born"), [Some(Value::I32(5)), Some(Value::I32(9))]);
        assert_eq!(edges(&load.edges[0]), [(0, 1), (1, 0)]);
        assert_eq!(load.edges[1].values("weight"), [Some(Value::F64(0.5)), Some(Value::F64(2.0))]);
    }

    #[test]
    fn the_report_is_the_same_with_any_number_of_threads_and_size_of_blocks() {
        let numbers = |bad: i64| {
            let row = |number: i64| {
                if number % bad == 0 { format!("{number},x\n") } else { format!("{number},1\n") }
            };
            (1..200).map(row).collect::<String>()
        };
        let knows: String = (1..200).map(|number| format!("{},{}\n", number, number * 3)).collect();
        let files = Files::new(&[
            ("Person.csv", &format!("id:ID,born:int\n{}7,1\n", numbers(9))),
            ("KNOWS.csv", &format!(":START_ID,:END_ID\n{knows}1\n")),
        ]);
        let report = files.path("report");
        let read = |threads, block_bytes, at_most| {
            let options = ImportOptions {
                threads,
                on_bad_row: OnBadRow::Skip { at_most },
                bad_rows_report: Some(report.clone()),
                ..files.options()
            };
            let result = read_in_blocks(&options, Known::default(), &|_| (), block_bytes)
                .map(|imported| imported.bad_rows);
            (result.map_err(|error| error.to_string()), fs::read_to_string(&report).unwrap())
        };
        let (bad_rows, whole) = read(1, 1 << 20, None);
        let count = bad_rows.as_ref().unwrap().count;
        assert_eq!(whole.lines().count() as u64, count + 1, "a line each, and the header");
        let lines: Vec<&str> = whole.lines().collect();
        assert!(lines[1].ends_with("Person.csv,10,2,born:int,\"\"\"x\"\" is no int: expected digits with an optional sign\",\"9,x\""), "{}", lines[1]);
        assert!(
            lines[23].ends_with(
                "is there already, from {}/Person.csv:8\",\"7,1\""
                    .replace("{}", &files.folder.path().display().to_string())
                    .as_str()
            ),
            "{}",
            lines[23]
        );
        assert!(
            lines
                .last()
                .unwrap()
                .ends_with("KNOWS.csv,201,,,\"2 fields expected, as in the header, 1 found\",1")
        );
        let (stopped, cut_off) = read(1, 1 << 20, Some(30));
        assert_eq!(cut_off.lines().count(), 32, "the one too many is told as well");
        assert!(stopped.as_ref().unwrap_err().contains("(bad row 31; at most 30 bad rows may be left out)"));
        for (threads, block_bytes) in [(1, 7), (2, 100), (4, 33), (3, 1)] {
            assert_eq!(read(threads, block_bytes, None), (bad_rows.clone(), whole.clone()));
            assert_eq!(read(threads, block_bytes, Some(30)), (stopped.clone(), cut_off.clone()));
        }
    }

    #[test]
    fn the_report_of_an_import_that_stops_has_the_row_and_is_no_input_of_the_next_one() {
        let files = Files::new(&[("Person.csv", "id:ID,born:int\n1,x\n2,y\n")]);
        let report = files.path("bad.csv");
        let folder = InputFile::new(files.folder.path());
        let options = ImportOptions { bad_rows_report: Some(report.clone()), ..ImportOptions::new([folder]) };
        for _ in 0..2 {
            assert!(
                files.error(&options).1.starts_with("Person.csv:2: column 2 (born:int): \"x\" is no int")
            );
            assert_eq!(fs::read_to_string(&report).unwrap().lines().count(), 2);
        }
        let options = ImportOptions { bad_rows_report: Some(files.path("Person.csv")), ..files.options() };
        assert_eq!(
            files.error(&options).1,
            "Person.csv: is to be read, and overwritten by the report of bad rows: name another report"
        );
        assert_eq!(fs::read_to_string(files.path("Person.csv")).unwrap().lines().count(), 3);
    }

    #[test]
    fn a_vertex_that_comes_twice_is_the_first_or_the_last_one_if_told() {
        let files = Files::new(&[
            ("A.csv", "id:ID(S),n\n1,a\n2,b\n3,c\n2,d\n"),
            ("B.csv", "id:ID(S),n\n4,e\n1,f\n"),
            ("E.csv", ":START_ID(S),:END_ID(S)\n1,2\n3,4\n2,1\n"),
        ]);
        let read = |on_duplicate| files.read(&ImportOptions { on_duplicate, ..files.options() });
        let ends = |load: &Load| -> Vec<String> {
            let names: Vec<Vec<Option<Value>>> =
                load.vertices.iter().map(|table| table.values("n")).collect();
            let name = |table: usize, row: u32| names[table][row as usize].as_ref().unwrap().to_string();
            let tables = load.edges.iter();
            let mut ends: Vec<String> = tables
                .flat_map(|table| {
                    edges(table).into_iter().map(move |(source, target)| (table, source, target))
                })
                .map(|(table, source, target)| {
                    name(table.source_label, source) + &name(table.target_label, target)
                })
                .collect();
            ends.sort();
            ends
        };
        let error = read(OnDuplicate::Fail).unwrap_err().to_string();
        assert!(error.contains("A.csv:5: column 1 (id:ID(S)): vertex \"2\" of id space S"), "{error}");
        let first = read(OnDuplicate::First).unwrap();
        assert_eq!((first.settled.duplicates, first.load.vertices_count()), (2, 4));
        assert_eq!(ends(&first.load), ["ab", "ba", "ce"]);
        let last = read(OnDuplicate::Last).unwrap();
        assert_eq!((last.settled.duplicates, last.load.vertices_count()), (2, 4));
        assert_eq!(ends(&last.load), ["ce", "df", "fd"]);
        let rows: Vec<u64> = last.load.vertices.iter().map(|table| table.rows).collect();
        assert_eq!(rows, [2, 2], "the last one tells the label as well");
    }

    #[test]
    fn edges_to_vertices_that_are_not_there_are_skipped_or_make_them_if_told() {
        let files = Files::new(&[
            ("Person.csv", "id:ID(Person),n\n1,a\n"),
            ("LIKES.csv", ":START_ID(Person),:END_ID(Post){id-type:long}\n1,7\n2,8\n3,7\n"),
            ("KNOWS.csv", ":START_ID(Person),:END_ID(Person)\n1,4\n4,1\n"),
        ]);
        let read = |on_unknown| files.read(&ImportOptions { on_unknown, ..files.options() });
        assert!(
            read(OnUnknown::Skip)
                .unwrap_err()
                .to_string()
                .contains("no file of vertices has the id space \"Post\"")
        );
        let imported = read(OnUnknown::Create).unwrap();
        assert_eq!(imported.settled.created, [("Person".to_owned(), 3), ("Post".to_owned(), 2)]);
        let load = imported.load;
        let person = load.vertex_table("Person").unwrap();
        assert_eq!(person.values("id"), ["1", "2", "3", "4"].map(|id| Some(Value::from(id))));
        assert_eq!(person.values("n"), [Some(Value::from("a")), None, None, None]);
        let post = load.vertex_table("Post").unwrap();
        assert_eq!(
            (post.unique_key.as_deref(), post.values("id")),
            (Some("id"), vec![Some(Value::I64(7)), Some(Value::I64(8))])
        );
        let likes = load.edges.iter().find(|table| table.edge_type == "LIKES").unwrap();
        assert_eq!(edges(likes), [(0, 0), (1, 1), (2, 0)]);

        let files = Files::new(&[
            ("Person.csv", "id:ID,n\n1,a\n2,b\n"),
            ("KNOWS.csv", ":START_ID,:END_ID\n1,2\n1,9\n"),
        ]);
        let options = ImportOptions { on_unknown: OnUnknown::Skip, ..files.options() };
        let imported = files.read(&options).unwrap();
        assert_eq!((imported.settled.unknown, imported.load.edges_count()), (1, 1));
    }

    #[test]
    fn lists_settle_what_is_told_as_csv_files_do() {
        let files = Files::new(&[("g.v", "5 1\n7 2\n5 3\n"), ("g.e", "5 7\n7 6\n")]);
        let options = ImportOptions {
            on_duplicate: OnDuplicate::First,
            on_unknown: OnUnknown::Create,
            ..files.options()
        };
        let imported = files.read(&options).unwrap();
        assert_eq!(
            (imported.settled.duplicates, imported.settled.created.as_slice()),
            (1, [("Vertex".to_owned(), 1)].as_slice())
        );
        assert_eq!(ids(&imported.load.vertices[0]), [5, 7, 6]);
        assert_eq!(imported.load.vertices[0].values("value")[2], None);
        assert_eq!(edges(&imported.load.edges[0]), [(0, 1), (1, 2)]);
        let skip = ImportOptions { on_unknown: OnUnknown::Skip, ..options.clone() };
        let imported = files.read(&skip).unwrap();
        assert_eq!((imported.settled.unknown, imported.load.edges_count()), (1, 1));
        let last = ImportOptions { on_duplicate: OnDuplicate::Last, ..options };
        assert!(
            files.error(&last).1.starts_with("g.v:3: vertex 5 is there already: that the last one counts")
        );
    }

    fn mapped(files: &Files, mapping: &str) -> Result<Imported> {
        let mapping = Mapping::parse("m.toml", mapping, files.folder.path())?;
        let folder = InputFile::new(files.folder.path());
        files.read(&ImportOptions { mapping: Some(mapping), threads: 2, ..ImportOptions::new([folder]) })
    }

    #[test]
    fn a_mapping_says_how_files_without_headers_are_read() {
        let files = Files::new(&[
            ("people.csv", "7|Ada|1815|NULL\n8|Mary|NULL|[[1,2],[3]]\n"),
            ("knows.txt", "7;8;3 years\n8;7;1 day\n7;7;\n"),
            ("more.e", "1 2\n2 1\n"),
            ("notes.csv", "a,b\n"),
        ]);
        let imported = mapped(
            &files,
            r#"
            [[file]]
            path = "people.csv"
            label = "Person"
            header = false
            columns = ["pid:long", "name", "born:int", "scores:int[][]"]
            id = "pid"
            delimiter = "|"
            null = "NULL"
            [[file]]
            path = "knows.*"
            type = "KNOWS"
            header = false
            columns = ["a", "b", "since:duration"]
            start = { column = "a", space = "Person" }
            end = { column = 2, space = "Person", type = "long" }
            undirected = true
            [[file]]
            path = "*.e"
            format = "edge-list"
            label = "Page"
            type = "LINK"
            undirected = true
            "#,
        )
        .unwrap();
        let load = imported.load;
        let person = load.vertex_table("Person").unwrap();
        assert_eq!(person.values("pid"), [7, 8].map(|id| Some(Value::I64(id))));
        assert_eq!(person.values("born"), [Some(Value::I32(1815)), None]);
        assert_eq!(person.values("scores")[1].as_ref().unwrap().to_string(), "[[1, 2], [3]]");
        let knows = load.edges.iter().find(|table| table.edge_type == "KNOWS").unwrap();
        assert_eq!(edges(knows), [(0, 1), (0, 0)]);
        assert_eq!(load.vertex_table("Page").unwrap().rows, 2);
        assert_eq!(imported.settled.repeated_pairs, 2);
        assert_eq!(imported.ignored_files, [files.path("notes.csv")]);
    }

    #[test]
    fn a_mapping_that_does_not_fit_is_blamed_by_its_line() {
        let files = Files::new(&[("people.csv", "id,name\n1,Ada\n")]);
        let prefix = format!("{}/", files.folder.path().display());
        for (rule, expected) in [
            (
                "path = 'people.csv'\nid = 'pid'",
                "m.toml:1: people.csv: id: there is no column \"pid\"; there are id, name",
            ),
            ("path = 'peple.csv'", "m.toml:1: path: no file that is imported is \"peple.csv\""),
            (
                "path = '*.csv'\ncolumns = ['a:ID']",
                "m.toml:1: people.csv: its first line has 2 columns, the header that replaces it has 1",
            ),
            ("path = '*.csv'\nheader = false", "m.toml:1: people.csv: has no header: `columns` is wanted"),
        ] {
            let error =
                mapped(&files, &format!("[[file]]\n{rule}\n")).unwrap_err().to_string().replace(&prefix, "");
            assert!(error.starts_with(expected), "got {error}");
        }
    }

    #[test]
    fn a_delimiter_that_the_header_does_not_have_is_refused_wherever_it_is_told() {
        for text in ["id,name,born\n1,Ada,1815\n", "id:ID,name,born:int\n1,Ada,1815\n"] {
            let files = Files::new(&[("people.csv", text)]);
            let options = ImportOptions { delimiter: Some(b';'), ..files.options() };
            let (kind, error) = files.error(&options);
            assert_eq!(kind, ErrorKind::Invalid);
            assert!(error.starts_with("people.csv: with delimiter ';' there is one column, \"id"), "{error}");
            let error =
                mapped(&files, "[[file]]\npath = 'people.csv'\ndelimiter = '|'\n").unwrap_err().to_string();
            assert!(error.contains(":1: ") && error.contains("with ',' there are 3: say"), "{error}");
        }
        let files = Files::new(&[("people.tsv", "id,name\n1,Ada\n")]);
        assert!(
            files.error(&files.options()).1.starts_with("people.tsv: with delimiter tab there is one column")
        );
        let told = ImportOptions { delimiter: Some(b','), ..files.options() };
        assert_eq!(files.read(&told).unwrap().load.vertices[0].values("name"), [Some(Value::from("Ada"))]);
    }

    #[test]
    fn a_file_that_is_named_twice_and_a_folder_without_any_are_refused() {
        let mut files = Files::new(&[("people.csv", "id,name\n1,Ada\n"), ("notes.md", "x")]);
        files.inputs.pop();
        files.inputs.push(InputFile::new(files.folder.path().join(".").join("people.csv")));
        assert_eq!(files.error(&files.options()).1.replace("./", ""), "people.csv: is named twice");
        files.inputs[1] = InputFile::new(files.folder.path());
        let both = files.error(&files.options()).1;
        assert!(
            both.starts_with("people.csv: is in ") && both.ends_with(", which is named as well"),
            "{both}"
        );
        files.inputs.remove(0);
        fs::remove_file(files.path("people.csv")).unwrap();
        assert!(
            files.error(&files.options()).1.contains(": no file in it has a name that tells what it holds: ")
        );
        fs::remove_file(files.path("notes.md")).unwrap();
        assert!(files.error(&files.options()).1.contains(": there is no file in it: known are .csv"));
    }

    #[test]
    fn a_folder_has_no_databases_and_no_mappings_among_its_files() {
        let files = Files::new(&[("people.csv", "id,name\n1,Ada\n"), ("notes.md", "x")]);
        let database = files.path("old.eg");
        crate::database::Database::open(&database).unwrap().close().unwrap();
        let mapping = files.path("mapping.toml");
        fs::write(&mapping, "[[file]]\npath = 'people.csv'\nlabel = 'Person'\nid = 'id'\n").unwrap();
        fs::write(files.path("import.toml"), "[[file]]\npath = '*.csv'\n").unwrap();
        let folder = [InputFile::new(files.folder.path())];
        let options = ImportOptions::new(folder.clone());
        let options = ImportOptions { mapping: Some(Mapping::read(&mapping).unwrap()), ..options };
        assert_eq!(files.read(&options).unwrap().ignored_files, [files.path("notes.md")]);
        let error = files.error(&ImportOptions::new([InputFile::new(&database)])).1;
        assert_eq!(
            error,
            "old.eg: is a database, and no folder of files: `evergraph export` makes files of it"
        );
    }

    #[test]
    fn what_a_proposal_leaves_open_is_said_once_and_for_lists_too() {
        let files = Files::new(&[
            ("a.csv", "id,x\n1,2\n"),
            ("b.csv", "id,x\n1,2\n"),
            ("knows.csv", "from;to;since\n1;2;1833\n"),
            ("pairs.csv", "1,2,3,4,x\n"),
            ("times.txt", "1 2 1082040961\n2 3 1082040962\n"),
        ]);
        let text = crate::import::plan::propose(&files.options(), &Known::default()).unwrap();
        let problem = "its columns don't tell between which vertices its edges are; known are those of a, b; say which \
                       ones, as in --replace-header ':START_ID(LABEL);:END_ID(LABEL);since:long'";
        assert_eq!(text.matches("its columns don't tell").count(), 1, "{text}");
        assert!(text.contains(&format!("# TO BE COMPLETED: {problem}\n")), "{text}");
        assert!(
            text.contains("# TO BE COMPLETED: 3 columns behind source and target have no names"),
            "{text}"
        );
        assert!(text.contains("# its third column is read as the weight, but looks like times"), "{text}");
        let imported = Files::new(&[("times.txt", "1 2 1082040961\n2 3 1082040962\n")]);
        let imported = imported.read(&imported.options()).unwrap();
        assert!(imported.notes[0].contains("times.txt: its third column"), "{:?}", imported.notes);
        assert_eq!(imported.load.edges[0].values("weight")[1], Some(Value::F64(1_082_040_962.0)));
    }

    /// What recognition finds is what it proposes: both ways give one graph.
    #[test]
    fn importing_a_folder_is_importing_it_by_the_mapping_that_is_proposed() {
        let files = Files::new(&[
            ("person_0_0.csv", "id|firstName|birthday\n1|Ada|0\n2|Mary|86400000\n"),
            ("person_knows_person_0_0.csv", "Person.id|Person.id|creationDate\n1|2|5\n"),
            ("City.csv", "id:ID(City)|name\n1|London\n"),
            ("Person_livesIn_City.csv", ":START_ID(Person){id-type:long}|:END_ID(City)\n1|1\n"),
            ("companies.csv", "company_id,name,founded\n5,Acme,1999-01-01\n"),
            ("works.csv", "from,to\n"),
            ("g.e", "1 2 0.5\n"),
            ("pairs.csv", "1,2\n"),
            ("headerless.tsv", "7\tx\t1.5\n8\ty\t2\n"),
            ("roads.gr", "p sp 3 1\na 1 2 9\n"),
            ("readme.md", "x"),
        ]);
        fs::remove_file(files.path("works.csv")).unwrap();
        let options = ImportOptions::new([InputFile::new(files.folder.path())]);
        let recognised = files.read(&options).unwrap();
        let text = crate::import::plan::propose(&options, &Known::default()).unwrap();
        assert!(text.ends_with("# Left out, for nothing tells what they hold:\n#   readme.md\n"), "{text}");
        let by_mapping = mapped(&files, &text).unwrap();
        let shown = |imported: &Imported| {
            let vertices = imported.load.vertices.iter().map(|table| {
                let keys: Vec<&str> = table.properties.iter().map(|(key, _)| key.as_str()).collect();
                let values: Vec<_> = keys.iter().map(|key| table.values(key)).collect();
                format!("{} {:?} {:?} {values:?}", table.label, table.unique_key, table.properties)
            });
            let edges = imported.load.edges.iter().map(|table| {
                let ends = (table.source_label, table.target_label, edges(table));
                format!("{} {ends:?} {:?}", table.edge_type, table.properties)
            });
            vertices.chain(edges).collect::<Vec<String>>()
        };
        assert_eq!(shown(&recognised), shown(&by_mapping));
        let types: Vec<&str> = recognised.load.edges.iter().map(|table| table.edge_type.as_str()).collect();
        assert_eq!(types, ["LIVES_IN", "KNOWS", "EDGE"]);
        let labels: Vec<&str> = recognised.load.vertices.iter().map(|table| table.label.as_str()).collect();
        assert_eq!(labels, ["City", "companies", "headerless", "Person", "Vertex"]);
        assert_eq!(recognised.load.edges[2].rows, 3);
        assert_eq!(recognised.guessed_files, [files.path("companies.csv"), files.path("headerless.tsv")]);
    }

    #[test]
    fn csv_with_names_only_is_vertices_and_edges_by_what_it_looks_like() {
        let load = Files::new(&[
            ("person.csv", "id;name;born\n1;Ada;1815\n2;Mary;1780\n"),
            ("knows.csv", "from;to;since\n1;2;1833-06-05\n"),
        ])
        .load();
        let person = load.vertex_table("person").unwrap();
        assert_eq!((ids(person), person.values("born")[0].clone()), (vec![1, 2], Some(Value::I64(1815))));
        assert_eq!((load.edges[0].edge_type.as_str(), edges(&load.edges[0])), ("knows", vec![(0, 1)]));
        assert_eq!(load.edges[0].values("since")[0].as_ref().unwrap().to_string(), "1833-06-05");
        assert_eq!(
            invalid(&[("a.csv", "town,street\nA,x\nA,y\n")]),
            "a.csv: no column tells the ids of vertices (:ID, id, or a first one without repetitions), nor are \
             there :START_ID and :END_ID of edges: the first line is \"town street\"; a mapping file can say how it is \
             read, `evergraph import --propose` writes one to begin with"
        );
    }

    #[test]
    fn dimacs_and_matrix_market_declare_their_vertices_and_count_their_edges() {
        let load = Files::new(&[("r.gr", "c x\np sp 4 2\nc y\na 1 2 57\na 2 1 3\n")]).load();
        assert_eq!(ids(&load.vertices[0]), [1, 2, 3, 4]);
        assert_eq!(edges(&load.edges[0]), [(0, 1), (1, 0)]);
        assert_eq!(load.edges[0].values("weight"), [Some(Value::F64(57.0)), Some(Value::F64(3.0))]);
        let matrix = "%%MatrixMarket matrix coordinate integer symmetric\n% x\n3 3 2\n2 1 -5\n3 3 1\n";
        let load = Files::new(&[("m.mtx", matrix)]).load();
        assert_eq!((load.vertices[0].rows, edges(&load.edges[0])), (3, vec![(1, 0), (2, 2)]));
        assert_eq!(load.edges[0].values("weight"), [Some(Value::I64(-5)), Some(Value::I64(1))]);
        for (text, expected) in [
            (
                "p sp 2 1\na 1 3 5\n",
                "r.gr:2: column 2 (target): there is no vertex 3 among the 2 that line 1 announces",
            ),
            ("p sp 2 1\nb 1 2 5\n", "r.gr:2: a line begins with 'a' here, or with 'c' if it is a comment"),
            (
                "p sp 2 1\na 1 2\n",
                "r.gr:2: 3 fields expected (source target weight:double), 2 found between blanks or tabs",
            ),
            (
                "p sp 2 2\na 1 2 5\n",
                "r.gr: line 1 announces 2 edges, and 1 are there: the file is cut off, or not what it says",
            ),
        ] {
            assert_eq!(invalid(&[("r.gr", text)]), expected);
        }
    }

    #[test]
    fn progress_is_told_and_a_set_flag_stops() {
        let text = "1 2\n".repeat(1000);
        let files = Files::new(&[("a.e", &text), ("b.e", &text)]);
        let seen = std::cell::RefCell::new(Vec::new());
        read_in_blocks(
            &files.options(),
            Known::default(),
            &|progress| seen.borrow_mut().push((progress.bytes_read, progress.bytes_total, progress.rows)),
            1000,
        )
        .unwrap();
        let seen = seen.into_inner();
        assert!(seen.is_sorted(), "nothing goes back");
        assert_eq!(seen.last(), Some(&(8000, Some(8000), 2000)));

        let cancel = evergraph_graph::cancel::CancelFlag::default();
        let options = ImportOptions { cancel: cancel.clone(), ..files.options() };
        let error = read_in_blocks(&options, Known::default(), &|_| cancel.cancel(), 1000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn a_folder_is_imported_whole_and_strangers_in_it_are_reported() {
        let files = Files::new(&[("Person.csv", PERSONS), ("notes.md", "hello"), (".hidden.csv", "x")]);
        fs::create_dir(files.path("edges")).unwrap();
        fs::write(files.path("edges/KNOWS.csv.gz"), gzip(KNOWS)).unwrap();
        let imported = files.read(&ImportOptions::new([InputFile::new(files.folder.path())])).unwrap();
        assert_eq!((imported.load.vertices_count(), imported.load.edges_count()), (2, 1));
        assert_eq!(imported.load.edges[0].edge_type, "KNOWS");
        assert_eq!(imported.ignored_files, [files.path("notes.md")]);
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn write(path: &Path, text: &str, packed: bool) -> InputFile {
        if packed {
            let path = PathBuf::from(format!("{}.gz", path.display()));
            fs::write(&path, gzip(text)).unwrap();
            return InputFile::new(path);
        }
        fs::write(path, text).unwrap();
        InputFile::new(path)
    }

    fn quoted(text: &str) -> String {
        format!("\"{}\"", text.replace('"', "\"\""))
    }

    fn shown<T: ToString>(value: &Option<T>) -> String {
        value.as_ref().map(T::to_string).unwrap_or_default()
    }

    /// A vertex: name, number, list.
    type Row = (Option<String>, Option<f64>, Vec<String>);

    fn a_row() -> impl Strategy<Value = Row> {
        let text = "[a,\"\n\r| é]{1,6}";
        (
            prop::option::of(text),
            prop::option::of(any::<f64>().prop_filter("a number", |number| !number.is_nan())),
            prop::collection::vec("[a,\" é]{1,4}", 0..3),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn csv_reads_back_what_was_written(
            rows in prop::collection::vec(a_row(), 1..20),
            ends in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<i64>()), 0..20),
            packed in any::<bool>(),
            line_end in prop_oneof![Just("\n"), Just("\r\n")],
            block_bytes in 1usize..200,
            threads in 1usize..4,
            memory in prop_oneof![Just(None), Just(Some(0u64)), Just(Some(400))],
        ) {
            let folder = tempfile::tempdir().unwrap();
            let id = |row: usize| format!("v,{row}");
            let mut nodes = format!("id:ID(N),name,score:double,tags:string[]{line_end}");
            for (row, (name, score, tags)) in rows.iter().enumerate() {
                let name = name.as_ref().map(|name| quoted(name)).unwrap_or_default();
                let tags = if tags.is_empty() { String::new() } else { quoted(&tags.join(";")) };
                nodes += &format!("{},{name},{},{tags}{line_end}", quoted(&id(row)), shown(score));
            }
            let mut relationships = format!(":START_ID(N),:END_ID(N),count:long{line_end}");
            for (source, target, count) in &ends {
                let (source, target) = (source.index(rows.len()), target.index(rows.len()));
                relationships += &format!("{},{},{count}{line_end}", quoted(&id(source)), quoted(&id(target)));
            }
            let inputs = [
                write(&folder.path().join("N.csv"), &nodes, packed),
                write(&folder.path().join("E.csv"), &relationships, packed),
            ];
            let options = ImportOptions { threads, memory, ..ImportOptions::new(inputs) };
            let load = read_in_blocks(&options, Known::default(), &|_| (), block_bytes).unwrap().load;

            let table = &load.vertices[0];
            prop_assert_eq!(table.rows as usize, rows.len());
            let ids: Vec<_> = (0..rows.len()).map(|row| Some(Value::from(id(row)))).collect();
            prop_assert_eq!(table.values("id"), ids);
            let names: Vec<_> = rows.iter().map(|row| row.0.clone().map(Value::from)).collect();
            prop_assert_eq!(table.values("name"), names);
            let scores: Vec<_> = rows.iter().map(|row| row.1.map(Value::F64)).collect();
            prop_assert_eq!(table.values("score"), scores);
            let tags: Vec<_> = rows.iter().map(|(_, _, tags)| (!tags.is_empty()).then(|| {
                Value::List(List::new(tags.iter().map(|tag| Value::from(tag.as_str())).collect()).unwrap())
            })).collect();
            prop_assert_eq!(table.values("tags"), tags);
            if !ends.is_empty() {
                let expected: Vec<(u32, u32)> = ends.iter()
                    .map(|(source, target, _)| (source.index(rows.len()) as u32, target.index(rows.len()) as u32))
                    .collect();
                prop_assert_eq!(edges(&load.edges[0]), expected);
                let counts: Vec<_> = ends.iter().map(|end| Some(Value::I64(end.2))).collect();
                prop_assert_eq!(load.edges[0].values("count"), counts);
            }
        }

        #[test]
        fn an_edge_list_reads_back_what_was_written(
            lines in prop::collection::vec((any::<i64>(), -5i64..5, any::<f32>(), any::<i64>()), 1..40),
            separator in prop_oneof![Just(" "), Just("\t"), Just(","), Just("  \t"), Just(" , ")],
            line_end in prop_oneof![Just("\n"), Just("\r\n"), Just("\n# note\n"), Just("\n\n")],
            packed in any::<bool>(),
            block_bytes in 1usize..200,
            threads in 1usize..4,
            memory in prop_oneof![Just(None), Just(Some(0u64)), Just(Some(400))],
        ) {
            let folder = tempfile::tempdir().unwrap();
            let lines: Vec<_> = lines.into_iter().filter(|line| line.2.is_finite()).collect();
            let text: String = lines.iter()
                .map(|(source, target, weight, time)| {
                    format!("{source}{separator}{target}{separator}{weight}{separator}{time}{line_end}")
                })
                .collect();
            let input = write(&folder.path().join("g.txt"), &text, packed);
            let options = ImportOptions { threads, memory, ..ImportOptions::new([input]) };
            let load = read_in_blocks(&options, Known::default(), &|_| (), block_bytes).unwrap().load;

            let mut expected: Vec<i64> = lines.iter().flat_map(|line| [line.0, line.1]).collect();
            expected.sort_unstable();
            expected.dedup();
            let ids = ids(&load.vertices[0]);
            prop_assert_eq!(&ids, &expected);
            let read: Vec<(i64, i64)> = edges(&load.edges[0]).iter()
                .map(|(source, target)| (ids[*source as usize], ids[*target as usize]))
                .collect();
            prop_assert_eq!(read, lines.iter().map(|line| (line.0, line.1)).collect::<Vec<_>>());
            if !lines.is_empty() {
                // The text of a float of 32 bits, read as one of 64.
                let weight = |weight: f32| Some(Value::F64(weight.to_string().parse().unwrap()));
                let weights: Vec<_> = lines.iter().map(|line| weight(line.2)).collect();
                prop_assert_eq!(load.edges[0].values("weight"), weights);
                let times: Vec<_> = lines.iter().map(|line| Some(Value::I64(line.3))).collect();
                prop_assert_eq!(load.edges[0].values("time"), times);
            }
        }
    }
}
