//! Graph files: GEXF, GML, Pajek, and nodes and links in JSON that are odd, broken, or no graph.

use crate::case::{Case, run};
use evergraph::ErrorKind;

fn file(name: &str, file: &'static str, text: impl Into<Vec<u8>>) -> Case {
    Case::new(name).file(file, text)
}

fn gexf(body: &str) -> String {
    format!("<gexf><graph defaultedgetype=\"directed\">\n{body}\n</graph></gexf>\n")
}

#[test]
fn odd_files_that_are_sound_load_whole() {
    let crlf = "*Vertices 2\r\n1 a\r\n2 b\r\n*Arcs\r\n1 2\r\n";
    run(vec![
        file("no elements", "g.gexf", gexf("")).loads(0, 0),
        file(
            "edges first",
            "g.gexf",
            gexf("<edges><edge source=\"1\" target=\"1\"/></edges><nodes><node id=\"1\"/></nodes>"),
        )
        .loads(1, 1),
        file("on one line", "g.gml", "graph[node[id 1]edge[source 1 target 1]]").loads(1, 1),
        file("a byte order mark", "g.gml", "\u{feff}graph [ node [ id 1 ] ]").loads(1, 0),
        file("CR LF", "g.net", crlf).loads(2, 1),
        file("CR", "g.net", crlf.replace('\n', "")).loads(2, 1),
        file("vertices without lines", "g.net", "*Vertices 3\n*Edges\n1 3").loads(3, 1),
        file("a byte order mark", "g.json", "\u{feff}{\"nodes\":[{\"id\":1}]}").loads(1, 0),
        file(
            "links first",
            "g.json",
            "{\"links\":[{\"source\":\"a\",\"target\":\"a\"}],\"nodes\":[{\"id\":\"a\"}]}",
        )
        .loads(1, 1),
    ]);
}

#[test]
fn broken_files_end_the_import_where_they_are_broken() {
    run(vec![
        file("nothing", "g.gexf", "").refused("g.gexf: line 1, column 1: the file has no tag"),
        file("another document", "g.gexf", "<html/>")
            .refused("g.gexf: line 1, column 1: expected <gexf>, found <html>"),
        file("a node without an id", "g.gexf", gexf("<nodes><node/></nodes>"))
            .refused("g.gexf: line 2, column 8: <node> has no attribute `id`"),
        file("a value of another type", "g.gexf", gexf("<attributes class=\"node\"><attribute id=\"0\" title=\"n\" type=\"integer\"/></attributes><nodes><node id=\"1\"><attvalue for=\"0\" value=\"x\"/></node></nodes>"))
            .refused("g.gexf: line 2, column 103: value of `n`: \"x\" is not a valid int: expected digits with an optional sign"),
        file("brackets that aren't closed", "g.gml", "graph [ node [ id 1 ]\n")
            .refused("g.gml: line 2, column 1: the file ends before its graph does"),
        file("brackets nested without end", "g.gml", format!("graph [ node [ {}", "a [ ".repeat(10_000)))
            .refused("g.gml: line 1, column 268: brackets are nested more than 64 deep"),
        file("no UTF-8", "g.gml", b"graph [ node [ id 1 label \"\xe9\" ] ]".to_vec())
            .refused("g.gml: line 1, column 28: a text is not UTF-8; convert the file, for example with `iconv -f ISO-8859-1 -t UTF-8`"),
        file("no number of a vertex", "g.net", "*Vertices 2\n*Arcs\n1 x\n")
            .refused("g.net: line 3, column 3: field 2: expected the number of a vertex, 1 to 2, found \"x\""),
        file("more vertices than there can be", "g.net", "*Vertices 99999999999\n")
            .refused("g.net: line 1, column 1: the count of vertices: expected a number up to 4294967295, found \"99999999999\""),
        file("a second network", "g.net", "*Vertices 1\n*Network b\n*Vertices 1\n")
            .refused("g.net: line 2, column 1: a second network, which uses the numbers of the first again, cannot be read"),
        file("no JSON", "g.json", "{\"nodes\": [{\"id\": 1}, ]}")
            .refused("g.json: line 1, column 23: expected a value, found `]`"),
        file("values nested without end", "g.json", format!("{{\"nodes\":[{{\"id\":1,\"a\":{}", "[".repeat(1000)))
            .refused("g.json: line 1, column 1023: expected the end of a value, found the end of the file"),
        file("hyperedges", "g.json", "{\"graph\":{\"nodes\":{\"a\":{}},\"hyperedges\":[{\"nodes\":[\"a\"]}]}}")
            .refused("g.json: line 1, column 41: `hyperedges`, which join any number of nodes where an edge joins two, cannot be read"),
        file("an element without end", "g.json", format!("{{\"nodes\":[{{\"id\":\"{}", "x".repeat(17 << 20)))
            .refused_as(ErrorKind::Limit, "g.json: line 1, column 11: the text of an element has more than 16777216 bytes"),
    ]);
}

#[test]
fn elements_that_do_not_fit_are_named_by_line() {
    run(vec![
        file("an end that isn't there", "g.gml", "graph [\nnode [ id 1 ]\nedge [ source 1 target 7 ]\n]")
            .loads(1, 0)
            .bad_row("g.gml:3: there is no vertex 7 in id space GML", "edge 1 -[EDGE]-> 7"),
        file("an id twice", "g.json", "{\"nodes\":[{\"id\":1},\n{\"id\":1}]}").loads(1, 0).bad_row(
            "g.json:2: vertex 1 of id space nodes and links is there already, from g.json:1",
            "vertex 1",
        ),
        file("a key of no letters", "g.json", "{\"nodes\":[{\"id\":1},\n{\"id\":2,\"\":1}]}")
            .loads(1, 0)
            .bad_row("g.json:2: a property has an empty name", "vertex 2"),
    ]);
}
