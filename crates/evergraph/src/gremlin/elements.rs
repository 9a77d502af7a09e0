//! Elements: labels and properties of the vertices and edges in results, read by column.
//!
//! ```text
//! results ──> vertices and edges in them ──> labels        one call for all
//!             (lists, maps, paths, trees)    properties    one call for each label and key
//! ```
//!
//! A result names an element by its id. Whoever sends or shows the element itself needs its label, and perhaps its
//! properties: TinkerPop calls the choice `materializeProperties`, with `tokens` or `all`. Elements are read where the
//! results came from, so that they are as the query saw them, a transaction's own writes included.

use evergraph_graph::catalogue::{Catalogue, Owner as SchemaOwner};
use evergraph_graph::column::{Column, ColumnData};
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::value::collection::Map;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use evergraph_query::execute::limits::{Charge, MemoryShare};
use evergraph_query::step::meta_property::as_properties;
use evergraph_query::step::stored_property::{Stored, several};
use evergraph_query::value::item::{Item, Owner};
use evergraph_query::value::tree::Tree;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Collections inside collections, so deep at most: a tree is as deep as the longest path. Elements deeper than that are
/// not found; whoever writes results refuses what is nested deeper.
pub const DEPTH_MAX: usize = 500;

/// Elements whose columns are in memory at once beside what was read.
const ELEMENTS_AT_ONCE: usize = 4096;

/// What is read of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementDetail {
    /// Labels: TinkerPop's `tokens`.
    Labels,
    /// Labels and properties: TinkerPop's `all`. The ends of an edge and the owner of a property have labels only.
    Properties,
    /// As `Properties`, for the ends of edges and the owners of properties too.
    PropertiesOfEnds,
}

/// What a vertex or an edge is besides its id.
#[derive(Clone, PartialEq, Debug)]
pub struct ElementData {
    /// The label of a vertex, the type of an edge.
    pub label: Arc<str>,
    /// Its properties by the name of their key, those of one key side by side; none if they were not wanted.
    pub properties: Vec<PropertyData>,
}

/// A property as queries give it: of a key with several values there are several.
#[derive(Clone, PartialEq, Debug)]
pub struct PropertyData {
    /// Its key.
    pub key: Arc<str>,
    /// Its value.
    pub value: Value,
    /// Its place among equal values that the element has of the key, from 0: element, key, value and this name a
    /// property.
    pub nth: u32,
    /// Of a vertex' property: its meta-properties, by name.
    pub meta_properties: Map,
}

/// The elements in some results.
///
/// Their memory counts as the query's for as long as this is there.
#[derive(Default)]
pub struct Elements {
    vertices: HashMap<VertexId, ElementData>,
    edges: HashMap<EdgeId, ElementData>,
    catalogue: Arc<Catalogue>,
    memory: MemoryShare,
}

impl Elements {
    /// Reads the elements in `items` from `view`, within the time and memory of `charge`.
    ///
    /// Cost: a call for all labels, and for the properties of each label or type a call for each key or, where that is
    /// less, for each element.
    ///
    /// # Errors
    /// Errors of reading; `limit`, `cancelled`.
    pub fn read<'i>(
        view: &dyn GraphView,
        items: impl IntoIterator<Item = &'i Item>,
        detail: ElementDetail,
        charge: &mut Charge<'_>,
    ) -> Result<Self> {
        let mut found = FoundIds { vertices: HashMap::new(), edges: HashMap::new(), detail };
        items.into_iter().for_each(|item| found.item(item, 0));
        let mut reader = Reader { view, catalogue: view.catalogue(), charge, held: MemoryShare::default() };
        let (vertices, edges) = (reader.vertices(found.vertices)?, reader.edges(found.edges)?);
        Ok(Self { vertices, edges, catalogue: reader.catalogue, memory: reader.held })
    }

    /// Bytes that they take, about.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory.bytes()
    }

    /// All vertices, ends of edges and owners of properties included, in no order.
    pub fn vertices(&self) -> impl Iterator<Item = (VertexId, &ElementData)> {
        self.vertices.iter().map(|(vertex, data)| (*vertex, data))
    }

    /// A vertex; `None` if it is gone, or was not in the results.
    #[must_use]
    pub fn vertex(&self, vertex: VertexId) -> Option<&ElementData> {
        self.vertices.get(&vertex)
    }

    /// An edge; `None` if it is gone, or was not in the results. Its ends are vertices here, too.
    #[must_use]
    pub fn edge(&self, edge: EdgeId) -> Option<&ElementData> {
        self.edges.get(&edge)
    }

    /// The name of an edge type: of an edge that is gone it is still known.
    #[must_use]
    pub fn edge_type_name(&self, edge_type: TypeId) -> Arc<str> {
        self.catalogue.edge_type_name(edge_type)
    }

    /// The name of the key of a property in the results.
    #[must_use]
    pub fn key_name(&self, key: KeyId) -> Arc<str> {
        self.catalogue.key_name(key)
    }
}

