//! World: one scenario, from the graph that is given to what is expected.

use crate::expected::{Known, entries, pairs};
use crate::gherkin::{Scenario, Step};
use crate::graphs::{Given, Graphs, Loaded};
use crate::mutants::mutants;
use crate::names::Names;
use crate::notation::{self, Notation};
use crate::outcome::Outcome;
use crate::parameter;
use crate::served_graph::Wanted;
use crate::services::services;
use crate::target::Target;
use evergraph::graph::transaction::Transaction as _;
use evergraph::graph::value::ValueType;
use evergraph::{Database, Error, GraphView};
use evergraph_query::error::TextError;
use evergraph_query::execute::limits::QueryLimits;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::value::item::Item;
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

/// Of what was expected, and of what was found instead, so much is told.
const SHOWN_BYTES_MAX: usize = 200;

/// What our compiler says of a step that it doesn't know, or not in this form.
const NOT_YET: &str = "isn't supported";

/// How scenarios are run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Where they run.
    pub target: Target,
    /// Of each query.
    pub timeout: Duration,
}

/// Why a scenario ends before its end.
enum End {
    Failed(String),
    NotImplemented(String),
    Unsupported,
}

impl End {
    fn failed(why: impl Into<String>) -> Self {
        Self::Failed(why.into())
    }

    fn of(error: &Error) -> Self {
        let text = said(error);
        if text.contains(NOT_YET) { Self::NotImplemented(text) } else { Self::Failed(text) }
    }
}

/// Runs a scenario.
#[must_use]
pub fn run(scenario: &Scenario, graphs: &Graphs, limits: Limits) -> Outcome {
    match World::new(graphs, limits).run(scenario) {
        Ok(()) => Outcome::Passed,
        Err(End::Failed(why)) => Outcome::Failed(one_line(&why)),
        Err(End::NotImplemented(what)) => Outcome::NotImplemented(one_line(&what)),
        Err(End::Unsupported) => Outcome::Unsupported,
    }
}

/// What an error says, without the text of the query: that may hold what it is to say.
fn said(error: &Error) -> String {
    let of_text = error.source().and_then(|source| source.downcast_ref::<TextError>());
    of_text.map_or_else(|| error.to_string(), ToString::to_string)
}

/// Says that animals, and vertices without a label of their own, have lists of names: what TinkerPop's own graph takes for granted
/// needs a schema here.
fn declare_names(database: &Database) -> Result<(), Error> {
    database.transact(|transaction| {
        let writer = transaction.by_id();
        let key = writer.key("name")?;
        for label in ["animal", "vertex"] {
            let label = writer.label(label)?;
            writer.declare_vertex_property(label, key, ValueType::List)?;
        }
        Ok(())
    })
}

