//! Maps: steps from each row to at most one item.

use crate::batch::column::Column;
use crate::batch::{Batch, Rows};
use crate::execute::child::Child;
use crate::execute::context::Context;
use crate::execute::limits::GrowingShare;
use crate::execute::pipeline::Step;
use crate::plan::function::{MapShape, PathPart, Pop, Selected};
use crate::plan::operator::{Name, Reducer, Sorting};
use crate::step::announced::AnnouncedElements;
use crate::step::barrier::Accumulator;
use crate::step::by::{Projection, tokens};
use crate::step::element;
use crate::step::meta_property::owner_of;
use crate::step::names::{in_map, named, of_found};
use crate::step::sack;
use crate::step::scalar::Scalar;
use crate::step::side_effect;
use crate::value::element_id::element_id;
use crate::value::item::{Item, Token};
use crate::value::list;
use crate::value::map::ItemMap;
use crate::value::path::{Labels, Path};
use crate::value::relation;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::value::Value;
use std::sync::Arc;

/// What an entry takes in a map.
const ENTRY_BYTES: usize = 2 * size_of::<(Item, Item)>();

/// A function from a row to at most one item, ready to run.
pub enum Function {
    /// Always this.
    Constant(Item),
    /// A part of an element.
    Part(Projection),
    /// What names stand for: one alone, or a map of several.
    Select(Vec<Selected>, Vec<Projection>),
    /// What a name stands for that is only known of each row.
    SelectNamed(Box<ComputedName>),
    /// Where the traverser has been.
    Path(PathPart, Vec<Projection>),
    /// What the traverser carries along.
    Sack,
    /// How often the body around has run, so many repeats out.
    Loops(usize),
    /// All in a collection in one.
    Reduce(Reducer),
    /// The keys, or the values, of a map.
    Column(bool),
    /// So many of a collection, after so many.
    Range(u64, u64),
    /// The last of a collection.
    Tail(u64),
    /// A collection in order.
    Order(Vec<(Projection, Sorting)>),
    /// A collection, each once.
    Dedup,
    /// A function of texts, lists, numbers or dates.
    Scalar(Scalar),
    /// An element as a map; of a vertex, what a traversal says is to be seen.
    ElementMap(MapShape, Vec<Projection>, Option<Child>),
    /// The element that a property belongs to.
    Element,
    /// Several of what counts of a traverser, by name.
    Project(Vec<Name>, Vec<Projection>),
}

/// Maps each row to at most one item.
pub struct Map(pub Function);

impl Step for Map {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        if let Function::Constant(item) = &self.0 {
            let column = Column::repeated(item.clone(), batch.len());
            return Ok(Some(batch.follow(&Rows::All, column)));
        }
        let found = self.0.of(&batch, cx)?;
        if found.iter().all(Option::is_some) {
            let column = Column::of_items(found.into_iter().flatten().collect());
            return Ok(Some(batch.follow(&Rows::All, column)));
        }
        let (rows, items): (Vec<u32>, Vec<Item>) =
            (0..).zip(found).filter_map(|(row, item)| Some((row, item?))).unzip();
        Ok(Some(batch.follow(&Rows::Some(rows.into()), Column::of_items(items))))
    }
}

