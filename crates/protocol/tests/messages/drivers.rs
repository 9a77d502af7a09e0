//! Drivers: requests and responses of gremlinpython, Java and JavaScript, byte for byte, and frames that they were seen
//! to read.
//!
//! The records are in `tests/drivers`, beside the script that makes them. `EVERGRAPH_RECORD=1` writes `frames.txt` anew.

use std::fmt::Write;
use std::sync::Arc;
use std::{env, fs};

use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{Direction, EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::{List, Map, Set};
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::{
    Alias, MaterializeProperties, Operation, QueryOptions, Request,
};
use evergraph_protocol::request::read::RequestLimits;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::frame::{FrameEncoder, FrameLimits, ResultForm, encode_response};
use evergraph_protocol::response::read::Response;
use evergraph_protocol::response::status::Status;
use evergraph_protocol::result::result_value::{DetachedVertexProperty, ResultValue};
use evergraph_query::error::LineColumn;
use evergraph_query::value::item::{Item, Owner, Property, Token};
use evergraph_query::value::map::ItemMap;
use evergraph_query::value::path::Path;
use evergraph_query::value::subgraph::Subgraph;
use evergraph_query::value::tree::Tree;
use uuid::Uuid;

use crate::elements::Elements;

const ID: Uuid = Uuid::from_u128(0x41d2_e28a_20a4_4ab0_b379_d810_dede_3786);

/// The lines of a record that are no comments, as fields.
fn records(name: &str) -> Vec<[String; 3]> {
    let path = folder().join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let fields = |line: &str| line.splitn(3, '\t').map(str::to_owned).collect::<Vec<_>>();
    lines.map(|line| fields(line).try_into().expect("three fields")).collect()
}

fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers")
}

