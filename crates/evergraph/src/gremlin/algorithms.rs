//! Algorithms by name in queries: `g.call('leiden', [resolution: 2.0])`, each of the table.
//!
//! ```text
//! call('leiden').with('labels', 'Person').with('weight', 'hours')
//!      parameters by name ──> Arguments ─┐
//!      labels, types ──> Scope ──────────┴─> that part of the graph, copied ──> a map for each row
//! ```
//!
//! They run on the graph as the query reads it, its own writes included. A service of the application with the name of an
//! algorithm is called in its place.

use evergraph_algorithms::control::Control;
use evergraph_algorithms::scope::Scope;
use evergraph_analysis::algorithm::Algorithm;
use evergraph_analysis::answer::Answer;
use evergraph_analysis::arguments::{Argument, Arguments, unknown as unknown_parameter};
use evergraph_analysis::column::{Column, ColumnKind, ColumnValues};
use evergraph_analysis::input::{Caller, Input};
use evergraph_analysis::parameter::{Kind as ParameterKind, direction_name};
use evergraph_analysis::table::ALGORITHMS;
use evergraph_graph::budget::Unlimited;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::nearest::did_you_mean;
use evergraph_graph::view::GraphView;
use evergraph_query::service::{Kind, Limits, Request, Service, Services};
use evergraph_query::value::item::Item;
use evergraph_query::value::map::ItemMap;
use std::sync::{Arc, LazyLock};

/// What a row of an answer takes besides its columns: a map on the heap, and its place in the list of results.
const ROW_BYTES: u64 = 192;

/// What a column of a row takes: its name, which is a text of its own, and its value, in a list with room to grow.
const COLUMN_BYTES: u64 = 128;

/// Rows that are made between two looks at the clock.
const ROWS_AT_ONCE: usize = 4096;

/// The parameters that all of them have besides their own.
const SCOPE: [(&str, &str); 2] =
    [("labels", "Vertices of these labels only."), ("types", "Edges of these types only.")];

static SERVICES: LazyLock<Services> = LazyLock::new(|| {
    ALGORITHMS.into_iter().fold(Services::default(), |services, algorithm| {
        services.with_built_in(algorithm.name, ByName::new(algorithm))
    })
});

/// All algorithms of the table as services.
pub fn services() -> &'static Services {
    &SERVICES
}

/// An algorithm as a service.
struct ByName {
    algorithm: &'static Algorithm,
    parameters: Vec<(&'static str, &'static str)>,
}

impl ByName {
    fn new(algorithm: &'static Algorithm) -> Self {
        let own = algorithm.parameters.iter().map(|parameter| (parameter.name, parameter.summary));
        Self { algorithm, parameters: own.chain(SCOPE).collect() }
    }

    fn run(&self, graph: &dyn GraphView, request: &Request, control: &Control<'_>) -> Result<Answer> {
        let catalogue = graph.catalogue();
        let (mut scope, mut given) = (Scope::default(), Vec::new());
        for (name, value) in request.parameters.entries() {
            let name = name.as_str().ok_or_else(|| Error::invalid("the name of a parameter is a text"))?;
            match name {
                "labels" => scope.labels = Some(named(value, name, |one| label(&catalogue, one))?),
                "types" => scope.types = Some(named(value, name, |one| edge_type(&catalogue, one))?),
                _ => {
                    let own = self.algorithm.parameters.iter().find(|parameter| parameter.name == name);
                    let known = || self.parameters.iter().map(|(name, _)| *name);
                    let own = own.ok_or_else(|| unknown_parameter(name, known()))?;
                    given.push((name, argument(name, own.kind, value)?));
                }
            }
        }
        let arguments = Arguments::new(self.algorithm.parameters, given)?;
        let caller = QueryCaller { catalogue: &catalogue };
        self.algorithm.run(&Input::of_view(graph, &scope, &caller), &arguments, control)
    }
}

impl Service for ByName {
    fn summary(&self) -> &str {
        self.algorithm.summary
    }

    fn kinds(&self) -> &[Kind] {
        &[Kind::Start]
    }

    fn parameters(&self) -> &[(&str, &str)] {
        &self.parameters
    }

    fn call(&self, graph: &dyn GraphView, requests: &[Request], found: &mut Vec<(u32, Item)>) -> Result<()> {
        let limits = Limits { cancel: CancelFlag::default(), budget: &Unlimited };
        self.call_within(graph, requests, &limits, found)
    }

    fn call_within(
        &self,
        graph: &dyn GraphView,
        requests: &[Request],
        limits: &Limits<'_>,
        found: &mut Vec<(u32, Item)>,
    ) -> Result<()> {
        let control = Control::new(limits.budget).with_cancel(&limits.cancel);
        let mut held = Vec::with_capacity(requests.len());
        for (row, request) in (0..).zip(requests) {
            let answer = self.run(graph, request, &control)?;
            let row_bytes = ROW_BYTES + self.algorithm.columns.len() as u64 * COLUMN_BYTES;
            held.push(limits.budget.reserve("an answer", answer.vertices.len() as u64 * row_bytes)?);
            for (at, item) in rows(self.algorithm, &answer).enumerate() {
                if at % ROWS_AT_ONCE == 0 {
                    control.check()?;
                }
                found.push((row, item));
            }
        }
        Ok(())
    }
}