impl ElementData {
    fn without_properties(label: Arc<str>) -> Self {
        Self { label, properties: Vec::new() }
    }
}

/// Elements in results, and whether their properties are wanted.
struct FoundIds {
    vertices: HashMap<VertexId, bool>,
    edges: HashMap<EdgeId, bool>,
    detail: ElementDetail,
}

impl FoundIds {
    fn vertex(&mut self, vertex: VertexId) {
        *self.vertices.entry(vertex).or_default() |= self.detail != ElementDetail::Labels;
    }

    /// The end of an edge, or the owner of a property.
    fn end(&mut self, vertex: VertexId) {
        *self.vertices.entry(vertex).or_default() |= self.detail == ElementDetail::PropertiesOfEnds;
    }

    fn edge(&mut self, edge: EdgeId) {
        *self.edges.entry(edge).or_default() |= self.detail != ElementDetail::Labels;
        self.end(edge.source);
        self.end(edge.target);
    }

    fn owner(&mut self, owner: &Owner) {
        match owner {
            Owner::Vertex(vertex) => self.end(*vertex),
            Owner::Edge(edge) => {
                *self.edges.entry(*edge).or_default() |= self.detail == ElementDetail::PropertiesOfEnds;
                self.end(edge.source);
                self.end(edge.target);
            }
            Owner::Property(property) => self.owner(&property.owner),
        }
    }

    fn item(&mut self, item: &Item, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        let mut below = |item: &Item| self.item(item, depth + 1);
        match item {
            Item::Vertex(vertex) => self.vertex(*vertex),
            Item::Edge(edge) => self.edge(*edge),
            Item::Property(property) => self.owner(&property.owner),
            Item::List(items) | Item::Set(items) => items.iter().for_each(below),
            Item::Path(path) => path.items().for_each(below),
            Item::Map(map) => map.entries().iter().flat_map(|(key, value)| [key, value]).for_each(below),
            Item::Entry(entry) => {
                below(&entry.0);
                below(&entry.1);
            }
            Item::Tree(tree) => self.tree(tree, depth),
            Item::Graph(graph) => {
                graph.vertices().for_each(|vertex| self.vertex(vertex));
                graph.edges().for_each(|edge| self.edge(edge));
            }
            Item::Null | Item::Value(_) | Item::Token(_) | Item::Direction(_) => {}
        }
    }

    fn tree(&mut self, tree: &Tree, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        for (item, below) in tree.branches() {
            self.item(item, depth + 1);
            self.tree(below, depth + 1);
        }
    }
}

/// What elements are read from, and within which limits.
struct Reader<'r, 'c> {
    view: &'r dyn GraphView,
    catalogue: Arc<Catalogue>,
    charge: &'r mut Charge<'c>,
    held: MemoryShare,
}

/// The stored properties of each of several elements.
type Rows = Vec<Vec<(KeyId, Stored)>>;

impl Reader<'_, '_> {
    fn hold(&mut self, bytes: usize) -> Result<()> {
        self.charge.check()?;
        self.held.join(self.charge.holding(bytes)?);
        Ok(())
    }