fn bytes(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("digits"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect()
}

fn format(name: &str) -> Format {
    if name == "graphbinary" { Format::GraphBinary } else { Format::GraphSon }
}

/// A request as a text, without its id.
fn described(request: &Request) -> String {
    match &request.operation {
        Operation::Bytecode { bytecode, options } => {
            format!("{} {}", bytecode.query(), options_text(options))
        }
        Operation::Eval { gremlin, language, bindings, options } => {
            let language = language.as_deref().unwrap_or("no language");
            let names: Vec<&str> = bindings.names().collect();
            format!("{gremlin:?} {language} {names:?} {}", options_text(options))
        }
        Operation::Authentication { sasl, .. } => {
            format!("log-in {}", String::from_utf8_lossy(sasl).replace('\0', "|"))
        }
        Operation::Close { session } => format!("close {session}"),
    }
}

fn options_text(options: &QueryOptions) -> String {
    let mut text = String::new();
    for Alias { alias, name } in &options.aliases {
        write!(text, "{alias}={name}").unwrap();
    }
    if let Some(timeout) = options.evaluation_timeout_ms {
        write!(text, " {timeout} ms").unwrap();
    }
    if let Some(size) = options.batch_size {
        write!(text, " {size} a frame").unwrap();
    }
    if let Some(parts) = options.materialize_properties {
        write!(text, " {}", parts.name()).unwrap();
    }
    if let Some(session) = &options.session {
        write!(text, " in {}", session.id).unwrap();
    }
    text
}

/// The requests of a record as texts, those in GraphBinary first.
fn described_requests(file: &str) -> (Vec<String>, Vec<String>) {
    let found: Vec<_> = records(file)
        .iter()
        .map(|[name, of, digits]| {
            let message = bytes(digits);
            let read = Request::read_message(&message, &RequestLimits::default());
            let (found, request) = read.unwrap_or_else(|error| panic!("{name}, {of}: {error}"));
            assert_eq!(found, format(of), "{name}");
            let again = request.to_message(found).unwrap();
            let read_again = Request::read_message(&again, &RequestLimits::default());
            assert_eq!(read_again, Ok((found, request.clone())), "{name}");
            format!("{name}: {}", described(&request))
        })
        .collect();
    let (binary, json) = found.split_at(found.len() / 2);
    (binary.to_vec(), json.to_vec())
}

#[test]
fn what_java_sends_is_the_request_that_its_user_made() {
    let (binary, json) = described_requests("java_requests.txt");
    assert_eq!(binary, REQUESTS_OF_JAVA);
    assert_eq!(json, binary);
}

const REQUESTS_OF_JAVA: &[&str] = &[
    r#"a traversal: g.V().has("person", "age", P.gt(30)).where(__.out("knows")).values("name") g=social 500 ms 10 a frame tokens"#,
    r#"values: g.inject(1, -2l, 3s, 4b, 0.5f, 1.5, "é", "x", true, null, UUID("41d2e28a-20a4-4ab0-b379-d810dede3786"), 12.50m, 12345678901234567890n, datetime("2024-02-29T12:30:15.5+01:00"), "PT5S") g=social"#,
    r#"a text: "g.V().has('age', gt(age))" gremlin-lang ["age", "names"] g=social 64 a frame"#,
    r#"in a session: g.addV("person") g=social in a9f6b1f4-1d8c-4f8f-8d0e-2c1f0f7f1a55"#,
    "commit: g.tx().commit() g=social in a9f6b1f4-1d8c-4f8f-8d0e-2c1f0f7f1a55",
    "close: close a9f6b1f4-1d8c-4f8f-8d0e-2c1f0f7f1a55",
    "a log-in: log-in |stephen|secret",
];

/// JavaScript's driver sends the number of `toLong` as an object in GraphBinary, and as a string in GraphSON.
#[test]
fn what_javascript_sends_is_the_request_that_its_user_made() {
    let (binary, json) = described_requests("javascript_requests.txt");
    let without_id = |text: &String| text.split(" 45000000-").next().unwrap_or_default().to_owned();
    assert_eq!(binary.iter().map(without_id).collect::<Vec<_>>(), REQUESTS_OF_JAVASCRIPT);
    let as_in_binary = |text: &String| without_id(text).replace(" 7l,", r#" ["value": "7"],"#);
    assert_eq!(json.iter().map(as_in_binary).collect::<Vec<_>>(), REQUESTS_OF_JAVASCRIPT);
}

const REQUESTS_OF_JAVASCRIPT: &[&str] = &[
    r#"a traversal: g.V().has("person", "age", P.gt(30)).where(__.out("knows")).values("name") g=social"#,
    "options: g.withStrategies(new OptionsStrategy(evaluationTimeout: 500, batchSize: 10)).V() g=social 500 ms 10 a frame",
    r#"values: g.inject(1, 1.5, "é", true, null, ["value": "7"], [1, "a"]) g=social"#,
    r#"steps: g.V().order().by("name", Order.desc).valueMap(true).select(T.id) g=social"#,
    r#"in a transaction: g.addV("person").discard() g=social in"#,
    "commit: g.tx().commit() g=social in",
    "commit: close",
    r#"a text: "g.V().has(\"age\", gt(age))" gremlin-groovy ["age"] g=social"#,
    r#"a text without variables: "g.V()" gremlin-groovy [] g=social 2 a frame"#,
    r#"a log-in: "g.V()" gremlin-groovy [] g=social"#,
    "a log-in: log-in |stephen|secret",
];

#[test]
fn what_java_answers_is_read() {
    let read = |[name, of, digits]: [String; 3]| {
        let response = Response::read(format(&of), &bytes(&digits));
        let response = response.unwrap_or_else(|error| panic!("{name}, {of}: {error}"));
        assert_eq!((response.id, response.status()), (Some(ID), Some(Status::Success)));
        (name, response.results)
    };
    let all: Vec<_> = records("java_responses.txt").into_iter().map(read).collect();
    let (binary, json) = all.split_at(all.len() / 2);
    for ((name, in_binary), (_, in_json)) in binary.iter().zip(json) {
        match name.as_str() {
            // In GraphBinary, ends of edges in a graph have no labels.
            "a graph" => assert_eq!(in_binary.len(), in_json.len()),
            name => assert_eq!(in_binary, in_json, "{name}"),
        }
    }
    let results = |name: &str| {
        let (_, results) = binary.iter().find(|(of, _)| of == name).expect("a record of this name");
        results.iter().map(|result| (result.value.clone(), result.bulk)).collect::<Vec<_>>()
    };
    assert_eq!(results("nothing"), []);
    let parse = |text: &str, name: &str| Value::parse(text, name.parse().unwrap()).unwrap();
    let numbers = [
        1_i32.into(),
        (-2_i64).into(),
        3_i16.into(),
        4_i8.into(),
        0.5_f32.into(),
        1.5.into(),
        parse("12.50", "decimal"),
        parse("12345678901234567890", "bigint"),
    ];
    assert_eq!(results("numbers"), numbers.map(|value| (ResultValue::from(value), 1)));
    let [(ResultValue::Vertex(marko), 1)] = &*results("elements") else { panic!("one vertex") };
    assert_eq!((&marko.id, &*marko.label), (&ResultValue::from(1_i32), "person"));
    let name = DetachedVertexProperty {
        id: 0_i64.into(),
        key: "name".into(),
        value: "marko".into(),
        properties: Vec::new(),
    };
    assert!(marko.properties.contains(&name), "{marko:?}");
    let [(ResultValue::Path(path), 1)] = &*results("a path") else { panic!("one path") };
    let labels: Vec<_> = path.iter().map(|step| step.labels.join("+")).collect();
    assert_eq!(labels, ["a", "b", ""]);
    assert_eq!(results("traversers").iter().map(|(_, bulk)| *bulk).collect::<Vec<_>>(), [3, 2]);
    let [(ResultValue::Graph(graph), 1)] = &*results("a graph") else { panic!("one graph") };
    assert_eq!((graph.vertices.len(), graph.edges.len(), graph.edges[0].properties.len()), (2, 1, 1));
}

#[test]
fn what_gremlinpython_sends_is_the_request_that_its_user_made() {
    let (binary, json) = described_requests("python_requests.txt");
    assert_eq!(binary, REQUESTS_OF_PYTHON);
    // The ids of sessions differ: they are counted on.
    let without_id = |text: &String| text.split(" 45000000-").next().unwrap_or_default().to_owned();
    let json: Vec<_> = json.iter().map(without_id).collect();
    assert_eq!(json, binary.iter().map(without_id).collect::<Vec<_>>());
}

const REQUESTS_OF_PYTHON: &[&str] = &[
    r#"a traversal: g.V().has("person", "age", P.gt(30)).out("knows").values("name") g=social"#,
    r#"options: g.withStrategies(new OptionsStrategy(evaluationTimeout: 500, batchSize: 10, materializeProperties: "tokens")).V() g=social 500 ms 10 a frame tokens"#,
    "strategies: g.withStrategies(new ReadOnlyStrategy()).V().count() g=social",
    r#"values: g.inject(1, -2l, 1.5, "é", true, null, UUID("00000000-0000-0000-0000-000000000007"), datetime("2024-02-29T12:30:15.5+01:00"), "PT5S", "x", [1, "a"], ["a": 1], 1180591620717411303424n) g=social"#,
    r#"steps: g.V().where(__.out().has("name", TextP.startingWith("a"))).order().by("name", Order.desc).property(Cardinality.list, "k", "v").valueMap(true).select(T.id) g=social"#,
    r#"an element: g.V(17).addE("knows").to(__.V(4)) g=social"#,
    r#"in a transaction: g.addV("person").discard() g=social in 45000000-0000-4000-8000-000000000007"#,
    "commit: g.tx().commit() g=social in 45000000-0000-4000-8000-000000000007",
    "commit: close 45000000-0000-4000-8000-000000000007",
    "in another transaction: g.V() g=social in 45000000-0000-4000-8000-00000000000b",
    "rollback: g.tx().rollback() g=social in 45000000-0000-4000-8000-00000000000b",
    "rollback: close 45000000-0000-4000-8000-00000000000b",
    r#"a text: "g.V().has('age', gt(age))" no language ["age", "names"] g=g"#,
    r#"options of a text: "g.V()" no language [] g=g 500 ms 2 a frame"#,
    r#"a log-in: "g.V()" no language [] g=g"#,
    "a log-in: log-in |stephen|secret",
    r#"a text in a session: "g.V()" no language [] g=g in a session"#,
    "the end of a session: close a session",
];

fn edge(source: u32, edge_type: u16, target: u32) -> Item {
    let (source, target) = (VertexId(source), VertexId(target));
    Item::Edge(EdgeId { source, edge_type: TypeId(edge_type), target, discriminator: 0 })
}

fn vertex(number: u32) -> Item {
    Item::Vertex(VertexId(number))
}

/// Results of every kind, by name.
fn samples() -> Vec<(&'static str, Vec<(Item, u64)>)> {
    let parse = |text: &str, name: &str| Item::Value(Value::parse(text, name.parse().unwrap()).unwrap());
    let once = |items: Vec<Item>| items.into_iter().map(|item| (item, 1)).collect();
    let property =
        |owner, key, value: Value| Item::Property(Arc::new(Property::new(owner, KeyId(key), value)));
    let known = Map::new(vec![("since".into(), 2024_i32.into())]).unwrap();
    let with_known = Property { known, ..Property::new(Owner::Vertex(VertexId(2)), KeyId(0), "bob".into()) };
    let mut map = ItemMap::new();
    map.insert(Item::Token(Token::Id), Item::from(17_i64));
    map.insert(Item::from("name"), Item::List(vec![Item::from("ann"), Item::Null].into()));
    map.insert(Item::Direction(Direction::Out), vertex(1));
    let label = |label: &str| Some(Arc::from(vec![Arc::from(label)]));
    let path = Path::new(vec![(vertex(1), label("a")), (edge(1, 1, 2), None), (Item::from(7), label("b"))]);
    let mut tree = Tree::default();
    tree.lay([vertex(1), vertex(2)]).unwrap();
    tree.lay([vertex(1), Item::from("x")]).unwrap();
    let mut graph = Subgraph::default();
    graph.add(EdgeId { source: VertexId(1), edge_type: TypeId(1), target: VertexId(2), discriminator: 0 });
    let stored =
        Map::new(vec![("a".into(), List::new(vec![1_i8.into(), true.into()]).unwrap().into())]).unwrap();
    vec![
        (
            "numbers",
            once(vec![
                Item::from(1_i8),
                Item::from(-2_i16),
                Item::from(3),
                Item::from(-4_i64),
                Item::from(0.5_f32),
                Item::from(f64::NEG_INFINITY),
                parse("123456789012345678901234567890", "bigint"),
                parse("-12.50", "decimal"),
            ]),
        ),
        (
            "texts",
            once(vec![
                Item::from("é \"\\\n"),
                Item::from('x'),
                Item::from(true),
                Item::Null,
                Item::from(&[0_u8, 255][..]),
                parse("00112233-4455-6677-8899-aabbccddeeff", "uuid"),
            ]),
        ),
        ("times", once(vec![parse("2024-02-29T12:30:15.5+01:00", "datetime"), parse("PT5.5S", "duration")])),
        ("a date", once(vec![parse("2024-02-29", "date")])),
        ("a period", once(vec![parse("P1Y2M3D", "duration")])),
        (
            "collections",
            once(vec![
                Item::List(vec![Item::from(1), Item::List(vec![].into())].into()),
                Item::Set(vec![Item::from("a"), Item::from("b")].into()),
                Item::Map(Arc::new(map)),
                Item::Entry(Arc::new((Item::from("key"), Item::from(1)))),
                Item::Value(Set::new(vec![2_i64.into(), 1_i64.into()]).unwrap().into()),
                Item::Value(stored.into()),
            ]),
        ),
        ("elements", once(vec![vertex(0), vertex(1), vertex(2), vertex(3), edge(1, 0, 2), edge(2, 1, 0)])),
        (
            "properties",
            once(vec![
                property(Owner::Vertex(VertexId(1)), 0, "ann".into()),
                Item::Property(Arc::new(with_known)),
                property(
                    Owner::Edge(EdgeId {
                        source: VertexId(1),
                        edge_type: TypeId(1),
                        target: VertexId(2),
                        discriminator: 0,
                    }),
                    1,
                    0.5.into(),
                ),
            ]),
        ),
        ("a path", once(vec![Item::Path(Arc::new(path))])),
        ("a tree", once(vec![Item::Tree(Arc::new(tree))])),
        ("a graph", once(vec![Item::Graph(Arc::new(graph))])),
        ("words", once(vec![Item::Token(Token::Label), Item::Direction(Direction::In)])),
        ("bulk", vec![(Item::from("a"), 3), (vertex(1), 2)]),
    ]
}

/// Frames of every kind of result and status, by name and format.
fn frames() -> Vec<(String, &'static str, Vec<u8>)> {
    let mut frames = Vec::new();
    for (format, format_name) in [(Format::GraphBinary, "graphbinary"), (Format::GraphSon, "graphson")] {
        let mut add = |name: &str, frame| frames.push((name.to_owned(), format_name, frame));
        for (name, items) in samples() {
            for (form, form_name) in [(ResultForm::Traverser, "traversers"), (ResultForm::Bare, "bare")] {
                let parts = MaterializeProperties::All;
                let mut encoder = FrameEncoder::new(format, ID, form, FrameLimits::default(), parts);
                for (item, bulk) in &items {
                    assert_eq!(encoder.push(item, *bulk, &Elements).unwrap(), 0);
                }
                let frame = encoder.finish(Status::Success, &Attributes::new());
                add(&format!("{name}, {form_name}"), frame);
            }
        }
        let tokens = MaterializeProperties::Tokens;
        let mut encoder = FrameEncoder::new(format, ID, ResultForm::Bare, FrameLimits::default(), tokens);
        for item in [vertex(2), edge(2, 1, 0)] {
            assert_eq!(encoder.push(&item, 1, &Elements).unwrap(), 0);
        }
        add("tokens of elements", encoder.finish(Status::PartialContent, &Attributes::new()));
        add("no content", encoder.finish(Status::NoContent, &Attributes::new()));
        let conflict = Attributes::new().with_kind(ErrorKind::Conflict);
        let text = Some("conflict: property `balance` of v7 was changed");
        add("a conflict", encode_response(format, Some(ID), Status::ServerErrorTemporary, text, &conflict));
        let place = LineColumn { line: 1, column: 7 };
        let wrong = Attributes::new().with_kind(ErrorKind::Invalid).with_place(place);
        let text = Some("line 1, column 7: no step is called `otu`; did you mean `out`?");
        add("a wrong query", encode_response(format, Some(ID), Status::ServerErrorEvaluation, text, &wrong));
        let none = Attributes::new();
        add("a challenge", encode_response(format, Some(ID), Status::Authenticate, None, &none));
    }
    frames
}

#[test]
fn frames_are_those_that_drivers_were_seen_to_read() {
    let frames = frames();
    let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    if env::var_os("EVERGRAPH_RECORD").is_some() {
        let mut text = "# Made by tests/messages/drivers.rs; see record_python.py.\n".to_owned();
        for (name, format, frame) in &frames {
            writeln!(text, "{name}\t{format}\t{}", hexadecimal(frame)).unwrap();
        }
        fs::write(folder().join("frames.txt"), text).unwrap();
    }
    let recorded = records("frames.txt");
    assert_eq!(recorded.len(), frames.len());
    for ((name, format_name, frame), [known, of, digits]) in frames.iter().zip(&recorded) {
        assert_eq!((name, *format_name), (known, of.as_str()));
        assert_eq!(&hexadecimal(frame), digits, "{name}, {of}: record again, and look at what drivers read");
        assert!(Response::read(format(of), frame).is_ok(), "{name}, {of}");
    }
    let names =
        |all: &[[String; 3]]| all.iter().map(|[name, of, _]| format!("{name}, {of}")).collect::<Vec<_>>();
    for (file, unknown) in [
        ("java_results.txt", &[][..]),
        ("javascript_results.txt", UNKNOWN_TO_JAVASCRIPT),
        ("python_results.txt", UNKNOWN_TO_PYTHON),
    ] {
        let mut read = records(file);
        assert_eq!(names(&read), names(&recorded), "{file} is older than frames.txt");
        read.retain(|[_, _, found]| found.starts_with("refused"));
        assert_eq!(names(&read), unknown, "{file}");
    }
}

/// What JavaScript's driver has no types for.
const UNKNOWN_TO_JAVASCRIPT: &[&str] = &[
    "numbers, traversers, graphbinary",
    "numbers, bare, graphbinary",
    "texts, traversers, graphbinary",
    "texts, bare, graphbinary",
    "times, traversers, graphbinary",
    "times, bare, graphbinary",
    "a date, traversers, graphbinary",
    "a date, bare, graphbinary",
    "a period, traversers, graphbinary",
    "a period, bare, graphbinary",
    "a tree, traversers, graphbinary",
    "a tree, bare, graphbinary",
    "a graph, traversers, graphbinary",
    "a graph, bare, graphbinary",
];

/// What gremlinpython has no types for.
const UNKNOWN_TO_PYTHON: &[&str] = &[
    "a date, traversers, graphbinary",
    "a date, bare, graphbinary",
    "a period, traversers, graphbinary",
    "a period, bare, graphbinary",
    "a tree, traversers, graphbinary",
    "a tree, bare, graphbinary",
    "a graph, traversers, graphbinary",
    "a graph, bare, graphbinary",
];
