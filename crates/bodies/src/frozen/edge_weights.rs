//! Edge weights: what the edges of a projection weigh.
//!
//! ```text
//! no edge of the type, within the labels, has the property     one number, and no property is looked at
//! no edge of a body has it                                     one number for the body
//! every edge of a body has it, and they lie as plain f64       the column itself
//! else                                                         numbers converted from the column
//! ```
//!
//! Visitors get a weight for each neighbour. One number is an array as well, as long as the longest list, which all segments
//! share: it stays in the processor's cache.
//!
//! The catalogue is that of a snapshot, and was read after its timestamp was taken: it defines at least what the snapshot sees, and
//! no definition is taken back. A body that has a column all the same is an error: its in side, which has none, would weigh something
//! else.

use crate::edge_body::HUB_DEGREE;
use crate::edge_lists::EdgeLists;
use crate::frozen::stored_lists::StoredColumn;
use crate::net::{Effect, Net};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::packed_column::Packing;
use evergraph_graph::topology::Weight;
use evergraph_graph::value::Value;
use evergraph_storage::engine::FreezeRequest;
use evergraph_storage::sync::Mutex;
use std::sync::Arc;

/// Edges whose weights are converted between two looks at the column.
const CONVERTED_AT_ONCE: usize = 1 << 16;

/// The segment whose edges are weighed.
#[derive(Clone, Copy)]
pub(crate) struct WeighedSegment {
    pub(crate) group: GroupId,
    pub(crate) edge_type: TypeId,
}

/// The weights of one projection.
pub(crate) struct EdgeWeights<'a> {
    catalogue: &'a Catalogue,
    weight: &'a Weight,
    cancel: &'a CancelFlag,
    /// The types in the projection of which edges may have the property.
    types: Vec<TypeId>,
    /// The weight of edges without it, as often as it was needed so far.
    repeated: Mutex<Arc<[f64]>>,
}

impl<'a> EdgeWeights<'a> {
    /// The weights that a projection asks for, if it does. Cost: a look at each edge type.
    pub(crate) fn of(request: &FreezeRequest<'a>) -> Option<Self> {
        let FreezeRequest { catalogue, projection, cancel, .. } = *request;
        let weight = projection.weight.as_ref()?;
        let has_property =
            |edge_type: TypeId| catalogue.property_type(Owner::EdgeType(edge_type), weight.key).is_some();
        let is_within = |edge_type: TypeId| {
            projection.labels.as_ref().is_none_or(|labels| {
                let mut joins = catalogue.joins(edge_type);
                joins.any(|(source, target)| labels.contains(&source) && labels.contains(&target))
            })
        };
        let types = catalogue.edge_types().map(|(edge_type, _)| edge_type);
        let types = types.filter(|edge_type| projection.has_type(*edge_type));
        let types = types.filter(|edge_type| has_property(*edge_type) && is_within(*edge_type));
        Some(Self { catalogue, weight, cancel, types: types.collect(), repeated: Mutex::default() })
    }

    /// The property.
    pub(crate) fn key(&self) -> KeyId {
        self.weight.key
    }