    fn vertices(&mut self, found: HashMap<VertexId, bool>) -> Result<HashMap<VertexId, ElementData>> {
        self.hold(found.len() * size_of::<(VertexId, ElementData)>())?;
        let mut read = HashMap::with_capacity(found.len());
        let mut found: Vec<(VertexId, bool)> = found.into_iter().collect();
        // Neighbours in memory and in files are read together.
        found.sort_unstable();
        for found in found.chunks(ELEMENTS_AT_ONCE) {
            let vertices: Vec<VertexId> = found.iter().map(|(vertex, _)| *vertex).collect();
            let mut labels = Vec::with_capacity(vertices.len());
            self.view.labels(&vertices, &mut labels)?;
            let mut by_label: BTreeMap<LabelId, Vec<VertexId>> = BTreeMap::new();
            for ((vertex, properties), label) in found.iter().zip(labels) {
                let Some(label) = label else { continue };
                read.insert(*vertex, ElementData::without_properties(self.catalogue.label_name(label)));
                if *properties {
                    by_label.entry(label).or_default().push(*vertex);
                }
            }
            if self.view.heeds_ahead() {
                self.announce_vertices(&by_label);
            }
            for (label, vertices) in by_label {
                let rows = self.vertex_rows(label, &vertices)?;
                for (vertex, row) in vertices.into_iter().zip(rows) {
                    let properties = self.properties(Some(label), row)?;
                    read.entry(vertex).and_modify(|element| element.properties = properties);
                }
            }
        }
        Ok(read)
    }

    fn edges(&mut self, found: HashMap<EdgeId, bool>) -> Result<HashMap<EdgeId, ElementData>> {
        self.hold(found.len() * size_of::<(EdgeId, ElementData)>())?;
        let mut read = HashMap::with_capacity(found.len());
        let mut found: Vec<(EdgeId, bool)> = found.into_iter().collect();
        found.sort_unstable();
        for found in found.chunks(ELEMENTS_AT_ONCE) {
            let edges: Vec<EdgeId> = found.iter().map(|(edge, _)| *edge).collect();
            let mut there = Vec::with_capacity(edges.len());
            self.view.has_edges(&edges, &mut there)?;
            let mut by_type: BTreeMap<TypeId, Vec<EdgeId>> = BTreeMap::new();
            for ((edge, properties), there) in found.iter().zip(there) {
                if !there {
                    continue;
                }
                let name = self.catalogue.edge_type_name(edge.edge_type);
                read.insert(*edge, ElementData::without_properties(name));
                if *properties {
                    by_type.entry(edge.edge_type).or_default().push(*edge);
                }
            }
            for edges in by_type.values().filter(|_| self.view.heeds_ahead()) {
                self.view.ahead(NextReads::EdgePropertyMaps(edges));
            }
            for (edge_type, edges) in by_type {
                let rows = self.edge_rows(edge_type, &edges)?;
                for (edge, row) in edges.into_iter().zip(rows) {
                    let properties = self.properties(None, row)?;
                    read.entry(edge).and_modify(|element| element.properties = properties);
                }
            }
        }
        Ok(read)
    }

    /// The keys that elements of `owner` may have, by name: a key's number changes when a graph is loaded again.
    fn keys(&self, owner: SchemaOwner) -> Vec<KeyId> {
        let mut keys: Vec<KeyId> = self.catalogue.properties_of(owner).map(|(key, _)| key).collect();
        keys.sort_by_cached_key(|key| self.catalogue.key_name(*key));
        keys
    }

    /// Says that the properties of vertices are read next, and what is known of their values.
    fn announce_vertices(&self, by_label: &BTreeMap<LabelId, Vec<VertexId>>) {
        for (label, vertices) in by_label {
            self.view.ahead(NextReads::VertexPropertyMaps(vertices));
            let keys = self.keys(SchemaOwner::Label(*label)).into_iter();
            for meta in keys.filter_map(|key| self.catalogue.meta_key(*label, key)) {
                self.view.ahead(NextReads::VertexProperties(vertices, meta));
            }
        }
    }

    /// Whether all properties of each of some elements are read, and not each of `keys` of all: of another machine they take a
    /// message, all together.
    fn reads_maps(&self, keys: &[KeyId], elements: usize) -> bool {
        keys.len() > elements || self.view.heeds_ahead()
    }

    fn vertex_rows(&mut self, label: LabelId, vertices: &[VertexId]) -> Result<Rows> {
        let keys = self.keys(SchemaOwner::Label(label));
        let mut rows: Rows = vec![Vec::new(); vertices.len()];
        if self.reads_maps(&keys, vertices.len()) {
            for (vertex, row) in vertices.iter().zip(&mut rows) {
                self.put(row, self.view.vertex_property_map(*vertex)?)?;
            }
        } else {
            for key in &keys {
                let column = self.vertex_column(vertices, *key)?;
                self.put_column(&mut rows, *key, column)?;
            }
        }
        for key in keys {
            let Some(meta) = self.catalogue.meta_key(label, key) else { continue };
            for (row, known) in rows.iter_mut().zip(values(self.vertex_column(vertices, meta)?)) {
                let (Some(known), Some(at)) = (known, row.iter().position(|(other, _)| *other == key)) else {
                    continue;
                };
                self.hold(known.heap_bytes())?;
                row[at].1.known = Some(known);
            }
        }
        Ok(rows)
    }

