//! Edge lists, vertex lists, DIMACS and Matrix Market: which vertices there are, and what columns say.

use crate::import::read::tests::files::*;
use evergraph_graph::value::{Value, ValueType};

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
    let load = files.read(&files.options().with(|options| options.lists.vertices = Some(0..6))).unwrap().load;
    assert_eq!(ids(&load.vertices[0]), [0, 1, 2, 3, 4, 5]);
    assert_eq!(edges(&load.edges[0]), [(4, 0)]);
    assert_eq!(
        files.error(&files.options().with(|options| options.lists.vertices = Some(1..6))).1,
        "g.e:1: column 2 (target): there is no vertex 0 in the vertex lists or the range of vertices"
    );
    assert_eq!(
        files.error(&files.options().with(|options| options.lists.vertices = Some(6..6))).1,
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
    let options = files.options().with(|options| options.lists.edge_columns = Some("rating,time".to_owned()));
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
            "r.gr: line 1 announces 2 edges, but the file has 1: the file is cut off, or not what it says",
        ),
    ] {
        assert_eq!(invalid(&[("r.gr", text)]), expected);
    }
}
