//! What is wrong with files is told by file, line and column, and what helps.

use crate::import::options::InputFile;
use crate::import::read::tests::files::*;
use crate::import::read::*;
use crate::import::recognise::file::KNOWN_ENDINGS;
use evergraph_graph::value::Value;
use std::fs;

#[test]
fn bad_rows_are_named_by_file_line_and_column() {
    let nodes = ("Person.csv", PERSONS);
    let cases: [(&[(&str, &str)], &str); 9] = [
        (
            &[("person.csv", "id:ID,name,born:int\n1,A,1815\n\n2,B,18x5\n")],
            "person.csv:4: column 3 (born:int): \"18x5\" is not a valid int: expected digits with an optional sign",
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
            "a.csv:2: column 1 (id:ID{id-type:long}): \"1x\" is not a valid long, as ids are here",
        ),
        (
            &[("a.csv", "id:ID,:LABEL,labels\n1,A;B,x\n")],
            "a.csv:2: column 2 (:LABEL): \"A;B\" are several names; a vertex has one label (property labels keeps all, if \
             it is free), and an edge one type",
        ),
        (
            &[("a.csv", "id:ID,n\n1,\"x\n2,y\n")],
            "a.csv:2: a quote that opens in this record is never closed; if quotes are ordinary \
             characters in the file, say --quote none",
        ),
        (&[("g.e", "1 2\n1 x\n")], "g.e:2: column 2 (target): \"x\" is not a whole number"),
    ];
    for (files, expected) in cases {
        assert_eq!(invalid(files), expected);
    }
}

#[test]
fn a_bad_row_names_its_column_as_the_file_does_whatever_was_recognised() {
    for (file, text, expected) in [
        ("knows.csv", ":START_ID,:END_ID\n1,2\n1,\n", "knows.csv:3: column 2 (:END_ID): the id is missing"),
        ("knows.csv", "source,target\na,b\nc,\n", "knows.csv:3: column 2 (target): the id is missing"),
    ] {
        assert_eq!(invalid(&[(file, text)]), expected);
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
    assert_eq!(invalid(&[("a.csv", "")]), "a.csv: is empty: expected a header, such as id:ID,name,born:int");
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
            "a.csv: its first line has no names: expected a header, such as id:ID,name,born:int",
        ),
        (
            "g.e",
            "1 2\r3 4\r",
            "g.e: its lines end in CR alone, which is not supported; convert it: tr '\\r' '\\n' < g.e",
        ),
        (
            "a.json",
            "[]",
            "a.json: it doesn't begin with a vertex of GraphSON, nor with {\"vertices\": [, and has no \"nodes\", \
             \"links\", \"edges\" or \"elements\" in its beginning; if it is GraphSON all the same, say --graphson \
             a.json; if it is a graph of nodes and links, a mapping file can say so (format = \"node-link\")",
        ),
        (
            "a.net",
            "1 2\n",
            "a.net: there is no line *Vertices in its beginning, as a network of Pajek has one; if it is one all the \
             same, a mapping file can say so (format = \"pajek\")",
        ),
        (
            "a.gml",
            "<gml:FeatureCollection/>",
            "a.gml: there is no `graph [` in its beginning, as GML has it, the Graph Modelling Language (that of \
             geography holds no graph); if it is one all the same, a mapping file can say so (format = \"gml\")",
        ),
        (
            "a.xml",
            "<html/>",
            "a.xml: there is no <graphml> or <gexf> in its beginning; if it is GraphML all the same, say --graphml \
             a.xml",
        ),
        (
            "g.gr",
            "c x\np sp 2 1\na 1 3 7\n",
            "g.gr:3: column 2 (target): there is no vertex 3 among the 2 that line 2 announces",
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
    if evergraph_storage::io::machine_memory::available_bytes() < 100 << 30 {
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
    let mut files = Files::new(&[("a.bin", "one\n")]);
    assert_eq!(
        files.error(&files.options()).1,
        format!(
            "a.bin: its name doesn't tell what it holds ({KNOWN_ENDINGS}); say it by --nodes LABEL=FILE, --edges TYPE=FILE, --vertex-list \
         FILE, --graphson FILE or --graphml FILE"
        )
    );
    assert_eq!(invalid(&[("a.xml", "")]), "a.xml: is empty");
    fs::write(files.path("a.bin"), "1 2\n").unwrap();
    assert_eq!(files.load().edges_count(), 1, "a file that was named and begins as a list is one");
    files.inputs[0].role = Some(Role::EdgeList);
    assert_eq!(files.load().edges_count(), 1);
    files.inputs[0].path = files.path("b.e");
    assert_eq!(
        files.error(&files.options()),
        (ErrorKind::NotFound, "b.e: there is no such file or folder; check the path".to_owned())
    );
    files.inputs[0] = InputFile::new(files.folder.path());
    let error = read(&files.options(), &|_| ()).unwrap_err().to_string();
    assert!(error.ends_with(KNOWN_ENDINGS), "{error}");
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
fn a_delimiter_that_the_header_does_not_have_is_refused_wherever_it_is_told() {
    for text in ["id,name,born\n1,Ada,1815\n", "id:ID,name,born:int\n1,Ada,1815\n"] {
        let files = Files::new(&[("people.csv", text)]);
        let options = files.options().with(|options| options.csv.delimiter = Some(b';'));
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
    let told = files.options().with(|options| options.csv.delimiter = Some(b','));
    assert_eq!(files.read(&told).unwrap().load.vertices[0].values("name"), [Some(Value::from("Ada"))]);
}