/// Says that names, places and weights of people and of vertices without a label of their own have properties.
fn declare_meta_properties(database: &Database) -> Result<(), Error> {
    database.transact(|transaction| {
        for label in ["person", "vertex"] {
            for key in ["name", "location", "friendWeight"] {
                transaction.declare_meta_properties(label, key)?;
            }
        }
        Ok(())
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The results of a traversal.
enum Found {
    /// All of them.
    List(Vec<Item>),
    /// The first.
    Next(Item),
}

struct World<'g> {
    graphs: &'g Graphs,
    limits: Limits,
    given: Given,
    initializers: Vec<&'g str>,
    /// Whether the scenario takes it that a vertex of the empty graph may have several names.
    several_names: bool,
    /// Whether it takes it that properties have properties.
    meta_properties: bool,
    /// Names and notations.
    parameters: Vec<(String, Notation)>,
    side_effects: Vec<(String, Notation)>,
    traversal: Option<&'g str>,
    /// The graph, once the traversal is about to run.
    loaded: Option<Loaded>,
    /// Whether nobody else has that graph.
    is_own: bool,
    outcome: Option<Result<Found, Error>>,
}

impl<'g> World<'g> {
    fn new(graphs: &'g Graphs, limits: Limits) -> Self {
        Self {
            graphs,
            limits,
            given: Given::Empty,
            initializers: Vec::new(),
            several_names: false,
            meta_properties: false,
            parameters: Vec::new(),
            side_effects: Vec::new(),
            traversal: None,
            loaded: None,
            is_own: false,
            outcome: None,
        }
    }

    fn run(mut self, scenario: &'g Scenario) -> Result<(), End> {
        let has_tag = |wanted: &str| scenario.tags.iter().any(|tag| tag == wanted);
        (self.several_names, self.meta_properties) = (has_tag("MultiProperties"), has_tag("MetaProperties"));
        let mut is_checked = false;
        for step in &scenario.steps {
            is_checked |= self.step(step)?;
        }
        if is_checked { Ok(()) } else { Err(End::failed("the scenario expects nothing")) }
    }

    /// Does what a step says; whether it was an expectation.
    fn step(&mut self, step: &'g Step) -> Result<bool, End> {
        let text = step.text.as_str();
        let document = || step.document.as_deref().ok_or_else(|| End::failed(format!("no text: {text}")));
        if text == "an unsupported test" {
            return Err(End::Unsupported);
        } else if let Some(name) = text.strip_prefix("the ").and_then(|text| text.strip_suffix(" graph")) {
            self.given =
                Given::from_name(name).ok_or_else(|| End::failed(format!("no such graph: {name}")))?;
        } else if text == "the graph initializer of" {
            self.initializers.push(document()?);
        } else if let Some(definition) = text.strip_prefix("using the parameter ") {
            self.parameters.push(defined(definition)?);
        } else if let Some(definition) = text.strip_prefix("using the side effect ") {
            self.side_effects.push(defined(definition)?);
        } else if text == "the traversal of" {
            self.traversal = Some(document()?);
        } else if text == "iterated to list" || text == "iterated next" {
            self.iterate(if text == "iterated next" { Wanted::First } else { Wanted::All })?;
        } else {
            self.expect(step)?;
            self.expect_no_mutant_of(step)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn iterate(&mut self, wanted: Wanted) -> Result<(), End> {
        let text = self.traversal.ok_or_else(|| End::failed("no traversal is given"))?;
        let mut loaded = self.graphs.shared(self.given);
        let known = known_of(&loaded, false)?;
        if !self.initializers.is_empty() || self.writes(&loaded.database, text, &known)? {
            loaded = self.graphs.fresh(self.given).map_err(|error| End::of(&error))?;
            self.is_own = true;
            if self.several_names && matches!(self.given, Given::Empty) {
                declare_names(&loaded.database).map_err(|error| End::of(&error))?;
            }
            if self.meta_properties && matches!(self.given, Given::Empty) {
                declare_meta_properties(&loaded.database).map_err(|error| End::of(&error))?;
            }
            for initializer in &self.initializers {
                let bindings = self.bindings_so_far(&known);
                let done = self.execute(&loaded, initializer, bindings, Wanted::All);
                done.map_err(|error| End::of(&error))?;
            }
            let names = Names::of(&loaded.database.snapshot()).map_err(|error| End::of(&error))?;
            loaded.names = Arc::new(names);
        }
        let bindings = self.bindings(&known_of(&loaded, self.is_own)?)?;
        let outcome = self.execute(&loaded, &self.with_side_effects(text), bindings, wanted);
        self.loaded = Some(loaded);
        match outcome {
            Err(error) if said(&error).contains(NOT_YET) => Err(End::of(&error)),
            outcome => {
                self.outcome = Some(outcome);
                Ok(())
            }
        }
    }

    /// Whether the traversal writes; not if it can't even be planned.
    fn writes(&self, database: &Database, text: &str, known: &Known) -> Result<bool, End> {
        let text = self.with_side_effects(text);
        let plan = database.gremlin(&text).bindings(self.bindings(known)?).plan();
        Ok(plan.is_ok_and(|plan| plan.writes))
    }

    fn bindings(&self, known: &Known) -> Result<Bindings, End> {
        let mut bindings = Bindings::new();
        let named = self.side_effects.iter().map(|(name, value)| (side_effect_variable(name), value));
        for (name, value) in self.parameters.iter().map(|(name, value)| (name.clone(), value)).chain(named) {
            bindings.bind_argument(name, parameter::argument(value, known).map_err(End::Failed)?);
        }
        Ok(bindings)
    }

    /// The parameters that don't need elements which the initializers only make.
    fn bindings_so_far(&self, known: &Known) -> Bindings {
        let mut bindings = Bindings::new();
        for (name, value) in &self.parameters {
            if let Ok(argument) = parameter::argument(value, known) {
                bindings.bind_argument(name.as_str(), argument);
            }
        }
        bindings
    }

    /// The traversal with `withSideEffect` behind its `g`.
    fn with_side_effects(&self, text: &str) -> String {
        let mut start = "g".to_owned();
        for (name, _) in &self.side_effects {
            start += &format!(".withSideEffect(\"{name}\", {})", side_effect_variable(name));
        }
        let text = text.trim_start();
        text.strip_prefix('g').map_or_else(|| text.to_owned(), |rest| start + rest)
    }

    /// The results that the scenario asks for: all, or no more than the first.
    fn execute(
        &self,
        loaded: &Loaded,
        text: &str,
        bindings: Bindings,
        wanted: Wanted,
    ) -> Result<Found, Error> {
        let text = self.graphs.with_files(text);
        let timeout = self.limits.timeout;
        let mut items = match self.limits.target {
            Target::Server(form) => {
                let asked = (form, text.as_str(), bindings);
                loaded.served()?.run(&loaded.database, asked, wanted, timeout)?
            }
            Target::Embedded { batch_rows } => {
                let limits = QueryLimits {
                    threads: usize::MAX,
                    batch_rows,
                    timeout,
                    memory_bytes: 256 << 20,
                    ..QueryLimits::default()
                };
                let query = loaded.database.gremlin(&text).bindings(bindings).limits(limits);
                let query = query.services(&services()).files(true);
                match wanted {
                    Wanted::All => query.items()?,
                    Wanted::First => query.first()?.into_iter().collect(),
                }
            }
        };
        match wanted {
            Wanted::All => Ok(Found::List(items)),
            Wanted::First if items.is_empty() => Err(Error::invalid("there is no next result")),
            Wanted::First => Ok(Found::Next(items.swap_remove(0))),
        }
    }

    /// Demands that no wrong form of an expectation is met, once the right one is.
    fn expect_no_mutant_of(&self, step: &Step) -> Result<(), End> {
        for (how, mutant) in mutants(step) {
            if !matches!(self.expect(&mutant), Err(End::Failed(_))) {
                let why = format!("a wrong expectation is met, too: {how}: {}", step.text);
                return Err(End::Failed(why));
            }
        }
        Ok(())
    }

    fn expect(&self, step: &Step) -> Result<(), End> {
        let text = step.text.as_str();
        let (Some(loaded), Some(outcome)) = (&self.loaded, &self.outcome) else {
            return Err(End::failed(format!("nothing was run before: {text}")));
        };
        if let Some(kind) = text.strip_prefix("the traversal will raise an error") {
            return match outcome {
                Ok(_) => Err(End::failed("an error was expected, and there was none")),
                Err(error) => is_raised(kind.trim(), &said(error)),
            };
        }
        let found = outcome.as_ref().map_err(End::of)?;
        let known = known_of(loaded, self.is_own)?;
        if let Some(rest) = text.strip_prefix("the graph should return ") {
            return self.is_in_graph(rest, loaded, &known);
        } else if let Some(count) = text.strip_prefix("the result should have a count of ") {
            let count: usize = count.parse().map_err(|_| End::failed(format!("no count: {text}")))?;
            let rows = found.counted();
            let why = || End::failed(format!("{count} results were expected, and there are {rows}"));
            return if rows == count { Ok(()) } else { Err(why()) };
        } else if text == "the result should be empty" {
            return if found.rows().is_empty() { Ok(()) } else { Err(wrong("nothing", found, &known)) };
        } else if text == "the result should be a tree with a structure of" {
            let lines = step.document.as_deref().unwrap_or_default();
            let Some(Item::Tree(tree)) = found.only() else { return Err(wrong("a tree", found, &known)) };
            let is_tree = known.is_tree(lines, tree).map_err(End::Failed)?;
            return if is_tree { Ok(()) } else { Err(wrong("another tree", found, &known)) };
        }
        if text == "the result should be a subgraph with the following" {
            return is_subgraph(&step.table, found, &known);
        }
        let order = text.strip_prefix("the result should be ").and_then(|order| match order {
            "ordered" => Some(Order::Ordered),
            "unordered" => Some(Order::Unordered),
            "of" => Some(Order::Of),
            _ => None,
        });
        let order = order.ok_or_else(|| End::failed(format!("unknown expectation: {text}")))?;
        is_table(&step.table, order, found, &known)
    }

    /// Whether the graph is now as `N for count of "g.V()"` says.
    fn is_in_graph(&self, rest: &str, loaded: &Loaded, known: &Known) -> Result<(), End> {
        let parts = rest.split_once(" for count of ");
        let parts = parts.and_then(|(count, text)| Some((count.parse::<usize>().ok()?, unquoted(text)?)));
        let (count, text) = parts.ok_or_else(|| End::failed(format!("unknown expectation: {rest}")))?;
        let found = self.execute(loaded, &text, self.bindings(known)?, Wanted::All);
        let found = found.map_err(|error| End::of(&error))?;
        let rows = found.counted();
        if rows == count {
            Ok(())
        } else {
            Err(End::failed(format!("{text} gives {rows} results, not {count}")))
        }
    }
}

/// The names before the traversal, then those of now if it may have changed them.
fn known_of(loaded: &Loaded, may_differ: bool) -> Result<Known, End> {
    let snapshot = loaded.database.snapshot();
    let before = Arc::clone(&loaded.names);
    let now = if may_differ {
        Arc::new(Names::of(&snapshot).map_err(|error| End::of(&error))?)
    } else {
        Arc::clone(&before)
    };
    Ok(Known { names: [before, now], catalogue: snapshot.catalogue() })
}

impl Found {
    /// The rows that a table is compared with: those of the one result, if that is a collection.
    fn rows(&self) -> Vec<Item> {
        match self {
            Self::List(items) => items.clone(),
            Self::Next(item) => item.elements().unwrap_or_else(|| match entries(item) {
                Some(entries) => entries.into_iter().map(|entry| Item::Entry(Arc::new(entry))).collect(),
                None => vec![item.clone()],
            }),
        }
    }

    /// How many rows there are.
    fn counted(&self) -> usize {
        match self {
            Self::List(items) => items.len(),
            Self::Next(_) => self.rows().len(),
        }
    }

    /// The one result.
    fn only(&self) -> Option<&Item> {
        match self {
            Self::List(items) => match items.as_slice() {
                [only] => Some(only),
                _ => None,
            },
            Self::Next(item) => Some(item),
        }
    }
}

#[derive(Clone, Copy)]
enum Order {
    Ordered,
    Unordered,
    /// Each result is one of the table's, any number of times.
    Of,
}

/// Whether the one result is a graph whose edges, or vertices, are those of `table`.
fn is_subgraph(table: &[Vec<String>], found: &Found, known: &Known) -> Result<(), End> {
    let Some(Item::Graph(graph)) = found.only() else { return Err(wrong("a graph", found, known)) };
    let (what, rows) = match table.split_first() {
        Some((heading, rows)) => (heading.concat(), rows),
        None => return Err(End::failed("there is no table")),
    };
    let inside: Vec<Item> = match what.as_str() {
        "edges" => graph.edges().map(Item::Edge).collect(),
        "vertices" => graph.vertices().map(Item::Vertex).collect(),
        other => return Err(End::failed(format!("a graph has no {other}"))),
    };
    let expected = rows.iter().map(|row| notation::parse(&row.concat()).map_err(End::Failed));
    let expected = expected.collect::<Result<Vec<_>, _>>()?;
    if pairs(&expected, &inside, |left, right| known.is_row(left, right)) {
        return Ok(());
    }
    Err(wrong(&rows.concat().join(" "), found, known))
}

/// Whether the rows of `table` below its heading are what was found.
fn is_table(table: &[Vec<String>], order: Order, found: &Found, known: &Known) -> Result<(), End> {
    let cell = |row: &Vec<String>| match row.as_slice() {
        [only] => notation::parse(only).map_err(End::Failed),
        _ => Err(End::failed("a table of results has one column")),
    };
    let Some((_, rows)) = table.split_first() else { return Err(End::failed("there is no table")) };
    let expected = rows.iter().map(cell).collect::<Result<Vec<_>, _>>()?;
    let rows = found.rows();
    let is = |left: &Notation, right: &Item| known.is_row(left, right);
    let matches = match order {
        Order::Ordered => {
            expected.len() == rows.len() && expected.iter().zip(&rows).all(|(left, right)| is(left, right))
        }
        Order::Unordered => pairs(&expected, &rows, is),
        Order::Of => rows.iter().all(|right| expected.iter().any(|left| is(left, right))),
    };
    if matches {
        return Ok(());
    }
    let mut texts: Vec<&str> = table[1..].iter().flatten().map(String::as_str).collect();
    if !matches!(order, Order::Ordered) {
        texts.sort_unstable();
        return Err(wrong_unordered(&texts, found, known));
    }
    Err(wrong(&counted(&texts), found, known))
}

/// What was expected and what was found, in the order that it came in.
fn wrong(expected: &str, found: &Found, known: &Known) -> End {
    let shown: Vec<String> = found.rows().iter().map(|item| known.show(item)).collect();
    End::failed(format!("expected {}, found {}", cut(expected), cut(&counted(&shown))))
}

/// The same, sorted: an order that nobody asked for may be another one the next time.
fn wrong_unordered(expected: &[&str], found: &Found, known: &Known) -> End {
    let mut shown: Vec<String> = found.rows().iter().map(|item| known.show(item)).collect();
    shown.sort_unstable();
    End::failed(format!("expected {}, found {}", cut(&counted(expected)), cut(&counted(&shown))))
}

fn counted(rows: &[impl AsRef<str>]) -> String {
    let rows: Vec<&str> = rows.iter().map(AsRef::as_ref).collect();
    if rows.is_empty() { "nothing".to_owned() } else { format!("{} ({})", rows.join(" "), rows.len()) }
}

fn cut(text: &str) -> String {
    if text.len() <= SHOWN_BYTES_MAX {
        return text.to_owned();
    }
    let end = (0..=SHOWN_BYTES_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{} ...", &text[..end])
}

/// Whether `error` is what `with message containing text of "..."` says; any error, if nothing is said.
fn is_raised(kind: &str, error: &str) -> Result<(), End> {
    if kind.is_empty() {
        return Ok(());
    }
    let parts = kind.strip_prefix("with message ").and_then(|kind| kind.split_once(" text of "));
    let parts = parts.and_then(|(how, text)| Some((how, unquoted(text)?)));
    let (how, text) = parts.ok_or_else(|| End::failed(format!("unknown expectation: {kind}")))?;
    let (small, wanted) = (error.to_lowercase(), text.to_lowercase());
    let is_so = match how {
        "containing" => small.contains(&wanted),
        "starting" => small.starts_with(&wanted),
        "ending" => small.ends_with(&wanted),
        _ => return Err(End::failed(format!("unknown expectation: {kind}"))),
    };
    if is_so {
        Ok(())
    } else {
        Err(End::failed(format!("the error should say `{text}`, and says `{error}`")))
    }
}

/// The name and the value of `x defined as "d[1].i"`.
fn defined(definition: &str) -> Result<(String, Notation), End> {
    let parts = definition.split_once(" defined as ");
    let parts = parts.and_then(|(name, text)| Some((name.to_owned(), unquoted(text)?)));
    let (name, text) = parts.ok_or_else(|| End::failed(format!("no definition: {definition}")))?;
    Ok((name, notation::parse(&text).map_err(End::Failed)?))
}

/// What stands between quotes, in which `\"` is a quote.
fn unquoted(text: &str) -> Option<String> {
    let inside = text.trim().strip_prefix('"')?.strip_suffix('"')?;
    Some(inside.replace("\\\"", "\""))
}

/// The variable that has the value of a side effect.
fn side_effect_variable(name: &str) -> String {
    format!("side_effect_{name}")
}
