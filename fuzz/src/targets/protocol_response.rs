//! Responses of Gremlin servers, in both formats: bytes are a response or an error with its byte.

use crate::target::{Memory, Target};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::value::Value;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::MaterializeProperties;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::frame::{FrameEncoder, FrameLimits, ResultForm, encode_response};
use evergraph_protocol::response::read::Response;
use evergraph_protocol::response::status::Status;
use evergraph_protocol::result::element_reader::{ElementReader, PropertyView};
use evergraph_query::value::item::{Item, Token};
use evergraph_query::value::path::Path;
use evergraph_query::value::subgraph::Subgraph;
use evergraph_query::value::tree::Tree;
use std::sync::Arc;
use uuid::Uuid;

/// The target. The first byte chooses the format. A null has two bytes and becomes a result.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 512 } };

/// Every vertex is a person with a name, every edge has a weight.
struct People;

impl ElementReader for People {
    fn vertex_label(&self, _: VertexId) -> Result<Option<Arc<str>>> {
        Ok(Some("person".into()))
    }

    fn edge_type_name(&self, _: TypeId) -> Arc<str> {
        "knows".into()
    }

    fn key_name(&self, key: KeyId) -> Arc<str> {
        if key.0 == 0 { "name".into() } else { "weight".into() }
    }

    fn vertex_properties(&self, _: VertexId, visit: &mut dyn FnMut(PropertyView<'_>)) -> Result<()> {
        visit(PropertyView { key: KeyId(0), value: &Value::from("ann"), nth: 0, properties: None });
        Ok(())
    }

    fn edge_properties(&self, _: EdgeId, visit: &mut dyn FnMut(PropertyView<'_>)) -> Result<()> {
        visit(PropertyView { key: KeyId(1), value: &Value::from(0.5), nth: 0, properties: None });
        Ok(())
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let vertex = || Item::Vertex(VertexId(1));
    let (source, target) = (VertexId(1), VertexId(2));
    let edge = EdgeId { source, edge_type: TypeId(0), target, discriminator: 0 };
    let mut graph = Subgraph::default();
    graph.add(edge);
    let mut tree = Tree::default();
    tree.lay([vertex(), Item::from("x")]).expect("two levels aren't deep");
    let path = Path::new(vec![(vertex(), Some(Arc::from(vec![Arc::from("a")]))), (Item::Edge(edge), None)]);
    let items = [
        Item::List(vec![Item::from(1), Item::Null, Item::from("é")].into()),
        Item::Set(vec![Item::from(1.5), Item::Token(Token::Id)].into()),
        Item::Entry(Arc::new((Item::from("k"), Item::from(true)))),
        Item::Path(Arc::new(path)),
        Item::Tree(Arc::new(tree)),
        Item::Graph(Arc::new(graph)),
    ];
    let id = Uuid::from_u128(7);
    let mut seeds = Vec::new();
    for (number, format) in Format::ALL.iter().enumerate() {
        let mut add = |mut frame: Vec<u8>| {
            frame.insert(0, number as u8);
            seeds.push(frame);
        };
        for form in [ResultForm::Traverser, ResultForm::Bare] {
            let properties = MaterializeProperties::All;
            let mut encoder = FrameEncoder::new(*format, id, form, FrameLimits::default(), properties);
            for item in &items {
                encoder.push(item, 2, &People).expect("a result that can be sent");
            }
            add(encoder.finish(Status::Success, &Attributes::new()));
        }
        let conflict = Error::conflict("conflict: run it again");
        let attributes = Attributes::new().with_kind(ErrorKind::Conflict).with_unknown_outcome();
        let text = conflict.to_string();
        let status = Status::of(conflict.kind());
        add(encode_response(*format, Some(id), status, Some(&text), &attributes));
    }
    seeds
}

fn promise(input: &[u8]) {
    let Some((choice, body)) = input.split_first() else { return };
    let format = Format::ALL[usize::from(*choice) % Format::ALL.len()];
    match Response::read(format, body) {
        Ok(response) => assert_eq!(response.clone(), response),
        Err(error) => assert!(error.offset <= body.len() && !error.reason.is_empty(), "{error}"),
    }
}
