//! Descriptions: an operator as a line that reads like the traversal it came from.

use crate::plan::function::{Function, MapShape, Pop, Selected};
use crate::plan::merge::{MergeSubject, NewProperty};
use crate::plan::operator::{
    By, Chooser, EdgeEnd, Expand, ExpandTo, Group, GroupValue, Operator, Plan, Reducer, RepeatCondition,
    Scan, Sorting, Test,
};
use crate::plan::predicate::{Operand, Predicate, TextTest};
use crate::plan::scalar::Scalar;
use crate::value::item::{Item, Token};
use evergraph_graph::id::Direction;
use std::fmt::Display;

/// Longer items are cut in a description.
const ITEM_CHARS: usize = 40;

impl Operator {
    /// What it does, in one line; what the traversals within it do isn't in it: see [`Operator::parts`].
    #[must_use]
    pub fn describe(&self, plan: &Plan) -> String {
        let names = Names(plan);
        match self {
            Self::Vertices(scan) => format!("V({}){}", scanned(scan), names.tests(&scan.tests)),
            Self::Edges(scan) => format!("E({}){}", scanned(scan), names.tests(&scan.tests)),
            Self::Inject { items, .. } => format!("inject({})", list(items.iter().map(item))),
            Self::Expand(expand) => expanded(expand),
            Self::Bulk => "rows at one vertex become one".to_owned(),
            Self::EdgeEnds(end) => {
                let name = match end {
                    EdgeEnd::Source => "outV",
                    EdgeEnd::Target => "inV",
                    EdgeEnd::Both => "bothV",
                    EdgeEnd::Other(_) => "otherV",
                };
                format!("{name}()")
            }
            Self::Properties { keys, values } => {
                format!("{}({})", if *values { "values" } else { "properties" }, list(keys))
            }
            Self::Unfold => "unfold()".to_owned(),
            Self::Map(function) => names.function(function),
            Self::Filter(tests) => format!("filter{}", names.tests(tests)),
            Self::Where { gives, .. } => if *gives { "where(...)" } else { "not(...)" }.to_owned(),
            Self::WhereBy { left, predicate, .. } => {
                let left = left.map_or_else(|| "it".to_owned(), |slot| names.slot(slot));
                format!("where({left} {})", names.predicate(predicate))
            }
            Self::Any(_) => "or(...)".to_owned(),
            Self::SimplePath { simple, .. } => {
                if *simple { "simplePath()" } else { "cyclicPath()" }.to_owned()
            }
            Self::As(slot) => format!("as({})", names.slot(*slot)),
            Self::Range { skip: 0, limit } => format!("limit({limit})"),
            Self::Range { skip, limit: u64::MAX } => format!("skip({skip})"),
            Self::Range { skip, limit } => format!("range({skip}, {})", skip.saturating_add(*limit)),
            Self::Tail(count) => format!("tail({count})"),
            Self::TimeLimit(milliseconds) => format!("timeLimit({milliseconds})"),
            Self::Coin(probability) => format!("coin({probability})"),
            Self::Sample { count, .. } => format!("sample({count})"),
            Self::Fail(message) => format!("fail({message})"),
            Self::Dedup { slots, by } => {
                let of = list(slots.iter().map(|slot| names.slot(*slot)));
                format!("dedup({of}){}", names.bys(by))
            }
            Self::Reduce(reducer) => reduced(reducer).to_owned(),
            Self::Order(by) => format!("order by {}", names.sorted(by)),
            Self::Top(by, keep) => format!("the first {keep} by {}", names.sorted(by)),
            Self::Group(Group { key, value, into }) => {
                let value = match value {
                    GroupValue::List(by) => format!("list of {}", names.by(by)),
                    GroupValue::Count => "count".to_owned(),
                    GroupValue::Traversal(_) => "...".to_owned(),
                };
                format!("group by {}: {value}{}", names.by(key), names.aside(*into))
            }
            Self::Tree { into, by } => format!("tree(){}{}", names.bys(by), names.aside(*into)),
            Self::Aggregate { into, by } => {
                format!("aggregate({}) of {}", names.side_effect(*into), names.by(by))
            }
            Self::Cap(of) => format!("cap({})", list(of.iter().map(|number| names.side_effect(*number)))),
            Self::Union(_) => "union(...)".to_owned(),
            Self::Coalesce(_) => "coalesce(...)".to_owned(),
            Self::Optional(_) => "optional(...)".to_owned(),
            Self::Choose(choose) => match &choose.on {
                Chooser::Exists(_) => "choose(...)".to_owned(),
                Chooser::By(by) => format!("choose({})", names.by(by)),
            },
            Self::Travel(_) => "on every node, each with its own vertices".to_owned(),
            Self::Exchange => "rows go to the nodes of their elements".to_owned(),
            Self::Parallel(_) => "on several threads if there are many rows".to_owned(),
            Self::Local(_) => "local(...)".to_owned(),
            Self::Child { all, .. } => if *all { "flatMap(...)" } else { "map(...)" }.to_owned(),
            Self::SideEffect(_) => "sideEffect(...)".to_owned(),
            Self::Repeat(repeat) => {
                let asked = |ask: &Option<(RepeatCondition, bool)>, name: &str| match ask {
                    None => String::new(),
                    Some((RepeatCondition::Yes, _)) => format!(", {name}"),
                    Some((RepeatCondition::Times(times), _)) => format!(", {times} times"),
                    Some((RepeatCondition::Exists(_), _)) => format!(", {name} ..."),
                };
                format!("repeat(...){}{}", asked(&repeat.until, "until"), asked(&repeat.emit, "emit"))
            }
            Self::AddVertex { label, properties } => {
                format!("addV({}){}", names.by(label), names.written(properties))
            }
            Self::AddEdge { edge_type, from, to, properties } => {
                let [edge_type, from, to] = [edge_type, from, to].map(|by| names.by(by));
                format!("addE({edge_type}) from {from} to {to}{}", names.written(properties))
            }
            Self::SetProperties(properties) => format!("set{}", names.written(properties)),
            Self::Drop => "drop()".to_owned(),
            Self::Io(io) => format!("io({}).{}()", io.path, if io.to_file { "write" } else { "read" }),
            Self::Merge(merge) => match merge.kind {
                MergeSubject::Vertices => "mergeV()".to_owned(),
                MergeSubject::Edges => "mergeE()".to_owned(),
            },
            Self::Branch(branch) => format!("branch({})", names.by(&branch.on)),
            Self::Subgraph(into) => format!("subgraph({})", names.side_effect(*into)),
            Self::SetSack { by, .. } => format!("sack() with {}", names.by(by)),
            Self::Barrier { normalises } => {
                if *normalises { "barrier(normSack)" } else { "barrier()" }.to_owned()
            }
            Self::Call(call) => format!("call({})", call.service),
            Self::Analysis(analysis) => {
                let first = if analysis.from_traversers { " from where traversers are" } else { "" };
                format!("{}() as {}{first}", analysis.program.name(), analysis.property)
            }
            Self::ShortestPaths(paths) => {
                let distance =
                    paths.distance.as_ref().map_or_else(String::new, |by| format!(" by {}", names.by(by)));
                let max = paths.distance_max.map_or_else(String::new, |max| format!(" of at most {max}"));
                format!("shortestPath(){distance}{max}")
            }
            Self::Match(matched) => {
                format!("match() of {}", list(matched.answer.iter().map(|slot| names.slot(*slot))))
            }
        }
    }
}