    fn edge_rows(&mut self, edge_type: TypeId, edges: &[EdgeId]) -> Result<Rows> {
        let keys = self.keys(SchemaOwner::EdgeType(edge_type));
        let mut rows: Rows = vec![Vec::new(); edges.len()];
        if self.reads_maps(&keys, edges.len()) {
            for (edge, row) in edges.iter().zip(&mut rows) {
                self.put(row, self.view.edge_property_map(*edge)?)?;
            }
        } else {
            for key in keys {
                let mut column = Column::new(ValueType::Any);
                self.view.edge_properties(edges, key, &mut column)?;
                self.put_column(&mut rows, key, column)?;
            }
        }
        Ok(rows)
    }

    fn vertex_column(&self, vertices: &[VertexId], key: KeyId) -> Result<Column> {
        let mut column = Column::new(ValueType::Any);
        self.view.vertex_properties(vertices, key, &mut column)?;
        Ok(column)
    }

    /// Puts all properties of one element into its row.
    fn put(&mut self, row: &mut Vec<(KeyId, Stored)>, mut all: Vec<(KeyId, Value)>) -> Result<()> {
        all.sort_by_cached_key(|(key, _)| self.catalogue.key_name(*key));
        for (key, value) in all {
            self.hold(size_of::<PropertyData>() + value.heap_bytes())?;
            row.push((key, Stored { value: Some(value), known: None }));
        }
        Ok(())
    }

    fn put_column(&mut self, rows: &mut Rows, key: KeyId, column: Column) -> Result<()> {
        let mut bytes = 0;
        for (row, value) in rows.iter_mut().zip(values(column)) {
            let Some(value) = value else { continue };
            bytes += size_of::<PropertyData>() + value.heap_bytes();
            row.push((key, Stored { value: Some(value), known: None }));
        }
        self.hold(bytes)
    }

    /// What is stored of an element as the properties that queries see.
    fn properties(&mut self, label: Option<LabelId>, row: Vec<(KeyId, Stored)>) -> Result<Vec<PropertyData>> {
        let mut properties = Vec::with_capacity(row.len());
        for (id, stored) in row {
            let key = self.catalogue.key_name(id);
            let several = label.and_then(|label| several(&self.catalogue, label, id));
            if several.is_none() && stored.known.is_none() {
                let Some(value) = stored.value else { continue };
                properties.push(PropertyData { key, value, nth: 0, meta_properties: Map::default() });
                continue;
            }
            let mut all = Vec::new();
            // Whose they are doesn't matter here.
            as_properties(&Owner::Vertex(VertexId(0)), id, stored.split(several), &mut all);
            self.hold(all.len() * size_of::<PropertyData>())?;
            properties.extend(all.into_iter().map(|property| PropertyData {
                key: Arc::clone(&key),
                value: property.value,
                nth: property.nth,
                meta_properties: property.known,
            }));
        }
        Ok(properties)
    }
}

