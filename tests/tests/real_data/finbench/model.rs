//! Model: the bank as plain lists, and whether a snapshot shows the same.
//!
//! Every question is answered by looking at everything. Amounts of edges are added up as whole cents, read
//! from the files' text and not through the database's decimals.

use super::stream::{Action, Check, Identity, Link, Operation, Window, cents_of_value};
use super::transactions::Outcome;
use evergraph::graph::value::ValueType;
use evergraph::graph::{column::Column, id::TypeId};
use evergraph::{Direction, EdgeId, GraphView, ReadByName, Snapshot, Value, VertexId};
use evergraph_tests::contents::for_each_edge;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

type Values = BTreeMap<String, Value>;
/// Edges of one type between one pair: the sum of their amounts, and the properties of each, in order
/// of time.
type Between = BTreeMap<(Identity, &'static str, Identity), (i128, Vec<Values>)>;

/// A bank.
#[derive(Default)]
pub struct Model {
    vertices: BTreeMap<Identity, Values>,
    // Borrowed: a delete moves what stands behind its links.
    links: Vec<&'static Link>,
    deleted: BTreeSet<Identity>,
    /// What the links come to, once somebody asked.
    between: OnceLock<Between>,
}

impl Model {
    /// Applies `operation`; what becomes of it.
    pub fn apply(&mut self, operation: &'static Operation) -> Outcome {
        self.between.take();
        match &operation.action {
            Action::Put(identity, properties) => self.seen(*identity).extend(properties.iter().cloned()),
            Action::Add(link) => self.add(link),
            Action::Apply(loan, link) => {
                self.seen(link.target).extend(loan.iter().cloned());
                self.add(link);
            }
            Action::Delete(identity) => {
                self.deleted.insert(*identity);
                self.links.retain(|link| link.source != *identity && link.target != *identity);
                if self.vertices.remove(identity).is_none() {
                    return Outcome::NotFound;
                }
            }
            Action::Checked(link, check, window) => return self.add_checked(link, *check, *window),
        }
        Outcome::Done
    }

    fn seen(&mut self, identity: Identity) -> &mut Values {
        let id = || Values::from([("id".to_owned(), Value::I64(identity.id))]);
        self.vertices.entry(identity).or_insert_with(id)
    }

    fn add(&mut self, link: &'static Link) {
        self.seen(link.source);
        self.seen(link.target);
        self.links.push(link);
    }

    fn add_checked(&mut self, link: &'static Link, check: Check, window: Window) -> Outcome {
        let ends = [link.source, link.target];
        let blocked = |end| self.vertices.get(end).and_then(|values| values.get("isBlocked")?.as_bool());
        if ends.iter().any(|end| blocked(end) == Some(true)) {
            return Outcome::Refused;
        }
        let mut links: Vec<&Link> = self.links.iter().copied().filter(|link| window.has(link.time)).collect();
        links.extend(Some(link).filter(|link| window.has(link.time)));
        let finds = match check {
            Check::Cycle => closes_cycle(&links, link),
            Check::FastOut { cents_min, percent } => ends.iter().any(|end| {
                let transfers = || {
                    let transfers = links.iter().filter(|link| link.edge_type == "TRANSFER");
                    transfers.filter(|link| link.cents > Some(cents_min))
                };
                let got: i128 = transfers().filter(|link| link.target == *end).filter_map(|l| l.cents).sum();
                let sent: i128 = transfers().filter(|link| link.source == *end).filter_map(|l| l.cents).sum();
                sent > 0 && got * 100 > sent * percent
            }),
            Check::Chain { cents_max } => self.chain_cents(&links, link.source) > cents_max,
        };
        if finds {
            for end in ends {
                self.seen(end).insert("isBlocked".to_owned(), Value::Bool(true));
            }
            return Outcome::Blocked;
        }
        self.add(link);
        Outcome::Done
    }

    fn chain_cents(&self, links: &[&Link], source: Identity) -> i128 {
        let mut vouched = BTreeSet::new();
        loop {
            let by = |person: Identity| person == source || vouched.contains(&person);
            let guarantees = links.iter().filter(|link| link.edge_type == "GUARANTEE" && by(link.source));
            let found: BTreeSet<Identity> = guarantees.map(|link| link.target).collect();
            if found.is_subset(&vouched) {
                break;
            }
            vouched.extend(found);
        }
        // A loan is applied for whenever it was: the window is that of guarantees.
        let applied = self.links.iter().filter(|link| link.edge_type == "APPLY");
        let loans: BTreeSet<Identity> =
            applied.filter(|link| vouched.contains(&link.source)).map(|link| link.target).collect();
        loans.iter().map(|loan| cents_of_value(&self.vertices[loan]["loanAmount"])).sum()
    }

    fn between(&self) -> &Between {
        self.between.get_or_init(|| {
            let mut between = Between::new();
            for link in &self.links {
                let (cents, edges) = between.entry((link.source, link.edge_type, link.target)).or_default();
                *cents += link.cents.unwrap_or(0);
                edges.push(link.properties.iter().cloned().collect());
            }
            between.values_mut().for_each(|(_, edges)| edges.sort_by_key(time));
            between
        })
    }

    /// Holds everything that `snapshot` shows against this bank.
    pub fn assert_shown_by(&self, snapshot: &Snapshot) {
        let (vertices, names) = vertices_of(snapshot);
        assert_same("vertices", &vertices, &self.vertices);
        for identity in &self.deleted {
            assert_eq!(snapshot.find(identity.label, "id", identity.id).unwrap(), None, "{identity:?}");
        }
        assert_same("edges", &between_of(snapshot, &names), self.between());
        self.assert_counts(snapshot, &names);
    }

    /// The counts that a view gives without reading lists.
    fn assert_counts(&self, snapshot: &Snapshot, names: &BTreeMap<VertexId, Identity>) {
        let catalogue = snapshot.catalogue();
        let mut types: BTreeMap<TypeId, u64> = BTreeMap::new();
        let mut degrees: BTreeMap<(bool, TypeId, Identity), u64> = BTreeMap::new();
        for link in &self.links {
            let edge_type = catalogue.edge_type(link.edge_type).unwrap();
            *types.entry(edge_type).or_default() += 1;
            for (is_out, end) in [(true, link.source), (false, link.target)] {
                *degrees.entry((is_out, edge_type, end)).or_default() += 1;
            }
        }
        let counted = snapshot.statistics().unwrap().edges;
        let counted: BTreeMap<TypeId, u64> = counted.into_iter().filter(|entry| entry.1 > 0).collect();
        assert_eq!(counted, types, "edges of each type");
        let vertices: Vec<VertexId> = names.keys().copied().collect();
        for (is_out, direction) in [(true, Direction::Out), (false, Direction::In)] {
            for edge_type in types.keys() {
                let mut found = Vec::new();
                snapshot.degrees(&vertices, Some(&[*edge_type]), direction, &mut found).unwrap();
                for (identity, found) in names.values().zip(found) {
                    let wanted = degrees.get(&(is_out, *edge_type, *identity)).copied().unwrap_or(0);
                    assert_eq!(found, wanted, "{direction:?} degree of {identity:?}");
                }
            }
        }
    }
}

fn closes_cycle(links: &[&Link], closing: &Link) -> bool {
    let transfers = || links.iter().filter(|link| link.edge_type == "TRANSFER");
    transfers().filter(|on| on.source == closing.target).any(|on| {
        let back = |back: &&&Link| back.source == on.target && back.target == closing.source;
        transfers().any(|link| back(&link))
    })
}

fn time(values: &Values) -> i64 {
    let Value::DateTime(time) = values["createTime"] else { panic!("{values:?} has no time") };
    time.epoch_milliseconds()
}

/// The name of a label or a type as the streams have it.
fn stream_name(name: &str) -> &'static str {
    const NAMES: [&str; 13] = [
        "Person",
        "Company",
        "Account",
        "Loan",
        "Medium",
        "APPLY",
        "INVEST",
        "GUARANTEE",
        "TRANSFER",
        "WITHDRAW",
        "REPAY",
        "DEPOSIT",
        "SIGN_IN",
    ];
    NAMES.into_iter().find(|own| *own == name).unwrap_or_else(|| panic!("{name} is no part of the bank"))
}