    /// What is asked for.
    pub(crate) fn weight(&self) -> &'a Weight {
        self.weight
    }

    /// What each edge of `edge_type` weighs, if none of them has the property.
    pub(crate) fn of_all(&self, edge_type: TypeId) -> Option<f64> {
        self.weight.missing.filter(|_| !self.types.contains(&edge_type))
    }

    /// The error of a body with edges in the projection that have the property, though none of their type has, as the catalogue says.
    #[cold]
    pub(crate) fn undefined(&self, of: WeighedSegment) -> Error {
        let (edge_type, key) =
            (self.catalogue.edge_type_name(of.edge_type), self.catalogue.key_name(self.weight.key));
        let text = format!(
            "edges {edge_type} of group {} have the property `{key}`, which the catalogue does not define for them",
            of.group.0
        );
        Error::new(ErrorKind::Corrupt, text)
    }

    /// Whether there may be an edge whose property has to be looked at.
    pub(crate) fn reads_properties(&self) -> bool {
        self.weight.missing.is_none() || !self.types.is_empty()
    }

    /// Whether a column may have to be converted: because of its type, or of edges without the property.
    pub(crate) fn may_convert(&self) -> bool {
        let is_plain = |edge_type: &TypeId| {
            let value_type = self.catalogue.property_type(Owner::EdgeType(*edge_type), self.weight.key);
            value_type.is_some_and(|value_type| Packing::of(value_type) == Packing::Floats)
        };
        !self.types.is_empty() && (self.weight.missing.is_some() || !self.types.iter().all(is_plain))
    }

    /// `number`, the weight of edges without the property, `count` times or more. `reserve` is asked for the bytes first.
    ///
    /// # Errors
    /// Those of `reserve`.
    pub(crate) fn repeated(
        &self,
        number: f64,
        count: usize,
        mut reserve: impl FnMut(usize) -> Result<()>,
    ) -> Result<Arc<[f64]>> {
        let mut repeated = self.repeated.lock();
        if repeated.len() < count {
            // Who has a shorter one keeps it: all of those together are no longer than this one, if there is memory for twice as much.
            let mut length = count.max(2 * repeated.len());
            if let Err(refused) = reserve(length * size_of::<f64>()) {
                if length == count {
                    return Err(refused);
                }
                length = count;
                reserve(length * size_of::<f64>())?;
            }
            *repeated = std::iter::repeat_n(number, length).collect();
        }
        Ok(Arc::clone(&repeated))
    }

    /// A number for each edge of `lists`: that of the column's value, or the weight of edges without one.
    ///
    /// # Errors
    /// `invalid` for a value that is no number, or that is missing and must not be; `cancelled`; those of the column.
    pub(crate) fn converted<C: StoredColumn>(
        &self,
        lists: EdgeLists<'_>,
        column: Option<&C>,
        of: WeighedSegment,
    ) -> Result<Vec<f64>> {
        let count = lists.edges_count();
        let mut converted = Vec::with_capacity(count);
        while converted.len() < count {
            self.cancel.check()?;
            let places = converted.len()..count.min(converted.len() + CONVERTED_AT_ONCE);
            let part = column.map(|column| column.part(places.clone())).transpose()?;
            for at in places {
                let value = part.as_ref().map_or((None, false), |part| part.number(at));
                let row = || lists.row_at(at).expect("the place is one of an edge");
                converted.push(self.number_of(value, of, row, lists.neighbors()[at])?);
            }
        }
        Ok(converted)
    }

    /// The weight of an edge that is there after `net`, and had the weight `stored` before, if it was there.
    ///
    /// # Errors
    /// As [`EdgeWeights::converted`].
    pub(crate) fn after(&self, net: &Net, stored: Option<f64>, of: WeighedSegment) -> Result<f64> {
        let own = match &net.effect {
            Effect::Present(all) => Some(all.get(self.weight.key).flatten()),
            Effect::Changed(changes) => changes.get(self.weight.key),
            Effect::Absent => None,
        };
        let value = match (own, stored) {
            (Some(value), _) => (value.and_then(Value::as_f64), value.is_some()),
            (None, Some(stored)) => return Ok(stored),
            (None, None) => (None, false),
        };
        self.number_of(value, of, || net.key.row(), net.key.neighbor())
    }

    /// A weight from what the property holds: its number, and whether it has a value.
    fn number_of(
        &self,
        (number, is_present): (Option<f64>, bool),
        of: WeighedSegment,
        row: impl FnOnce() -> u16,
        target: u32,
    ) -> Result<f64> {
        match number.or(self.weight.missing.filter(|_| !is_present)) {
            Some(number) => Ok(number),
            None => {
                let why = if is_present { "has no number" } else { "has no value" };
                let (edge_type, key) =
                    (self.catalogue.edge_type_name(of.edge_type), self.catalogue.key_name(self.weight.key));
                let source = VertexId::new(of.group, row());
                Err(Error::invalid(format!(
                    "the edge {edge_type} from {source} to v{target} {why} as its weight `{key}`"
                )))
            }
        }
    }
}

