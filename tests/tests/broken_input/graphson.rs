//! GraphSON: texts that are no JSON, JSON that is no vertex, and files that lost a line.

use crate::case::{Case, run};

fn graphson(name: &str, text: impl Into<Vec<u8>>) -> Case {
    Case::new(name).file("g.json", text)
}

/// A sound vertex a line, and `line` between the two.
fn between(line: impl AsRef<[u8]>) -> Vec<u8> {
    let vertex = |id: u8| {
        format!("{{\"id\":{{\"@type\":\"g:Int32\",\"@value\":{id}}},\"label\":\"P\"}}\n").into_bytes()
    };
    [vertex(1), line.as_ref().to_vec(), b"\n".to_vec(), vertex(2)].concat()
}

#[test]
fn odd_files_that_are_sound_load_whole() {
    run(vec![
        graphson("CR LF and blank lines", String::from_utf8(between("")).unwrap().replace('\n', "\r\n\r\n"))
            .loads(2, 0),
        graphson("a byte order mark", [b"\xef\xbb\xbf".to_vec(), between("")].concat()).loads(2, 0),
        graphson("no line end at the end", "{\"id\":1,\"label\":\"P\"}").loads(1, 0),
        graphson(
            "GraphSON 1",
            "{\"id\":1,\"label\":\"P\",\"properties\":{\"n\":[{\"id\":0,\"value\":7}]}}\n",
        )
        .loads(1, 0),
        graphson("wrapped", "{\"vertices\":[{\"id\":1,\"label\":\"P\"},\n{\"id\":2,\"label\":\"P\"}]}\n")
            .loads(2, 0),
        graphson("wrapped, without vertices", "{\"vertices\":[]}").loads(0, 0),
        Case::new("nothing").file("g.graphson", "").loads(0, 0),
        graphson("nothing, called JSON", "").loads(0, 0),
        graphson("escapes", between("{\"id\":\"\\u00e9\\ud83d\\ude00\\\"\",\"label\":\"P\"}")).loads(3, 0),
        graphson("an id that is a list", between("{\"id\":[1],\"label\":\"P\"}")).loads(3, 0),
    ]);
}

