//! Expected: whether a result is what a scenario's table says.
//!
//! As in TinkerPop's own runner: numbers of the same value and type, elements by id, maps and sets in any order of
//! what is in them, lists and paths in theirs. A row that is a double may be 1e-15 away.

use crate::names::Names;
use crate::notation::Notation;
use evergraph::Value;
use evergraph::graph::catalogue::Catalogue;
use evergraph_query::gremlin::token::{Direction, T};
use evergraph_query::value::element_id::element_id;
use evergraph_query::value::item::{Item, Owner, Token};
use evergraph_query::value::tree::Tree;
use std::sync::Arc;

/// How far a double may be away.
const TOLERANCE: f64 = 1e-15;

/// What is known of the graph that results are from.
pub struct Known {
    /// Elements by name, as they were before and as they are now; who was deleted is in the first alone.
    pub names: [Arc<Names>; 2],
    /// The names of keys.
    pub catalogue: Arc<Catalogue>,
}

impl Known {
    /// The element that `notation` names.
    fn element(&self, notation: &Notation) -> Option<Item> {
        let mut names = self.names.iter();
        match notation {
            Notation::Vertex(name) => names.find_map(|names| names.vertex(name)).map(Item::Vertex),
            Notation::Edge(name) => names.find_map(|names| names.edge(name)).map(Item::Edge),
            _ => None,
        }
    }

    /// The id of the element that `notation` names.
    #[must_use]
    pub fn id(&self, notation: &Notation) -> Option<Value> {
        match element_id(&self.element(notation)?)? {
            Item::Value(id) => Some(id),
            _ => None,
        }
    }

    /// Whether `item` is a row of a table.
    #[must_use]
    pub fn is_row(&self, expected: &Notation, item: &Item) -> bool {
        if let (Notation::Value(Value::F64(expected)), Item::Value(Value::F64(found))) = (expected, item)
            && expected.is_finite()
        {
            return (expected - found).abs() <= TOLERANCE;
        }
        self.is(expected, item)
    }

    /// Whether `item` is what `expected` says.
    #[must_use]
    pub fn is(&self, expected: &Notation, item: &Item) -> bool {
        match (expected, item) {
            (Notation::Null, Item::Null) => true,
            (Notation::Value(expected), Item::Value(found)) => expected == found,
            (Notation::Vertex(_) | Notation::Edge(_), found) => {
                self.element(expected).as_ref() == Some(found)
            }
            (Notation::Id(of), Item::Value(found)) => self.id(of).as_ref() == Some(found),
            (Notation::IdText(of), Item::Value(found)) => {
                self.id(of).is_some_and(|id| Some(id.to_string().as_str()) == found.as_str())
            }
            (Notation::VertexProperty { vertex, key, value }, Item::Property(found)) => {
                let owner = self.element(&Notation::Vertex(vertex.clone())).and_then(|item| item.as_vertex());
                owner.map(Owner::Vertex).as_ref() == Some(&found.owner)
                    && *self.catalogue.key_name(found.key) == **key
                    && self.is(value, &Item::Value(found.value.clone()))
            }
            (Notation::List(expected), Item::List(_) | Item::Value(Value::List(_)))
            | (Notation::Path(expected), Item::Path(_)) => {
                let found = item.elements().unwrap_or_default();
                expected.len() == found.len()
                    && expected.iter().zip(&found).all(|(left, right)| self.is(left, right))
            }
            (Notation::Set(expected), Item::Set(_) | Item::Value(Value::Set(_))) => {
                let found = item.elements().unwrap_or_default();
                pairs(expected, &found, |left, right| self.is(left, right))
            }
            (Notation::Map(expected), found) => {
                let entry = |left: &(Notation, Notation), right: &(Item, Item)| {
                    self.is(&left.0, &right.0) && self.is(&left.1, &right.1)
                };
                entries(found).is_some_and(|found| pairs(expected, &found, entry))
            }
            (Notation::Token(expected), Item::Token(found)) => match expected {
                T::Id => *found == Token::Id,
                T::Label => *found == Token::Label,
                T::Key => *found == Token::Key,
                T::Value => *found == Token::Value,
            },
            (Notation::Direction(expected), Item::Direction(found)) => {
                use evergraph::Direction as Found;
                match expected {
                    Direction::Out => *found == Found::Out,
                    Direction::In => *found == Found::In,
                    Direction::Both => *found == Found::Both,
                }
            }
            _ => false,
        }
    }