fn list<T: Display>(all: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
    texts.join(", ")
}

fn scanned(scan: &Scan) -> String {
    scan.ids.as_ref().map_or_else(String::new, |ids| list(ids.iter().map(item)))
}

fn expanded(expand: &Expand) -> String {
    let direction = match expand.direction {
        Direction::Out => "out",
        Direction::In => "in",
        Direction::Both => "both",
    };
    let types = expand.types.as_ref().map_or_else(String::new, list);
    match expand.to {
        ExpandTo::Neighbors => format!("{direction}({types})"),
        ExpandTo::Edges(_) => format!("{direction}E({types})"),
        ExpandTo::Count => format!("{direction}({types}), counted by degrees"),
    }
}

fn reduced(reducer: &Reducer) -> &'static str {
    match reducer {
        Reducer::Count => "count()",
        Reducer::SumOfCounts => "sum of the counts",
        Reducer::Sum => "sum()",
        Reducer::Min => "min()",
        Reducer::Max => "max()",
        Reducer::Mean => "mean()",
        Reducer::Fold => "fold()",
        Reducer::Combine(..) => "fold() by an operator",
    }
}

/// An item, cut if it is long.
fn item(item: &Item) -> String {
    let whole = match item {
        Item::Value(value) => match value.as_str() {
            Some(text) => format!("{text:?}"),
            None => value.to_string(),
        },
        Item::Null => "null".to_owned(),
        Item::Vertex(vertex) => format!("v[{}]", vertex.0),
        other => other.kind(),
    };
    match whole.char_indices().nth(ITEM_CHARS) {
        Some((end, _)) => format!("{}...", &whole[..end]),
        None => whole,
    }
}