impl Function {
    fn of(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<Vec<Option<Item>>> {
        let mut each = |of: &mut dyn FnMut(Item) -> Result<Option<Item>>| {
            GrowingShare::all(batch.current.items().map(of), &mut cx.charge)
        };
        match self {
            Self::Constant(item) => Ok(vec![Some(item.clone()); batch.len()]),
            Self::Part(projection) => projection.of(batch, cx),
            Self::Select(names, by) => select(batch, names, by, cx),
            Self::SelectNamed(naming) => naming.of(batch, cx),
            Self::Path(part, by) => paths(batch, part, by, cx),
            Self::Sack => Ok(sack::sacks(batch, cx).into_iter().map(Some).collect()),
            Self::Loops(out) => {
                let loops = cx.loops.iter().rev().nth(*out).copied().unwrap_or(0);
                Ok(vec![Some(Item::from(loops as i32)); batch.len()])
            }
            Self::Element => each(&mut |item| Ok(item.as_property().map(owner_of))),
            Self::Reduce(reducer) => each(&mut |item| reduce(item, reducer)),
            Self::Column(keys) => each(&mut |item| column(&item, *keys).map(Some)),
            Self::Range(skip, limit) => {
                each(&mut |item| Ok(part(item, *skip as usize, skip.saturating_add(*limit) as usize)))
            }
            Self::Tail(count) => each(&mut |item| {
                let length = length(&item);
                Ok(part(item, length.saturating_sub(*count as usize), length))
            }),
            Self::Order(by) => grown(batch, cx, |item, cx| order(item, by, cx)),
            Self::Dedup => each(&mut |item| {
                let Some(items) = item.elements() else { return Ok(Some(item)) };
                Ok(Some(list::once(items.into_iter())))
            }),
            Self::Scalar(scalar) => scalar.of(batch, cx),
            Self::ElementMap(shape, by, visible) => {
                if let Some(elements) = AnnouncedElements::of(&batch.current, cx) {
                    elements.maps(shape);
                }
                grown(batch, cx, |item, cx| element_map(&item, shape, by, visible.as_mut(), cx).map(Some))
            }
            Self::Project(names, by) => project(batch, names, by, cx),
        }
    }
}

/// What `of` makes of each row of `batch`, each counted before the next is made.
fn grown(
    batch: &Batch,
    cx: &mut Context<'_>,
    mut of: impl FnMut(Item, &mut Context<'_>) -> Result<Option<Item>>,
) -> Result<Vec<Option<Item>>> {
    let (mut growth, mut all) = (GrowingShare::default(), Vec::with_capacity(batch.len()));
    for item in batch.current.items() {
        let made = of(item, cx)?;
        if let Some(made) = &made {
            growth.add(made, &mut cx.charge)?;
        }
        all.push(made);
    }
    Ok(all)
}

/// What `names` stand for in each row; nothing where one of them stands for nothing.
fn select(
    batch: &Batch,
    names: &[Selected],
    by: &mut [Projection],
    cx: &mut Context<'_>,
) -> Result<Vec<Option<Item>>> {
    let (mut columns, mut growth) = (Vec::with_capacity(names.len()), GrowingShare::default());
    for (at, selected) in names.iter().enumerate() {
        let aside = selected.side_effect.map(|number| side_effect::read(number, cx)).transpose()?;
        let mut found = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            let item = named(batch, row, selected, aside.as_ref(), cx);
            // A list of what a label named several times is made for each row.
            if let Some(Item::List(items)) = &item
                && aside.is_none()
            {
                growth.add_bytes(items.len() * size_of::<Item>(), &mut cx.charge)?;
            }
            found.push(item);
        }
        let turns = by.len().max(1);
        let column = match by.get_mut(at % turns) {
            None => found,
            Some(by) => of_found(batch, found, by, cx)?,
        };
        let copied: usize = column.iter().flatten().map(Item::copied_bytes).sum();
        growth.add_bytes(column.len() * ENTRY_BYTES + copied, &mut cx.charge)?;
        columns.push(column);
    }
    if let [_] = names {
        return Ok(columns.pop().unwrap_or_default());
    }
    let map = |row: usize| {
        let entry = |(selected, column): (&Selected, &Vec<Option<Item>>)| {
            Some((Item::from(&*selected.name), column[row].clone()?))
        };
        let entries = names.iter().zip(&columns).map(entry).collect::<Option<ItemMap>>()?;
        Some(Item::Map(Arc::new(entries)))
    };
    Ok((0..batch.len()).map(map).collect())
}

/// What a name stands for that is only known of each row: `select(select('a'))`.
pub struct ComputedName {
    /// What gives the name, or a key of a map.
    pub key: Projection,
    /// Which, of several that a label named.
    pub pop: Pop,
    /// What of it.
    pub by: Option<Projection>,
    /// The names of slots, by number.
    pub slots: Vec<Name>,
    /// The names of side effects, by number.
    pub side_effects: Vec<Name>,
}

impl ComputedName {
    fn of(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<Vec<Option<Item>>> {
        let keys = self.key.of(batch, cx)?;
        let mut found = Vec::with_capacity(keys.len());
        for (row, key) in keys.into_iter().enumerate() {
            let Some(key) = key else {
                found.push(None);
                continue;
            };
            let here = batch.current.get(row);
            let of_map = here.as_ref().and_then(|here| in_map(here, &key));
            found.push(match (of_map, key.as_str()) {
                (Some(item), _) => Some(item),
                (None, Some(name)) => self.stands_for(name, batch, row, cx)?,
                (None, None) => None,
            });
        }
        match &mut self.by {
            Some(by) => of_found(batch, found, by, cx),
            None => Ok(found),
        }
    }

    fn stands_for(
        &self,
        name: &str,
        batch: &Batch,
        row: usize,
        cx: &mut Context<'_>,
    ) -> Result<Option<Item>> {
        let number = |names: &[Name]| names.iter().position(|other| **other == *name);
        let selected = Selected {
            name: name.into(),
            slot: number(&self.slots),
            side_effect: number(&self.side_effects),
            pop: self.pop,
        };
        let side_effect = selected.side_effect.filter(|_| selected.slot.is_none());
        let aside = side_effect.map(|number| side_effect::read(number, cx)).transpose()?;
        Ok(named(batch, row, &selected, aside.as_ref(), cx))
    }
}

/// Where each row has been, or that part of it, each step seen as `by` says, by turns; `None` where a step has no such thing.
///
/// # Errors
/// `invalid` if the path has no such part; errors of reading.
pub fn paths(
    batch: &Batch,
    part: &PathPart,
    by: &mut [Projection],
    cx: &mut Context<'_>,
) -> Result<Vec<Option<Item>>> {
    let (mut found, mut growth) = (Vec::with_capacity(batch.len()), GrowingShare::default());
    for row in 0..batch.len() {
        let id = batch.path.as_ref().and_then(|path| path.get(row)).copied();
        let mut path = id.map(|id| cx.paths.path(id)).unwrap_or_else(|| Path::new(Vec::new()));
        if *part != PathPart::default() {
            path = path.between(part.from.as_deref(), part.to.as_deref()).ok_or_else(|| {
                let name = |name: &Option<Name>| name.as_deref().unwrap_or("...").to_owned();
                let (from, to) = (name(&part.from), name(&part.to));
                Error::invalid(format!("no part of the path lies between {from} and {to}, in this order"))
            })?;
        }
        if !by.is_empty() {
            let mut steps = Vec::with_capacity(path.steps().len());
            for (at, (item, labels)) in path.steps().iter().enumerate() {
                let turns = by.len();
                let step = Batch::new(Column::of_items(vec![item.clone()]), vec![0]);
                match by[at % turns].of(&step, cx)?.pop().flatten() {
                    Some(item) => steps.push((item, labels.clone())),
                    None => break,
                }
            }
            if steps.len() < path.steps().len() {
                found.push(None);
                continue;
            }
            path = Path::new(steps);
        }
        growth.add_bytes(path.extent().heap_bytes, &mut cx.charge)?;
        found.push(Some(Item::Path(Arc::new(path))));
    }
    Ok(found)
}

fn reduce(item: Item, reducer: &Reducer) -> Result<Option<Item>> {
    let items = match (&item, reducer) {
        (Item::Map(map), Reducer::Count) => return Ok(Some(Item::count(map.len() as u64))),
        (Item::Value(Value::Map(map)), Reducer::Count) => {
            return Ok(Some(Item::count(map.as_slice().len() as u64)));
        }
        (Item::Tree(tree), Reducer::Count) => return Ok(Some(Item::count(tree.branches().len() as u64))),
        _ => item.elements().unwrap_or_else(|| vec![item]),
    };
    let mut accumulator = Accumulator::default();
    items.into_iter().try_for_each(|item| accumulator.add_local(reducer, item))?;
    accumulator.finish(reducer)
}

fn column(item: &Item, keys: bool) -> Result<Item> {
    let chosen = |(key, value): (Item, Item)| if keys { key } else { value };
    let items: Vec<Item> = match item {
        Item::Map(map) => map.entries().iter().cloned().map(chosen).collect(),
        Item::Value(Value::Map(map)) => {
            let entries = map.as_slice().iter();
            entries
                .map(|(key, value)| chosen((Item::Value(key.clone()), Item::Value(value.clone()))))
                .collect()
        }
        Item::Entry(entry) => return Ok(chosen((**entry).clone())),
        Item::Path(path) if !keys => path.items().cloned().collect(),
        Item::Path(path) => {
            let labels = |labels: &Option<Labels>| {
                let names = labels.iter().flat_map(|labels| labels.iter());
                Item::Set(names.map(|name| Item::from(&**name)).collect())
            };
            return Ok(Item::List(path.steps().iter().map(|(_, names)| labels(names)).collect()));
        }
        other => {
            let what = if keys { "keys" } else { "values" };
            return Err(Error::invalid(format!(
                "select({what}) asks a map, an entry or a path, but found {}",
                other.kind()
            )));
        }
    };
    Ok(if keys { Item::Set(items.into()) } else { Item::List(items.into()) })
}

fn length(item: &Item) -> usize {
    match item {
        Item::Map(map) => map.len(),
        Item::Value(Value::Map(map)) => map.as_slice().len(),
        _ => item.elements().map_or(1, |items| items.len()),
    }
}

/// The part `first..end` of a collection; what isn't a collection stays as it is.
fn part(item: Item, first: usize, end: usize) -> Option<Item> {
    let cut = |length: usize| first.min(length)..end.min(length).max(first.min(length));
    let entries =
        |entries: &[(Item, Item)]| Item::Map(Arc::new(entries[cut(entries.len())].iter().cloned().collect()));
    Some(match &item {
        Item::Map(map) => entries(map.entries()),
        Item::Value(Value::Map(map)) => {
            let all: Vec<_> = map.as_slice().to_vec();
            entries(
                &all.into_iter()
                    .map(|(key, value)| (Item::Value(key), Item::Value(value)))
                    .collect::<Vec<_>>(),
            )
        }
        Item::Path(path) => {
            let steps = &path.steps()[cut(path.steps().len())];
            Item::Path(Arc::new(Path::new(steps.to_vec())))
        }
        Item::Set(items) => Item::Set(items[cut(items.len())].into()),
        _ => match item.elements() {
            Some(items) => Item::List(items[cut(items.len())].into()),
            None => return Some(item),
        },
    })
}

/// A collection in order: entries of a map by what `by` says of each.
fn order(item: Item, by: &mut [(Projection, Sorting)], cx: &mut Context<'_>) -> Result<Option<Item>> {
    let (items, is_map) = match &item {
        Item::Map(map) => {
            let entries = map.entries().iter().cloned();
            (entries.map(|entry| Item::Entry(Arc::new(entry))).collect::<Vec<_>>(), true)
        }
        _ => match item.elements() {
            Some(items) => (items, false),
            None => return Ok(Some(item)),
        },
    };
    let rows = Batch::new(Column::of_items(items.clone()), vec![0; items.len()]);
    let mut columns = Vec::new();
    for (by, sorting) in by {
        columns.push((by.of(&rows, cx)?, *sorting));
    }
    let mut places: Vec<usize> =
        (0..items.len()).filter(|row| columns.iter().all(|(column, _)| column[*row].is_some())).collect();
    places.sort_by(|left, right| {
        let by_column = columns.iter().map(|(column, sorting)| {
            let [left, right] = [*left, *right].map(|row| column[row].as_ref().unwrap_or(&Item::Null));
            match sorting {
                Sorting::Ascending | Sorting::Shuffle => relation::order(left, right),
                Sorting::Descending => relation::order(right, left),
            }
        });
        by_column.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    });
    let sorted = places.into_iter().map(|place| items[place].clone());
    Ok(Some(if is_map {
        let entries = sorted.filter_map(|item| match item {
            Item::Entry(entry) => Some((*entry).clone()),
            _ => None,
        });
        Item::Map(Arc::new(entries.collect()))
    } else {
        Item::List(sorted.collect())
    }))
}

/// An element as a map from keys to values.
fn element_map(
    item: &Item,
    shape: &MapShape,
    by: &mut [Projection],
    visible: Option<&mut Child>,
    cx: &mut Context<'_>,
) -> Result<Item> {
    let mut map = ItemMap::new();
    let alone = Column::of_items(vec![item.clone()]);
    for token in &shape.tokens {
        // A property has a key and a value where other elements have a label.
        let is_property = matches!(item, Item::Property(_));
        if !(is_property && *token == Token::Label)
            && let Some(part) = tokens(&alone, *token, cx)?.pop().flatten()
        {
            map.insert(Item::Token(*token), part);
        }
    }
    if let (Item::Edge(edge), false) = (item, shape.lists) {
        for (direction, vertex) in [(Direction::In, edge.target), (Direction::Out, edge.source)] {
            let end = Item::Vertex(vertex);
            let label = element::labels(&Column::of_items(vec![end.clone()]), cx)?.pop().flatten();
            let parts = [(Token::Id, element_id(&end)), (Token::Label, label)];
            let parts = parts.into_iter().filter_map(|(token, part)| Some((Item::Token(token), part?)));
            map.insert(Item::Direction(direction), Item::Map(Arc::new(parts.collect())));
        }
    }
    let (_, mut found) = element::properties(&alone, &shape.keys, cx)?;
    if let (Some(visible), Item::Vertex(_)) = (visible, item) {
        let items = found.iter().cloned().map(|property| Item::Property(Arc::new(property))).collect();
        let rows = Batch::new(Column::of_items(items), vec![0; found.len()]);
        let mut seen = visible.exists(&rows, cx)?.into_iter();
        found.retain(|_| seen.next() == Some(true));
    }
    let catalogue = cx.catalogue();
    let lists = shape.lists && matches!(item, Item::Vertex(_));
    for properties in found.chunk_by(|one, next| one.key == next.key) {
        let key = Item::from(&*catalogue.key_name(properties[0].key));
        let mut values = properties.iter().map(|property| match shape.properties {
            true => Item::Property(Arc::new(property.clone())),
            false => Item::Value(property.value.clone()),
        });
        // A map with one value of each key has the last of several, as TinkerPop's.
        let value = if lists { Some(Item::List(values.collect())) } else { values.next_back() };
        let Some(value) = value else { continue };
        let value = match by.first_mut() {
            None => Some(value),
            Some(by) => by.of(&Batch::new(Column::of_items(vec![value]), vec![0]), cx)?.pop().flatten(),
        };
        if let Some(value) = value {
            map.insert(key, value);
        }
    }
    if let (Item::Vertex(vertex), false) = (item, shape.properties) {
        for (key, value) in cx.computed.clone().of(*vertex, &shape.keys) {
            let value = if lists { Item::List([value].into()) } else { value };
            let value = match by.first_mut() {
                None => Some(value),
                Some(by) => by.of(&Batch::new(Column::of_items(vec![value]), vec![0]), cx)?.pop().flatten(),
            };
            value.into_iter().for_each(|value| map.insert(Item::from(&**key), value));
        }
    }
    Ok(Item::Map(Arc::new(map)))
}

/// Several of what counts of each row, by name; a name of which nothing does is left out.
fn project(
    batch: &Batch,
    names: &[Name],
    by: &mut [Projection],
    cx: &mut Context<'_>,
) -> Result<Vec<Option<Item>>> {
    let mut growth = GrowingShare::default();
    growth.add_bytes(batch.len() * (size_of::<ItemMap>() + size_of::<Item>()), &mut cx.charge)?;
    let mut maps = vec![ItemMap::new(); batch.len()];
    for (at, name) in names.iter().enumerate() {
        let turns = by.len().max(1);
        let found = match by.get_mut(at % turns) {
            Some(by) => by.of(batch, cx)?,
            None => batch.current.items().map(Some).collect(),
        };
        for (map, item) in maps.iter_mut().zip(found) {
            if let Some(item) = item {
                growth.add_bytes(ENTRY_BYTES + name.len() + item.copied_bytes(), &mut cx.charge)?;
                map.insert(Item::from(&**name), item);
            }
        }
    }
    Ok(maps.into_iter().map(|map| Some(Item::Map(Arc::new(map)))).collect())
}