fn vertices_of(snapshot: &Snapshot) -> (BTreeMap<Identity, Values>, BTreeMap<VertexId, Identity>) {
    let (mut vertices, mut names) = (BTreeMap::new(), BTreeMap::new());
    for (_, label) in snapshot.catalogue().labels() {
        for vertex in snapshot.vertices(Some(label)).unwrap() {
            let values: Values = snapshot.properties(vertex).unwrap().into_iter().collect();
            let id = values["id"].as_i64().unwrap();
            let identity = Identity { label: stream_name(label), id };
            assert_eq!(snapshot.find(label, "id", id).unwrap(), Some(vertex), "{identity:?} is found");
            names.insert(vertex, identity);
            vertices.insert(identity, values);
        }
    }
    (vertices, names)
}

fn between_of(snapshot: &Snapshot, names: &BTreeMap<VertexId, Identity>) -> Between {
    let (catalogue, mut edges) = (snapshot.catalogue(), Vec::new());
    for_each_edge(snapshot, |edge| edges.push(edge));
    let mut between = Between::new();
    for edge in &edges {
        let values: Values = snapshot.edge_property_list(*edge).unwrap().into_iter().collect();
        let edge_type = stream_name(&catalogue.edge_type_name(edge.edge_type));
        let key = (names[&edge.source], edge_type, names[&edge.target]);
        between.entry(key).or_default().1.push(values);
    }
    between.values_mut().for_each(|(_, edges)| edges.sort_by_key(time));
    for (edge, cents) in amounts(snapshot, &edges) {
        let edge_type = stream_name(&catalogue.edge_type_name(edge.edge_type));
        between.get_mut(&(names[&edge.source], edge_type, names[&edge.target])).unwrap().0 += cents;
    }
    between
}

/// The amounts of the edges that have one, read as one column.
fn amounts(snapshot: &Snapshot, edges: &[EdgeId]) -> Vec<(EdgeId, i128)> {
    let key = snapshot.catalogue().key("amount").unwrap();
    let mut column = Column::new(ValueType::Decimal);
    snapshot.edge_properties(edges, key, &mut column).unwrap();
    let rows = edges.iter().enumerate();
    rows.filter_map(|(row, edge)| Some((*edge, cents_of_value(&column.get(row)?)))).collect()
}

/// Tells the first difference only: these maps are long.
fn assert_same<K: Ord + std::fmt::Debug, V: PartialEq + std::fmt::Debug>(
    what: &str,
    found: &BTreeMap<K, V>,
    wanted: &BTreeMap<K, V>,
) {
    for (key, value) in wanted {
        assert_eq!(found.get(key), Some(value), "{what}: {key:?}");
    }
    let surplus = found.keys().find(|key| !wanted.contains_key(key));
    assert_eq!(surplus, None, "{what} that should not be there");
}