/// What needs the plan's names to be described.
struct Names<'p>(&'p Plan);

impl Names<'_> {
    fn slot(&self, slot: usize) -> String {
        self.0.slots.get(slot).map_or_else(String::new, |name| name.to_string())
    }

    fn side_effect(&self, number: usize) -> String {
        self.0.side_effects.get(number).map_or_else(String::new, |name| name.to_string())
    }

    fn aside(&self, into: Option<usize>) -> String {
        into.map_or_else(String::new, |number| format!(" into {}", self.side_effect(number)))
    }

    fn by(&self, by: &By) -> String {
        match by {
            By::Itself => "it".to_owned(),
            By::Item(of) => item(of),
            By::Key(key) => key.to_string(),
            By::Token(token) => format!("T.{}", token_name(*token)),
            By::Slot(slot) => self.slot(*slot),
            By::Child(_) => "...".to_owned(),
            By::OrNull(by) => self.by(by),
        }
    }

    fn sorted(&self, all: &[(By, Sorting)]) -> String {
        let each = |(by, sorting): &(By, Sorting)| {
            let sorting = match sorting {
                Sorting::Ascending => "",
                Sorting::Descending => " descending",
                Sorting::Shuffle => " by chance",
            };
            format!("{}{sorting}", self.by(by))
        };
        list(all.iter().map(each))
    }

    fn bys(&self, all: &[By]) -> String {
        if all.is_empty() { String::new() } else { format!(" by {}", list(all.iter().map(|by| self.by(by)))) }
    }

    fn written(&self, all: &[NewProperty]) -> String {
        let pair = |key: &By, value: &By| format!("{}: {}", self.by(key), self.by(value));
        let each = |property: &NewProperty| {
            let own = property.properties.iter().map(|(key, value)| pair(key, value));
            let own = if property.properties.is_empty() { String::new() } else { format!(" {}", list(own)) };
            pair(&property.key, &property.value) + &own
        };
        if all.is_empty() { String::new() } else { format!(" {}", list(all.iter().map(each))) }
    }

    fn selected(&self, selected: &Selected) -> String {
        let pop = match selected.pop {
            Pop::Last => "",
            Pop::First => "first ",
            Pop::All => "all ",
            Pop::Mixed => "mixed ",
        };
        format!("{pop}{}", selected.name)
    }

    fn tests(&self, tests: &[Test]) -> String {
        let each = |test: &Test| match test {
            Test::Has(key) => format!("has {key}"),
            Test::HasNot(key) => format!("has no {key}"),
            Test::Property(key, predicate) => format!("{key} {}", self.predicate(predicate)),
            Test::Label(predicate) => format!("label {}", self.predicate(predicate)),
            Test::Id(predicate) => format!("id {}", self.predicate(predicate)),
            Test::Key(predicate) => format!("key {}", self.predicate(predicate)),
            Test::Value(predicate) => format!("value {}", self.predicate(predicate)),
            Test::Is(predicate) => format!("it {}", self.predicate(predicate)),
            Test::Slot(slot, predicate) => format!("{} {}", self.slot(*slot), self.predicate(predicate)),
            Test::Elements(quantifier, predicate) => {
                format!(
                    "{} of its elements {}",
                    format!("{quantifier:?}").to_lowercase(),
                    self.predicate(predicate)
                )
            }
        };
        if tests.is_empty() { String::new() } else { format!(" where {}", list(tests.iter().map(each))) }
    }

    fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Item(of) => item(of),
            Operand::Slot(slot) => self.slot(*slot),
            Operand::SideEffect(number) => self.side_effect(*number),
        }
    }

    fn predicate(&self, predicate: &Predicate) -> String {
        let all = |all: &[Predicate], between: &str| {
            let texts: Vec<String> = all.iter().map(|one| self.predicate(one)).collect();
            texts.join(between)
        };
        match predicate {
            Predicate::Compare(comparison, operand) => {
                format!("{} {}", comparison.sign(), self.operand(operand))
            }
            Predicate::Gathered { elements, rest } => {
                format!("within {} gathered", elements.len() + rest.len())
            }
            Predicate::Within(items) => format!("within [{}]", list(items.iter().map(item))),
            Predicate::WithinSlot(slot) => format!("within {}", self.slot(*slot)),
            Predicate::WithinSideEffect(number) => format!("within {}", self.side_effect(*number)),
            Predicate::Text(test, text, so) => format!("{} {text:?}", tested(*test, *so)),
            Predicate::TextOf(test, operand, so) => {
                format!("{} {}", tested(*test, *so), self.operand(operand))
            }
            Predicate::Regex(pattern, so) => {
                format!("{}matches /{}/", if *so { "" } else { "not " }, pattern.text())
            }
            Predicate::TypeOf(item_type) => format!("is of type {item_type:?}"),
            Predicate::And(of) => format!("({})", all(of, " and ")),
            Predicate::Or(of) => format!("({})", all(of, " or ")),
            Predicate::Not(one) => format!("not {}", self.predicate(one)),
        }
    }

    fn function(&self, function: &Function) -> String {
        match function {
            Function::Constant(of) => format!("constant({})", item(of)),
            Function::Id => "id()".to_owned(),
            Function::Label => "label()".to_owned(),
            Function::Key => "key()".to_owned(),
            Function::Value => "value()".to_owned(),
            Function::Select { names, by } => {
                format!("select({}){}", list(names.iter().map(|name| self.selected(name))), self.bys(by))
            }
            Function::SelectNamed { key, .. } => format!("select({})", self.by(key)),
            Function::Element => "element()".to_owned(),
            Function::Sack => "sack()".to_owned(),
            Function::Path { by, .. } => format!("path(){}", self.bys(by)),
            Function::Project { names, by } => format!("project({}){}", list(names), self.bys(by)),
            Function::Loops(name) => {
                format!("loops({})", name.as_ref().map_or("", |name| name))
            }
            Function::Local(reducer) => format!("{} of a collection", reduced(reducer)),
            Function::Column { keys } => if *keys { "select(keys)" } else { "select(values)" }.to_owned(),
            Function::LocalRange { skip, limit } => {
                format!("range({skip}, {}) of a collection", skip.saturating_add(*limit))
            }
            Function::LocalTail(count) => format!("tail({count}) of a collection"),
            Function::LocalOrder(_) => "order() of a collection".to_owned(),
            Function::LocalDedup => "dedup() of a collection".to_owned(),
            Function::Scalar(scalar) => match scalar {
                Scalar::Each(function) => format!("{function:?}"),
                Scalar::Concat(by) => format!("concat(){}", self.bys(by)),
                Scalar::List(function, _, by) => format!("{}({})", function.name(), self.by(by)),
                Scalar::DateDifference(by) => format!("dateDiff({})", self.by(by)),
                Scalar::Format(_, by) => format!("format(){}", self.bys(by)),
                Scalar::Math { by, .. } => format!("math(){}", self.bys(by)),
                Scalar::Sample(count) => format!("sample({count}) of a collection"),
            },
            Function::ElementMap { shape, by } => {
                let name = match shape {
                    MapShape { properties: true, .. } => "propertyMap",
                    MapShape { lists: true, .. } => "valueMap",
                    _ => "elementMap",
                };
                format!("{name}({}){}", list(&shape.keys), self.bys(by))
            }
        }
    }
}

fn tested(test: TextTest, so: bool) -> String {
    let test = match test {
        TextTest::StartsWith => "starts with",
        TextTest::EndsWith => "ends with",
        TextTest::Contains => "contains",
        TextTest::Matches => "matches",
    };
    format!("{}{test}", if so { "" } else { "not " })
}

fn token_name(token: Token) -> &'static str {
    match token {
        Token::Id => "id",
        Token::Label => "label",
        Token::Key => "key",
        Token::Value => "value",
    }
}