#[test]
fn lines_that_are_no_vertices_are_bad_rows() {
    run(vec![
        graphson("keys that are unknown", between("{\"id\":3,\"label\":\"P\",\"colour\":[1,{\"a\":null}]}"))
            .loads(2, 0).bad_row("g.json:2: byte 20: `colour` is not a key of a vertex: known keys are id, label, outE, inE, properties", "{\"id\":3,\"label\":\"P\",\"colour\":[1,{\"a\":null}]}"),
        graphson("no JSON", between("hello"))
            .loads(2, 0)
            .bad_row("g.json:2: byte 1: expected an object, found `h`", "hello"),
        graphson("a bracket too few", between("{\"id\":3,\"label\":\"P\""))
            .loads(2, 0)
            .bad_row("g.json:2: byte 20: expected , or } after a value, found the end", "{\"id\":3,\"label\":\"P\""),
        graphson("a comma too many", between("{\"id\":3,\"label\":\"P\",}"))
            .loads(2, 0)
            .bad_row("g.json:2: byte 21: expected a key in quotes, found `}`", "{\"id\":3,\"label\":\"P\",}"),
        graphson("two vertices in a line", between("{\"id\":3,\"label\":\"P\"}{\"id\":4,\"label\":\"P\"}"))
            .loads(2, 0).bad_row("g.json:2: byte 21: expected the end of the text, found `{`", "{\"id\":3,\"label\":\"P\"}{\"id\":4,\"label\":\"P\"}"),
        graphson("no UTF-8", between(b"{\"id\":\"\xff\",\"label\":\"P\"}"))
            .loads(2, 0)
            .bad_row("g.json:2: byte 8: a string is not UTF-8", "{\"id\":\"�\",\"label\":\"P\"}"),
        graphson("NUL bytes", between(b"{\"id\":\"a\0b\",\"label\":\"P\"}"))
            .loads(2, 0)
            .bad_row("g.json:2: byte 9: expected control characters of a string as escapes, found byte 0x00", "{\"id\":\"a\0b\",\"label\":\"P\"}"),
        graphson("half of a pair", between("{\"id\":\"\\ud83d\",\"label\":\"P\"}"))
            .loads(2, 0)
            .bad_row("g.json:2: byte 10: an escape is half of a surrogate pair", "{\"id\":\"\\ud83d\",\"label\":\"P\"}"),
        graphson("no id", between("{\"label\":\"P\"}"))
            .loads(2, 0)
            .bad_row("g.json:2: byte 1: a vertex has no id", "{\"label\":\"P\"}"),
        graphson("an id twice in one vertex", between("{\"id\":3,\"id\":4,\"label\":\"P\"}"))
            .loads(2, 0)
            .bad_row("g.json:2: byte 8: the key `id` stands twice", "{\"id\":3,\"id\":4,\"label\":\"P\"}"),
        graphson("a label that is a number", between("{\"id\":3,\"label\":7}"))
            .loads(2, 0)
            .bad_row("g.json:2: byte 17: expected a string, found `7`", "{\"id\":3,\"label\":7}"),
        graphson("an array", between("[1,2]"))
            .loads(2, 0)
            .bad_row("g.json:2: byte 1: expected an object, found `[`", "[1,2]"),
        graphson(
            "a type that there isn't",
            between("{\"id\":{\"@type\":\"g:Int128\",\"@value\":3},\"label\":\"P\"}"),
        )
        .loads(2, 0).bad_row("g.json:2: byte 36: values of the type `g:Int128` are not supported", "{\"id\":{\"@type\":\"g:Int128\",\"@value\":3},\"label\":\"P\"}"),
        graphson(
            "a value that isn't of its type",
            between("{\"id\":{\"@type\":\"g:Int32\",\"@value\":\"x\"},\"label\":\"P\"}"),
        )
        .loads(2, 0).bad_row("g.json:2: byte 35: expected a number, found `\"`", "{\"id\":{\"@type\":\"g:Int32\",\"@value\":\"x\"},\"label\":\"P\"}"),
        graphson(
            "a value out of range",
            between("{\"id\":{\"@type\":\"g:Int32\",\"@value\":2147483648},\"label\":\"P\"}"),
        )
        .loads(2, 0).bad_row("g.json:2: byte 35: \"2147483648\" is not a valid int: outside -2147483648 to 2147483647", "{\"id\":{\"@type\":\"g:Int32\",\"@value\":2147483648},\"label\":\"P\"}"),
        graphson("a number beyond all", between("{\"id\":1e999,\"label\":\"P\"}"))
            .loads(2, 0)
            .bad_row("g.json:2: byte 7: \"1e999\" is not a valid double: too large for this type", "{\"id\":1e999,\"label\":\"P\"}"),
        graphson("a value without a type", between("{\"id\":{\"@value\":3},\"label\":\"P\"}"))
            .loads(2, 0)
            .bad_row("g.json:2: byte 18: expected @type, found }", "{\"id\":{\"@value\":3},\"label\":\"P\"}"),
        graphson(
            "an edge without an end",
            between("{\"id\":3,\"label\":\"P\",\"outE\":{\"knows\":[{\"id\":7}]}}"),
        )
        .loads(2, 0).bad_row("g.json:2: byte 38: an edge has no inV", "{\"id\":3,\"label\":\"P\",\"outE\":{\"knows\":[{\"id\":7}]}}"),
        graphson("an edge that is a number", between("{\"id\":3,\"label\":\"P\",\"outE\":{\"knows\":[7]}}"))
            .loads(2, 0).bad_row("g.json:2: byte 38: expected an object, found `7`", "{\"id\":3,\"label\":\"P\",\"outE\":{\"knows\":[7]}}"),
        graphson("nested without end", between("[".repeat(100_000)))
            .loads(2, 0)
            .bad_row("g.json:2: byte 1: expected an object, found `[`", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…"),
        graphson(
            "values nested without end",
            between(format!(
                "{{\"id\":3,\"label\":\"P\",\"properties\":{{\"n\":[{{\"value\":{}1{}}}]}}}}",
                "{\"@type\":\"g:List\",\"@value\":[".repeat(200),
                "]}".repeat(200)
            )),
        )
        .loads(2, 0).bad_row("g.json:2: byte 3660: a value is nested more than 128 deep", "{\"id\":3,\"label\":\"P\",\"properties\":{\"n\":[{\"value\":{\"@type\":\"g:List\",\"@value\":[{\"@type\":\"g:List\",\"@value\":[{\"@type\":\"g:List\",\"@value\":[{\"@type\":\"g:List\",\"@value\":[{\"@type\":\"g:List\",\"@value\":[{\"@type\":\"g:…"),
        graphson(
            "an id that was there",
            between("{\"id\":{\"@type\":\"g:Int32\",\"@value\":1},\"label\":\"P\"}"),
        )
        .loads(2, 0).bad_row("g.json:2: vertex 1 of id space GraphSON is there already, from g.json:1", "vertex 1"),
        graphson(
            "a property called as the id is",
            between("{\"id\":3,\"label\":\"P\",\"properties\":{\"id\":[{\"value\":7}]}}"),
        )
        .loads(3, 0),
        graphson(
            "a property called as the key that was named for ids",
            between("{\"id\":3,\"label\":\"P\",\"properties\":{\"key\":[{\"value\":7}]}}"),
        )
        .options(|options| options.ids.vertex_key = Some("key".to_owned()))
        .loads(2, 0).bad_row("g.json:2: the vertex has a property key of its own, but its id is kept under that name: choose another name for ids (--vertex-id)", "vertex 3"),
    ]);
}

#[test]
fn files_that_cannot_be_cut_into_vertices_are_refused() {
    let vertex = |id: u32, side: &str, of: &str, other: u32| {
        format!("{{\"id\":{id},\"label\":\"P\",\"{side}\":{{\"knows\":[{{\"id\":7,\"{of}\":{other}}}]}}}}\n")
    };
    let (source, target) = (vertex(1, "outE", "inV", 2), vertex(2, "inE", "outV", 1));
    run(vec![
        graphson("both sides of an edge", format!("{source}{target}")).loads(2, 1),
        graphson("the edge's own side only", format!("{source}{{\"id\":2,\"label\":\"P\"}}\n"))
            .loads(2, 1),
        graphson("the edge's other side only", format!("{{\"id\":1,\"label\":\"P\"}}\n{target}"))
            .refused("g.json: edges are in inE only, but outE is read: vertices are missing, or were written without it"),
        graphson(
            "one of two edges lost a side",
            format!("{source}{}{}", vertex(2, "outE", "inV", 1), vertex(3, "inE", "outV", 1)),
        )
        .refused("g.json: outE and inE list different edges (2 and 1): the file is incomplete"),
        graphson("the line of an end is lost", source.clone())
            .loads(1, 0)
            .bad_row("g.json:1: there is no vertex 2 in id space GraphSON", "edge 1 -[knows]-> 2"),
        graphson("another kind of JSON", "{\"name\":\"evergraph\"}\n")
            .refused("g.json: it doesn't begin with a vertex of GraphSON, nor with {\"vertices\": [, and has no \"nodes\", \"links\", \"edges\" or \"elements\" in its beginning; if it is GraphSON all the same, say --graphson g.json; if it is a graph of nodes and links, a mapping file can say so (format = \"node-link\")"),
        graphson("a wrapping that isn't closed", "{\"vertices\":[{\"id\":1,\"label\":\"P\"}")
            .refused("g.json: line 1, column 34: expected , or ] behind a vertex"),
        graphson(
            "a wrapping without commas",
            "{\"vertices\":[{\"id\":1,\"label\":\"P\"} {\"id\":2,\"label\":\"P\"}]}",
        )
        .refused("g.json: line 1, column 35: expected , or ] behind a vertex"),
        graphson("something behind a wrapping", "{\"vertices\":[{\"id\":1,\"label\":\"P\"}]} x")
            .refused("g.json: line 1, column 37: expected the end of the file behind the vertices"),
        graphson("a wrapping of no array", "{\"vertices\":7}")
            .bad_row("g.json:1: byte 2: `vertices` is not of an adjacency list: the GraphSON of TinkerPop 2 is not read", "{\"vertices\":7}"),
        graphson("a text that isn't closed in a wrapping", "{\"vertices\":[{\"id\":\"1}]}")
            .refused("g.json: line 1, column 25: expected the end of a vertex, found the end of the file"),
    ]);
}