/// As many edges as each of `lists` has at most, or more. Cost: a look; at each row, if the lists are long.
pub(crate) fn longest_list(lists: EdgeLists<'_>) -> usize {
    let edges_count = lists.edges_count();
    if edges_count <= HUB_DEGREE {
        return edges_count;
    }
    let mut longest = 0;
    lists.for_each_row(|_, range| longest = range.len().max(longest));
    longest
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::edge_body::EdgeBody;
    use crate::frozen::stored_lists::ColumnPart;
    use evergraph_graph::budget::{Budget, Unlimited};
    use evergraph_graph::id::{Direction, LabelId};
    use evergraph_graph::packed_column::PackedColumn;
    use evergraph_graph::schema_change::SchemaChange;
    use evergraph_graph::topology::Projection;
    use evergraph_graph::value::ValueType;
    use evergraph_storage::sync::atomic::{AtomicUsize, Ordering};
    use std::ops::Range;

    const KEY: KeyId = KeyId(2);

    /// Type 0 joins labels 0 and 1, type 1 label 1 alone. The second has floats, the first what is said, if anything.
    fn catalogue(first: Option<ValueType>) -> Catalogue {
        let mut catalogue = Catalogue::default();
        for (number, value_type) in [(0, first), (1, Some(ValueType::F64))] {
            let (id, name) = (TypeId(number), format!("T{number}").into());
            catalogue.apply(&SchemaChange::AddEdgeType { id, name, simple: false });
            let (source, target) = (LabelId(number), LabelId(1));
            catalogue.apply(&SchemaChange::Join { edge_type: id, source, target });
            if let Some(value_type) = value_type {
                let owner = Owner::EdgeType(id);
                catalogue.apply(&SchemaChange::DefineProperty { owner, key: KEY, value_type });
            }
        }
        catalogue
    }

    /// What `ask` says of the weights of a projection.
    fn asked<A>(
        catalogue: &Catalogue,
        projection: &Projection,
        ask: impl FnOnce(&EdgeWeights<'_>) -> A,
    ) -> A {
        let (budget, cancel): (Arc<dyn Budget>, _) = (Arc::new(Unlimited), CancelFlag::default());
        let request = FreezeRequest { catalogue, projection, budget: &budget, cancel: &cancel };
        ask(&EdgeWeights::of(&request).expect("weights are asked for"))
    }

    fn weighed(missing: Option<f64>) -> Projection {
        Projection { weight: Some(Weight { key: KEY, missing }), ..Projection::all(Direction::Out) }
    }

    #[test]
    fn one_number_does_for_types_whose_edges_within_the_labels_have_no_property() {
        let of_all = |catalogue: &Catalogue, projection: &Projection| {
            asked(catalogue, projection, |weights| {
                ([0, 1].map(|edge_type| weights.of_all(TypeId(edge_type))), weights.reads_properties())
            })
        };
        let (one, both) = (catalogue(None), catalogue(Some(ValueType::F64)));
        let all = weighed(Some(0.5));
        assert_eq!(of_all(&one, &all), ([Some(0.5), None], true));
        assert_eq!(of_all(&both, &all), ([None, None], true));
        let types = Projection { types: Some(vec![TypeId(0)]), ..all.clone() };
        assert_eq!(of_all(&one, &types), ([Some(0.5); 2], false));
        assert_eq!(of_all(&both, &types), ([None, Some(0.5)], true));
        // Edges of the first type leave label 0; those of the second are not among its vertices.
        let labels = |label| Projection { labels: Some(vec![LabelId(label)]), ..all.clone() };
        assert_eq!(of_all(&both, &labels(0)), ([Some(0.5); 2], false));
        assert_eq!(of_all(&both, &labels(1)), ([Some(0.5), None], true));
        assert_eq!(of_all(&one, &weighed(None)), ([None, None], true), "an edge without it is an error");
    }

    #[test]
    fn columns_of_floats_of_every_edge_are_not_converted() {
        let may_convert =
            |first, missing| asked(&catalogue(first), &weighed(missing), |weights| weights.may_convert());
        assert!(!may_convert(Some(ValueType::F64), None) && !may_convert(None, None));
        assert!(may_convert(Some(ValueType::I64), None), "a whole number");
        assert!(may_convert(None, Some(1.0)), "some edge of the second type may have none");
    }

    #[test]
    fn one_array_serves_all_lists_that_are_no_longer() {
        asked(&catalogue(None), &weighed(Some(0.5)), |weights| {
            let repeated = |count, wanted: &mut Vec<usize>| {
                weights.repeated(0.5, count, |bytes| {
                    wanted.push(bytes);
                    if bytes > 1000 { Err(Error::invalid("no memory")) } else { Ok(()) }
                })
            };
            let mut wanted = Vec::new();
            assert!(repeated(0, &mut wanted).unwrap().is_empty());
            let first = repeated(3, &mut wanted).unwrap();
            assert!(Arc::ptr_eq(&first, &repeated(2, &mut wanted).unwrap()));
            let second = repeated(4, &mut wanted).unwrap();
            assert!(second.len() >= 4 && first.iter().chain(&*second).all(|number| *number == 0.5));
            assert!(repeated(1000, &mut wanted).is_err());
            assert!(Arc::ptr_eq(&second, &repeated(4, &mut wanted).unwrap()));
            // What all take together is no more than twice the longest.
            assert_eq!(wanted, [3 * 8, 6 * 8, 8000]);
        });
    }

    #[test]
    fn where_there_is_no_memory_for_twice_as_many_weights_as_before_there_are_as_many_as_it_takes() {
        asked(&catalogue(None), &weighed(Some(0.5)), |weights| {
            let mut free = 20 * 8;
            let mut repeated = |count| {
                weights.repeated(0.5, count, |bytes| {
                    free = usize::checked_sub(free, bytes).ok_or_else(|| Error::invalid("no memory"))?;
                    Ok(())
                })
            };
            assert_eq!(repeated(8).unwrap().len(), 8);
            assert_eq!(repeated(9).unwrap().len(), 9, "twice the first would not fit beside it");
            assert!(repeated(10).is_err(), "neither does so much");
            assert_eq!(repeated(9).unwrap().len(), 9);
        });
    }

    /// A column of ones, during the first look at which somebody cancels.
    #[derive(Clone)]
    struct CancellingColumn {
        flag: CancelFlag,
        looks: Arc<AtomicUsize>,
    }

    impl StoredColumn for CancellingColumn {
        fn floats(&self) -> Result<Option<&[f64]>> {
            Ok(None)
        }

        fn part(&self, places: Range<usize>) -> Result<ColumnPart<'_>> {
            self.flag.cancel();
            self.looks.fetch_add(1, Ordering::Relaxed);
            let (one, first) = (Value::I64(1), places.start);
            let column = PackedColumn::from_values(places.map(|_| Some(&one)));
            Ok(ColumnPart::copied(column.expect("there are values"), first))
        }
    }

    #[test]
    fn a_conversion_ends_where_it_is_when_it_is_cancelled() {
        let (catalogue, projection, cancel) = (catalogue(None), weighed(None), CancelFlag::default());
        let budget: Arc<dyn Budget> = Arc::new(Unlimited);
        let request = FreezeRequest {
            catalogue: &catalogue,
            projection: &projection,
            budget: &budget,
            cancel: &cancel,
        };
        let weights = EdgeWeights::of(&request).unwrap();
        let converted = |edges_count: usize, cancelled: &CancelFlag| {
            let neighbors = (0..edges_count as u32).collect();
            let body = EdgeBody::new(&[edges_count as u32], neighbors, Box::default(), Vec::new());
            let column = CancellingColumn { flag: cancelled.clone(), looks: Arc::default() };
            let of = WeighedSegment { group: GroupId(0), edge_type: TypeId(1) };
            let converted = weights.converted(body.lists(), Some(&column), of);
            (converted, column.looks.load(Ordering::Relaxed))
        };
        let (whole, looks) = converted(CONVERTED_AT_ONCE + 1, &CancelFlag::default());
        assert_eq!((whole.unwrap(), looks), (vec![1.0; CONVERTED_AT_ONCE + 1], 2));
        let (error, looks) = converted(CONVERTED_AT_ONCE + 1, &cancel);
        assert_eq!((error.unwrap_err().kind(), looks), (ErrorKind::Cancelled, 1));
    }

    #[test]
    fn the_longest_list_is_found_where_lists_are_long() {
        let long = HUB_DEGREE as u32;
        let longest = |degrees: &[u32]| {
            let count: u32 = degrees.iter().sum();
            let body = EdgeBody::new(degrees, (0..count).collect(), Box::default(), Vec::new());
            longest_list(body.lists())
        };
        assert_eq!(longest(&[2, 0, 5, 1]), 8, "not worth a look");
        assert_eq!(longest(&[2, 0, long, 1]), HUB_DEGREE);
        assert_eq!(longest(&[]), 0);
    }
}
