//! `PartitionStrategy`: a property holds an element's partition; a query reads some partitions and writes to one.
//!
//! What it writes it needn't see. An edge is seen if it is in a partition, whatever its ends are in; the ends are seen if
//! they are. Source: TinkerPop 3.8, `PartitionStrategy`.

use crate::plan::function::Function;
use crate::plan::merge::{Described, MergeMap, NewProperty};
use crate::plan::operator::{By, Name, Operator, Plan, Test, Traversal};
use crate::plan::predicate::Predicate;
use crate::plan::scalar::Scalar;
use crate::strategy::subgraph::Subgraph;
use crate::value::item::Item;
use crate::value::list::{Given, ListFunction};
use crate::value::map::ItemMap;
use std::sync::Arc;

/// Which partitions are seen, and which is written to.
#[derive(Clone, PartialEq, Debug)]
pub struct Partition {
    /// The key of the property that says it.
    pub key: Name,
    /// Where new elements go; none can be added if nothing is said.
    pub write: Option<Name>,
    /// Which are seen.
    pub read: Vec<Name>,
}

impl Partition {
    /// Changes `plan`.
    ///
    /// # Errors
    /// If it adds elements and there is no partition to write to.
    pub(super) fn apply(&self, plan: &mut Plan) -> Result<(), String> {
        let read = self.read.iter().map(|name| Item::from(&**name)).collect();
        let seen = Operator::Filter(vec![Test::Property(self.key.clone(), Predicate::Within(read))]);
        let seen = Traversal { operators: vec![seen] };
        let subgraph = Subgraph { vertices: seen.clone(), edges: seen, ..Subgraph::default() };
        subgraph.apply(&mut plan.root);
        let mut adds = false;
        plan.root.visit(&mut |traversal: &mut Traversal| {
            for operator in &mut traversal.operators {
                match operator {
                    Operator::AddVertex { properties, .. } | Operator::AddEdge { properties, .. } => {
                        adds = true;
                        // The last of a key counts: nobody writes elsewhere.
                        properties.extend(self.property());
                    }
                    Operator::Merge(merge) => {
                        adds = true;
                        self.describe(&mut merge.map);
                    }
                    _ => {}
                }
            }
        });
        if adds && self.write.is_none() {
            return Err(
                "PartitionStrategy: the query adds elements, but no writePartition is given".to_owned()
            );
        }
        Ok(())
    }

    /// What is written besides what the query says.
    fn property(&self) -> Option<NewProperty> {
        let item = |name: &Name| By::Item(Item::from(&**name));
        self.write.as_ref().map(|write| NewProperty::from((item(&self.key), item(write))))
    }

    /// What is merged is looked for, and added, in the partition that is written to.
    fn describe(&self, map: &mut MergeMap) {
        let Some(write) = &self.write else { return };
        let value = Item::from(&**write);
        match map {
            MergeMap::Literal(description) => {
                description.properties.retain(|property| property.key != self.key);
                description.properties.push(Described { key: self.key.clone(), value, cardinality: None });
            }
            MergeMap::Of(by) => {
                let entry = ItemMap::from_iter([(Item::from(&*self.key), value)]);
                let entry = By::Item(Item::Map(Arc::new(entry)));
                let more = Function::Scalar(Scalar::List(ListFunction::Merge, Given::Literal, entry));
                let mut operators = match std::mem::replace(by, By::Itself) {
                    By::Child(of) => vec![Operator::Child { of, all: false }],
                    _ => Vec::new(),
                };
                operators.push(Operator::Map(more));
                *by = By::Child(Traversal { operators });
            }
        }
    }
}
