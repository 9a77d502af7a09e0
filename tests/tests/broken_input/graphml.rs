//! GraphML: XML that is broken, and sound XML that is no graph.

use crate::case::{Case, run};

fn graphml(name: &str, text: impl Into<Vec<u8>>) -> Case {
    Case::new(name).file("g.graphml", text)
}

/// A document with `body` in its graph, from line 4.
fn graph(body: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<graphml><key id=\"n\" for=\"node\" attr.name=\"n\" attr.type=\"int\"/>\n\
         <graph edgedefault=\"directed\">\n{body}\n</graph></graphml>\n"
    )
}

fn utf16(text: &str) -> Vec<u8> {
    [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

#[test]
fn odd_documents_that_are_sound_load_whole() {
    run(vec![
        graphml("no nodes", graph("")).loads(0, 0),
        graphml("CR LF", graph("<node id=\"1\"/>\n<node id=\"2\"/>").replace('\n', "\r\n")).loads(2, 0),
        graphml("a byte order mark", format!("\u{feff}{}", graph("<node id=\"1\"/>"))).loads(1, 0),
        graphml("UTF-16", utf16(&graph("<node id=\"1\"/>").replace("?>", " encoding=\"UTF-16\"?>")))
            .loads(1, 0),
        graphml("no declaration", "<graphml><graph><node id=\"1\"/></graph></graphml>").loads(1, 0),
        graphml(
            "an edge before its ends",
            graph("<edge source=\"1\" target=\"2\"/><node id=\"1\"/><node id=\"2\"/>"),
        )
        .loads(2, 1),
        graphml("data of a number without one", graph("<node id=\"1\"><data key=\"n\"/></node>")).loads(1, 0),
        graphml(
            "a graph in a node",
            graph("<node id=\"1\"><graph edgedefault=\"directed\"><node id=\"2\"/></graph></node>"),
        )
        .loads(2, 0),
        graphml(
            "comments, references and CDATA",
            graph("<!-- x --><node id=\"&#49;\"><data key=\"n\"><![CDATA[7]]></data></node>"),
        )
        .loads(1, 0),
    ]);
}

#[test]
fn broken_xml_ends_the_import_where_it_is_broken() {
    run(vec![
        graphml("nothing", "").refused("g.graphml: line 1, column 1: the file has no tag"),
        graphml("no XML", "hello\n").refused("g.graphml: line 1, column 1: text outside of the outermost tag"),
        graphml("another document", "<html><body/></html>")
            .refused("g.graphml: line 1, column 1: expected <graphml>, found <html>"),
        graphml("a tag that isn't closed", "<graphml><graph><node id=\"1\">")
            .refused("g.graphml: line 1, column 30: the file ends before its tags are closed"),
        graphml("tags that are closed crosswise", graph("<node id=\"1\"></edge>"))
            .refused("g.graphml: line 4, column 14: ill-formed document: expected `</node>`, but `</edge>` was found"),
        graphml("an attribute without quotes", graph("<node id=1/>"))
            .refused("g.graphml: line 4, column 1: <node>: position 8: attribute value must be enclosed in `\"` or `'`"),
        graphml("an attribute twice", graph("<node id=\"1\" id=\"2\"/>"))
            .refused("g.graphml: line 4, column 1: <node>: position 12: duplicated attribute, previous declaration at position 5"),
        graphml("a character that XML doesn't have", graph("<node id=\"\u{1}\"/>"))
            .refused("g.graphml: line 4, column 1: <node>, attribute `id`: U+0001 cannot stand in XML 1.0"),
        graphml("NUL bytes", graph("<node id=\"a\0b\"/>"))
            .refused("g.graphml: line 4, column 1: <node>, attribute `id`: U+0000 cannot stand in XML 1.0"),
        graphml("no UTF-8", [graph("<node id=\"1\"/>").into_bytes(), vec![0xff]].concat())
            .refused("g.graphml: line 5, column 19: cannot decode input using UTF-8: invalid utf-8 sequence of 1 bytes from index 1"),
        graphml("another encoding", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<graphml/>")
            .refused("g.graphml: line 1, column 1: a file that says it is in \"ISO-8859-1\" (UTF-8 is read, and UTF-16 with a byte order mark) cannot be read"),
        graphml("half a surrogate pair in UTF-16", [utf16("<graphml><graph>"), vec![0, 0xd8]].concat())
            .refused("g.graphml: line 1, column 1: 0xd800 is half of a UTF-16 pair"),
        graphml("an entity that nobody declared", graph("<node id=\"&bomb;\"/>"))
            .refused("g.graphml: line 4, column 1: <node>, attribute `id`: &bomb; is an entity that XML doesn't know, and those of a DTD are not read"),
        graphml(
            "an entity that doubles itself",
            format!(
                "<!DOCTYPE x [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;\">]>\n{}",
                graph("<node id=\"&b;\"/>").replace("<?xml version=\"1.0\"?>\n", ""),
            ),
        )
        .refused("g.graphml: line 1, column 1: a DOCTYPE with declarations of its own cannot be read"),
        graphml(
            "an entity that is a file",
            format!(
                "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/hostname\">]>\n{}",
                graph("<node id=\"&a;\"/>").replace("<?xml version=\"1.0\"?>\n", ""),
            ),
        )
        .refused("g.graphml: line 1, column 1: a DOCTYPE with declarations of its own cannot be read"),
        graphml("tags nested without end", graph(&"<data>".repeat(100_000)))
            .refused("g.graphml: line 4, column 1525: tags are nested more than 256 deep"),
        graphml("something behind the document", format!("{}<graphml/>", graph("")))
            .refused("g.graphml: line 6, column 1: a second outermost tag"),
    ]);
}

#[test]
fn sound_xml_that_is_no_graph_is_refused_by_its_place() {
    run(vec![
        graphml("a node without an id", graph("<node/>"))
            .refused("g.graphml: line 4, column 1: <node> has no attribute `id`"),
        graphml("an edge without an end", graph("<edge source=\"1\"/>"))
            .refused("g.graphml: line 4, column 1: <edge> has no attribute `target`"),
        graphml("data of no key", graph("<node id=\"1\"><data key=\"m\">7</data></node>"))
            .refused("g.graphml: line 4, column 14: data of key `m`: no such key was declared before"),
        graphml("data without a key", graph("<node id=\"1\"><data>7</data></node>"))
            .refused("g.graphml: line 4, column 14: <data> has no attribute `key`"),
        graphml("a value that is not a valid int", graph("<node id=\"1\"><data key=\"n\">seven</data></node>"))
            .refused("g.graphml: line 4, column 14: data of key `n`: \"seven\" is not a valid int: expected digits with an optional sign"),
        graphml("a value out of range", graph("<node id=\"1\"><data key=\"n\">9223372036854775808</data></node>"))
            .refused("g.graphml: line 4, column 14: data of key `n`: \"9223372036854775808\" is not a valid int: outside -2147483648 to 2147483647"),
        graphml("a key twice in one node", graph("<node id=\"1\"><data key=\"n\">7</data><data key=\"n\">8</data></node>"))
            .refused("g.graphml: line 4, column 36: data of key `n`: the element has `n` twice"),
        graphml("a key of no type of ours", "<graphml><key id=\"n\" for=\"node\" attr.name=\"n\" evergraph.type=\"number\"/><graph/></graphml>")
            .refused("g.graphml: line 1, column 10: key `n`: unknown type \"number\"; known are bool, byte, short, int, long, float, double, bigint, decimal, char, string, bytes, date, datetime, duration, uuid, list, set, map, any"),
        graphml("a key declared twice", "<graphml><key id=\"n\" for=\"node\" attr.name=\"n\"/><key id=\"n\" for=\"node\" attr.name=\"m\"/><graph/></graphml>")
            .refused("g.graphml: line 1, column 48: key `n`: is declared twice, differently"),
        graphml("a hyperedge", graph("<hyperedge><endpoint node=\"1\"/></hyperedge>"))
            .refused("g.graphml: line 4, column 1: a <hyperedge>, which joins any number of nodes where an edge joins two, cannot be read"),
        graphml("a graph in an edge", graph("<node id=\"1\"/><edge source=\"1\" target=\"1\"><graph/></edge>"))
            .refused("g.graphml: line 4, column 43: a graph inside of an edge cannot be read"),
        graphml("a direction that there isn't", "<graphml><graph edgedefault=\"both\"/></graphml>")
            .refused("g.graphml: line 1, column 10: edgedefault is `both`"),
    ]);
}

#[test]
fn elements_that_do_not_fit_are_named_by_line() {
    run(vec![
        graphml("an id twice", graph("<node id=\"1\"/>\n<node id=\"1\"/>\n<node id=\"2\"/>"))
            .loads(2, 0)
            .bad_row(
                "g.graphml:5: vertex \"1\" of id space GraphML is there already, from g.graphml:4",
                "vertex \"1\"",
            ),
        graphml(
            "an end that isn't there",
            graph("<node id=\"1\"/>\n<edge source=\"1\" target=\"7\"/>\n<edge source=\"1\" target=\"1\"/>"),
        )
        .loads(1, 1)
        .bad_row("g.graphml:5: there is no vertex \"7\" in id space GraphML", "edge \"1\" -[EDGE]-> \"7\""),
        graphml("two labels", graph("<node id=\"1\" labels=\":A:B\"/>\n<node id=\"2\"/>"))
            .loads(1, 0)
            .bad_row("g.graphml:4: A, B are several labels; a vertex has one", "vertex 1"),
    ]);
}