/// How a query names properties.
struct QueryCaller<'a> {
    catalogue: &'a Catalogue,
}

impl Caller for QueryCaller<'_> {
    fn key(&self, name: &str) -> Result<KeyId> {
        let known = || self.catalogue.keys().map(|(_, name)| name.as_ref());
        self.catalogue.key(name).ok_or_else(|| unknown("property", name, known()))
    }
}

fn label(catalogue: &Catalogue, name: &str) -> Result<LabelId> {
    let known = || catalogue.labels().map(|(_, name)| name.as_ref());
    catalogue.label(name).ok_or_else(|| unknown("label", name, known()))
}

fn edge_type(catalogue: &Catalogue, name: &str) -> Result<TypeId> {
    let known = || catalogue.edge_types().map(|(_, definition)| definition.name.as_ref());
    catalogue.edge_type(name).ok_or_else(|| unknown("edge type", name, known()))
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let hint = did_you_mean(name, known);
    Error::new(ErrorKind::NotFound, format!("{what} {name:?} isn't in the graph{hint}"))
}

/// The labels or types that `value` names: one, or a list.
fn named<T>(value: &Item, parameter: &str, find: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
    let one = |item: &Item| {
        find(item.as_str().ok_or_else(|| wrong(parameter, "a text, or a list of texts", item))?)
    };
    match value {
        Item::List(items) | Item::Set(items) => items.iter().map(one).collect(),
        item => Ok(vec![one(item)?]),
    }
}

fn wrong(name: &str, wanted: &str, item: &Item) -> Error {
    Error::invalid(format!("{name} is {}, and must be {wanted}", item.kind()))
}

/// What `item` says of the parameter `name`.
fn argument(name: &str, kind: ParameterKind, item: &Item) -> Result<Argument> {
    let missing = |wanted: &str| wrong(name, wanted, item);
    let value = item.as_value();
    Ok(match kind {
        _ if matches!(item, Item::Null) => Argument::Nothing,
        ParameterKind::Boolean => Argument::Boolean(item.as_bool().ok_or_else(|| missing("true or false"))?),
        ParameterKind::Whole(range) => {
            let number = value.and_then(|value| value.as_i64()).ok_or_else(|| missing("a whole number"))?;
            Argument::Whole(range.check(name, i128::from(number))?)
        }
        ParameterKind::Real(_) => {
            let number = value.and_then(|value| value.as_f64());
            Argument::Real(number.ok_or_else(|| missing("a number"))?)
        }
        ParameterKind::Direction(_) => {
            let all = [Direction::Out, Direction::In, Direction::Both];
            let said = item.as_str().map(str::to_lowercase);
            let named = all.into_iter().find(|one| said.as_deref() == Some(direction_name(*one)));
            let found = if let Item::Direction(direction) = item { Some(*direction) } else { named };
            Argument::Direction(found.ok_or_else(|| missing("out, in or both"))?)
        }
        ParameterKind::Vertex => Argument::Vertex(vertex(name, item)?),
        ParameterKind::Vertices => match item {
            Item::List(items) | Item::Set(items) => {
                Argument::Vertices(items.iter().map(|item| vertex(name, item)).collect::<Result<_>>()?)
            }
            item => Argument::Vertex(vertex(name, item)?),
        },
        ParameterKind::EdgeProperty => {
            let property = item.as_str().ok_or_else(|| missing("the name of an edge property"))?;
            Argument::Property(property.to_owned())
        }
    })
}

/// A vertex, or its number.
fn vertex(name: &str, item: &Item) -> Result<VertexId> {
    let number = || item.as_value().and_then(|value| value.as_i64()).and_then(|id| u32::try_from(id).ok());
    let found = item.as_vertex().or_else(|| number().map(VertexId));
    found.ok_or_else(|| wrong(name, "a vertex or the id of one", item))
}

/// A map for each row of `answer`, with the names of the columns.
fn rows<'a>(algorithm: &'static Algorithm, answer: &'a Answer) -> impl Iterator<Item = Item> + 'a {
    answer.vertices.iter().enumerate().map(|(row, vertex)| {
        let mut columns = answer.columns.iter();
        let entry = |name: &'static str, item: Item| (Item::from(name), item);
        let entries = algorithm.columns.iter().map(|column| match column.kind {
            ColumnKind::Vertex => entry(column.name, Item::Vertex(*vertex)),
            _ => entry(column.name, columns.next().map_or(Item::Null, |values| value(values, row))),
        });
        Item::Map(Arc::new(entries.collect::<ItemMap>()))
    })
}

fn value(column: &Column, row: usize) -> Item {
    if !column.is_known(row) {
        return Item::Null;
    }
    match &column.values {
        ColumnValues::U32(values) => Item::from(i64::from(values[row])),
        ColumnValues::U64(values) => Item::from(i64::try_from(values[row]).unwrap_or(i64::MAX)),
        ColumnValues::F64(values) => Item::from(values[row]),
    }
}