    /// Whether `tree` is the one of `lines`: `|--marko`, each level three blanks further in.
    ///
    /// # Errors
    /// A line that names no value.
    pub fn is_tree(&self, lines: &str, tree: &Tree) -> Result<bool, String> {
        let mut rows = Vec::new();
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            let (margin, name) =
                line.split_once("|--").ok_or_else(|| format!("no branch of a tree: {line}"))?;
            rows.push((margin.len() / 3, crate::notation::parse(name.trim())?));
        }
        Ok(self.is_level(&rows, 0, tree))
    }

    fn is_level(&self, rows: &[(usize, Notation)], depth: usize, tree: &Tree) -> bool {
        let starts: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].0 == depth).collect();
        let ends = starts.iter().skip(1).copied().chain([rows.len()]);
        let expected: Vec<_> = starts.iter().zip(ends).map(|(start, end)| &rows[*start..end]).collect();
        pairs(&expected, tree.branches(), |rows, (item, below)| {
            self.is(&rows[0].1, item) && self.is_level(&rows[1..], depth + 1, below)
        })
    }

    /// `item` as a scenario would write it, about.
    #[must_use]
    pub fn show(&self, item: &Item) -> String {
        let all = |items: &mut dyn Iterator<Item = &Item>| {
            items.map(|item| self.show(item)).collect::<Vec<_>>().join(",")
        };
        match item {
            Item::Null => "null".to_owned(),
            Item::Value(value) => match value {
                Value::I8(number) => format!("d[{number}].b"),
                Value::I16(number) => format!("d[{number}].s"),
                Value::I32(number) => format!("d[{number}].i"),
                Value::I64(number) => format!("d[{number}].l"),
                Value::F32(number) => format!("d[{number}].f"),
                Value::F64(number) => format!("d[{number}].d"),
                Value::BigInteger(number) => format!("d[{number}].n"),
                Value::Decimal(number) => format!("d[{number}].m"),
                Value::DateTime(_) => format!("dt[{value}]"),
                Value::Uuid(_) => format!("uuid[{value}]"),
                Value::List(_) => format!("l{value}"),
                Value::Set(_) => format!("s{value}"),
                value => value.to_string(),
            },
            Item::Vertex(vertex) => self.called(&|names| names.name_of_vertex(*vertex), 'v'),
            Item::Edge(edge) => self.called(&|names| names.name_of_edge(*edge), 'e'),
            Item::Property(property) => {
                let key = self.catalogue.key_name(property.key);
                format!("property[{key}->{}]", self.show(&Item::Value(property.value.clone())))
            }
            Item::List(items) => format!("l[{}]", all(&mut items.iter())),
            Item::Set(items) => format!("s[{}]", all(&mut items.iter())),
            Item::Path(path) => format!("p[{}]", all(&mut path.items())),
            Item::Map(map) => {
                let entry = |(key, value): &(Item, Item)| format!("{}:{}", self.show(key), self.show(value));
                format!("m[{}]", map.entries().iter().map(entry).collect::<Vec<_>>().join(","))
            }
            Item::Entry(entry) => format!("entry[{}:{}]", self.show(&entry.0), self.show(&entry.1)),
            Item::Token(token) => format!("t[{token:?}]"),
            Item::Direction(direction) => format!("D[{direction:?}]"),
            Item::Graph(graph) => {
                let edges: Vec<Item> = graph.edges().map(Item::Edge).collect();
                format!("graph[{}]", all(&mut edges.iter()))
            }
            Item::Tree(tree) => {
                let branch = |(item, _): &(Item, Tree)| self.show(item);
                format!("tree[{}]", tree.branches().iter().map(branch).collect::<Vec<_>>().join(","))
            }
        }
    }

    fn called(&self, name: &dyn Fn(&Names) -> Option<String>, kind: char) -> String {
        let name = self.names.iter().find_map(|names| name(names));
        format!("{kind}[{}]", name.as_deref().unwrap_or("?"))
    }
}

/// The entries of a map, made or stored; an entry alone counts as a map of one.
#[must_use]
pub fn entries(item: &Item) -> Option<Vec<(Item, Item)>> {
    match item {
        Item::Map(map) => Some(map.entries().to_vec()),
        Item::Entry(entry) => Some(vec![(**entry).clone()]),
        Item::Value(Value::Map(map)) => {
            let entries = map.as_slice().iter();
            Some(entries.map(|(key, value)| (Item::Value(key.clone()), Item::Value(value.clone()))).collect())
        }
        _ => None,
    }
}