/// The values of a column.
fn values(column: Column) -> Vec<Option<Value>> {
    match column.data {
        ColumnData::Values(values) => values,
        _ => (0..column.len()).map(|row| column.get(row)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Database;
    use crate::gremlin::query::{Limits, Query};
    use evergraph_graph::budget::Unlimited;
    use evergraph_graph::cancel::CancelFlag;
    use evergraph_graph::error::ErrorKind;
    use evergraph_query::value::element_id::edge_id_text;
    use evergraph_query::value::item::Property;

    /// Two people, of whom one knows the other since 1999, by a few kinds of properties.
    fn people() -> Database {
        let db = Database::in_memory().unwrap();
        db.transact(|tx| tx.declare_meta_properties("Person", "name")).unwrap();
        for text in [
            "g.addV('Person').property('name', 'Ada', 'since', 1815).property(list, 'tags', 'a').property(list, 'tags', 'b')\
             .property(list, 'tags', 'a')",
            "g.addV('Person').property('name', 'Bob').property('age', 7)",
            "g.V().has('name', 'Ada').addE('KNOWS').to(__.V().has('name', 'Bob')).property('since', 1999)",
        ] {
            db.gremlin(text).run().unwrap();
        }
        db
    }

    fn shown(element: Option<&ElementData>) -> String {
        let Some(ElementData { label, properties }) = element else { return String::from("gone") };
        let property = |property: &PropertyData| {
            let PropertyData { key, value, nth, meta_properties } = property;
            let meta = meta_properties.as_slice().iter().map(|(key, value)| format!("({key} {value})"));
            format!(" {key}={value}/{nth}{}", meta.collect::<String>())
        };
        format!("{label}{}", properties.iter().map(property).collect::<String>())
    }

    fn read(db: &Database, text: &str, detail: ElementDetail) -> (Vec<Item>, Elements) {
        let mut results = Query::shared(Arc::new(db.snapshot()), text).iter().unwrap();
        let items = results.next_items(usize::MAX).unwrap();
        let elements = results.elements(&items, detail).unwrap();
        (items, elements)
    }

    const ADA: &str = "Person name=Ada/0(since 1815) tags=a/0 tags=b/0 tags=a/1";
    const BOB: &str = "Person age=7/0 name=Bob/0";

    #[test]
    fn elements_come_with_labels_or_with_properties_and_ends_with_what_was_chosen() {
        let db = people();
        for (detail, edge, source) in [
            (ElementDetail::Labels, "KNOWS", "Person"),
            (ElementDetail::Properties, "KNOWS since=1999/0", "Person"),
            (ElementDetail::PropertiesOfEnds, "KNOWS since=1999/0", ADA),
        ] {
            let (items, elements) = read(&db, "g.E()", detail);
            let found = items[0].as_edge().unwrap();
            assert_eq!(shown(elements.edge(found)), edge, "{detail:?}");
            assert_eq!(shown(elements.vertex(found.source)), source, "{detail:?}");
            let (items, elements) = read(&db, "g.V().order().by('name')", detail);
            let labels = detail == ElementDetail::Labels;
            let vertices = items.iter().map(|item| shown(elements.vertex(item.as_vertex().unwrap())));
            let wanted = if labels { ["Person", "Person"] } else { [ADA, BOB] };
            assert_eq!(vertices.collect::<Vec<_>>(), wanted, "{detail:?}");
        }
    }

    #[test]
    fn elements_are_found_wherever_they_are() {
        let db = people();
        for text in [
            "g.V().fold()",
            "g.V().has('name', 'Ada').out().path()",
            "g.V().has('name', 'Ada').out().tree()",
            "g.V().group().by('name')",
            "g.V().group().by('name').unfold()",
            "g.E().subgraph('s').cap('s')",
            "g.V().aggregate('x').cap('x')",
            "g.V().has('name', 'Ada').project('a', 'b').by(__.identity()).by(__.out().fold())",
        ] {
            let (_, elements) = read(&db, text, ElementDetail::Properties);
            let mut found: Vec<String> = elements.vertices.values().map(|data| shown(Some(data))).collect();
            found.sort();
            assert_eq!(found, [BOB, ADA], "{text}");
        }
        let (items, elements) = read(&db, "g.V().properties('name').properties()", ElementDetail::Properties);
        let key = |property: &Property| elements.key_name(property.key);
        assert_eq!(items.iter().filter_map(Item::as_property).map(key).collect::<Vec<_>>(), ["since".into()]);
        assert_eq!(elements.vertices.len(), 1, "whose property's property it is");
        let (_, elements) = read(&db, "g.E().properties()", ElementDetail::Properties);
        let data: Vec<_> = elements.edges.values().map(|data| shown(Some(data))).collect();
        assert_eq!((data, elements.vertices.len()), (vec!["KNOWS".into()], 2));
    }

    #[test]
    fn a_transaction_shows_its_own_writes_and_no_element_that_it_deleted() {
        let db = people();
        let mut tx = db.begin();
        tx.gremlin("g.V().has('name', 'Bob').property('age', 8).addE('KNOWS').to(__.V().has('name', 'Ada'))")
            .run()
            .unwrap();
        let (items, elements) =
            tx.gremlin("g.V().has('name', 'Bob')").items_with_elements(ElementDetail::Properties).unwrap();
        let bob = items[0].as_vertex().unwrap();
        assert_eq!(shown(elements.vertex(bob)), "Person age=8/0 name=Bob/0");
        let text = "g.V().has('name', 'Ada').as('a').outE().as('e').select('a').sideEffect(__.drop()).select('e').fold()";
        let (items, elements) =
            tx.gremlin(text).items_with_elements(ElementDetail::PropertiesOfEnds).unwrap();
        let edges: Vec<EdgeId> =
            items[0].elements().unwrap().iter().map(|item| item.as_edge().unwrap()).collect();
        assert_eq!(shown(elements.edge(edges[0])), "gone");
        assert_eq!(&*elements.edge_type_name(edges[0].edge_type), "KNOWS");
        assert_eq!(shown(elements.vertex(edges[0].source)), "gone");
        assert_eq!(shown(elements.vertex(edges[0].target)), "Person age=8/0 name=Bob/0");
    }

    #[test]
    fn by_column_and_by_element_they_are_the_same_as_queries_say() {
        let db = people();
        db.transact(|tx| {
            for at in 0..40_i64 {
                let odd = format!("odd{}", at % 7);
                let one = tx.add_vertex("Thing", &[("at", at.into()), (&*odd, "x".into())])?;
                let two = tx.add_vertex("Thing", &[])?;
                tx.add_edge(one, "HAS", two, &[(&*odd, at.into()), ("at", (at as f64).into())])?;
            }
            Ok(())
        })
        .unwrap();
        let snapshot = Arc::new(db.snapshot());
        // Few elements of many keys are read one by one, many by column.
        for limit in [1, 3, 1000] {
            for all in ["g.V()", "g.E()"] {
                let text = format!("{all}.limit({limit})");
                let mut results = Query::shared(Arc::clone(&snapshot), &*text).iter().unwrap();
                let items = results.next_items(usize::MAX).unwrap();
                let elements = results.elements(&items, ElementDetail::Properties).unwrap();
                for item in &items {
                    let element = match item {
                        Item::Vertex(vertex) => elements.vertex(*vertex),
                        item => elements.edge(item.as_edge().unwrap()),
                    };
                    let element = element.unwrap();
                    let each = match item {
                        Item::Vertex(vertex) => format!("g.V({})", vertex.0),
                        item => format!("g.E('{}')", edge_id_text(item.as_edge().unwrap())),
                    };
                    let ask = |rest: &str| {
                        Query::shared(Arc::clone(&snapshot), &*format!("{each}{rest}")).items().unwrap()
                    };
                    assert_eq!(ask(".label()"), [Item::from(&*element.label)]);
                    let wanted = ask(".properties()");
                    let wanted = wanted.iter().filter_map(Item::as_property).map(|property| PropertyData {
                        key: elements.key_name(property.key),
                        value: property.value.clone(),
                        nth: property.nth,
                        meta_properties: property.known.clone(),
                    });
                    assert_eq!(element.properties, wanted.collect::<Vec<_>>(), "{each}");
                }
            }
        }
    }

    #[test]
    fn elements_count_in_the_memory_of_the_query_and_end_with_its_time() {
        let db = Database::in_memory().unwrap();
        db.transact(|tx| {
            (0..100).try_for_each(|_| tx.add_vertex("Page", &[("text", "x".repeat(10_000).into())]).map(drop))
        })
        .unwrap();
        let mut results =
            Query::shared(Arc::new(db.snapshot()), "g.V()").memory_bytes(1 << 19).iter().unwrap();
        let items = results.next_items(100).unwrap();
        let kind = |result: Result<Elements>| result.err().map(|error| error.kind());
        assert_eq!(kind(results.elements(&items, ElementDetail::Properties)), Some(ErrorKind::Limit));
        assert!(results.elements(&items[..10], ElementDetail::Properties).is_ok(), "nothing stays counted");
        assert!(results.elements(&items[10..50], ElementDetail::Properties).is_ok());
        let cancel = CancelFlag::default();
        cancel.cancel();
        let mut charge = Charge::new(Limits::default(), cancel, &Unlimited);
        let read = Elements::read(&db.snapshot(), &items, ElementDetail::Labels, &mut charge);
        assert_eq!(kind(read), Some(ErrorKind::Cancelled));
    }
}