/// Whether each of `expected` has one of `found` for itself, and none is left over.
pub fn pairs<E, F>(expected: &[E], found: &[F], is: impl Fn(&E, &F) -> bool) -> bool {
    let mut left: Vec<&F> = found.iter().collect();
    expected.len() == found.len()
        && expected.iter().all(|expected| {
            let at = left.iter().position(|found| is(expected, found));
            at.map(|at| left.swap_remove(at)).is_some()
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::parse;
    use evergraph::{Database, GraphView};
    use evergraph_query::value::item_list::ItemList;
    use evergraph_query::value::map::ItemMap;

    /// Marko, who knows Josh.
    fn known() -> (Known, [Item; 3]) {
        let database = Database::in_memory().unwrap();
        let added = database.transact(|transaction| {
            let marko = transaction.add_vertex("person", &[("name", "marko".into())])?;
            let josh = transaction.add_vertex("person", &[("name", "josh".into())])?;
            let edge = transaction.add_edge(marko, "knows", josh, &[])?;
            Ok([Item::Vertex(marko), Item::Vertex(josh), Item::Edge(edge)])
        });
        let snapshot = database.snapshot();
        let names = Arc::new(Names::of(&snapshot).unwrap());
        (Known { names: [Arc::clone(&names), names], catalogue: snapshot.catalogue() }, added.unwrap())
    }

    #[test]
    fn elements_are_who_is_called_so() {
        let (known, [marko, josh, edge]) = known();
        let is = |text: &str, item: &Item| known.is(&parse(text).unwrap(), item);
        assert!(is("v[marko]", &marko) && !is("v[marko]", &josh) && !is("v[peter]", &marko));
        assert!(is("e[marko-knows->josh]", &edge) && !is("e[josh-knows->marko]", &edge));
        let id = element_id(&josh).unwrap();
        assert!(is("v[josh].id", &id) && !is("v[josh].sid", &id) && !is("v[marko].id", &id));
        assert!(is("v[josh].sid", &Item::from(id.as_value().unwrap().to_string())));
        assert_eq!(
            (known.show(&marko), known.show(&edge)),
            ("v[marko]".into(), "e[marko-knows->josh]".into())
        );
    }

    #[test]
    fn types_and_orders_count_where_they_do() {
        let (known, _) = known();
        let is = |text: &str, item: &Item| known.is(&parse(text).unwrap(), item);
        assert!(is("d[1].i", &Item::from(1_i32)) && !is("d[1].i", &Item::from(1_i64)));
        assert!(is("d[NaN]", &Item::from(f64::NAN)));
        let pair = |left: &str, right: &str| -> ItemList { [left, right].map(Item::from).into() };
        assert!(is("l[a,b]", &Item::List(pair("a", "b"))) && !is("l[a,b]", &Item::List(pair("b", "a"))));
        assert!(is("s[a,b]", &Item::Set(pair("b", "a"))) && !is("s[a,b]", &Item::List(pair("a", "b"))));
        let map: ItemMap = [("b", 2_i32), ("a", 1)]
            .map(|(key, value)| (Item::from(key), Item::from(value)))
            .into_iter()
            .collect();
        let map = Item::Map(Arc::new(map));
        assert!(
            is(r#"m[{"a":1,"b":2}]"#, &map) && !is(r#"m[{"a":1}]"#, &map) && !is(r#"m[{"a":1,"b":1}]"#, &map)
        );
    }

    #[test]
    fn a_row_may_be_rounded_and_what_is_inside_of_it_may_not() {
        let (known, _) = known();
        let off = Item::from(0.1_f64 + 1e-16);
        assert!(known.is_row(&parse("d[0.1].d").unwrap(), &off));
        assert!(!known.is_row(&parse("l[d[0.1].d]").unwrap(), &Item::List([off].into())));
        assert!(!known.is_row(&parse("d[0.1].d").unwrap(), &Item::from(0.1001_f64)));
    }

    #[test]
    fn a_tree_has_its_branches_in_any_order() {
        let (known, _) = known();
        let mut tree = Tree::default();
        for path in [["a", "c"], ["a", "b"], ["d", "b"]] {
            tree.lay(path.map(Item::from)).unwrap();
        }
        assert_eq!(known.is_tree("|--d\n   |--b\n|--a\n   |--b\n   |--c", &tree), Ok(true));
        assert_eq!(known.is_tree("|--d\n   |--c\n|--a\n   |--b\n   |--c", &tree), Ok(false));
        assert_eq!(known.is_tree("|--d\n|--a\n   |--b\n   |--c", &tree), Ok(false));
        assert!(known.is_tree("d", &tree).is_err());
    }
}
