//! `PartitionStrategy`: a property says which partition an element is in; a query sees some partitions and writes to one.
//!
//! What it writes it needn't see. An edge is seen if it is in a partition, whatever its ends are in; the ends are seen if
//! they are. Source: TinkerPop 3.8, `PartitionStrategy`.

use crate::plan::merge::{Described, MergeMap};
use crate::plan::operator::{By, Name, Operator, Plan, Test, Traversal};
use crate::plan::predicate::Predicate;
use crate::strategy::subgraph::Subgraph;
use crate::value::item::Item;

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
        let (mut adds, mut hidden) = (false, false);
        plan.root.visit(&mut |traversal: &mut Traversal| {
            for operator in &mut traversal.operators {
                if let Operator::Merge(merge) = operator {
                    adds = true;
                    match (&mut merge.map, &self.write) {
                        (MergeMap::Literal(map), Some(write)) => {
                            let value = Item::from(&**write);
                            map.properties.retain(|property| property.key != self.key);
                            map.properties.push(Described {
                                key: self.key.clone(),
                                value,
                                cardinality: None,
                            });
                        }
                        (MergeMap::Of(_), Some(_)) => hidden = true,
                        (_, None) => {}
                    }
                }
                let (Operator::AddVertex { properties, .. } | Operator::AddEdge { properties, .. }) =
                    operator
                else {
                    continue;
                };
                adds = true;
                if let Some(write) = &self.write {
                    // The last of a key counts: nobody writes elsewhere.
                    let item = |name: &Name| By::Item(Item::from(&**name));
                    properties.push((item(&self.key), item(write)).into());
                }
            }
        });
        if adds && self.write.is_none() {
            return Err("PartitionStrategy: elements are added, and there is no writePartition".to_owned());
        }
        if hidden {
            let text = "PartitionStrategy: mergeV() and mergeE() need a map that the query spells out, so that its \
                        partition can be added";
            return Err(text.to_owned());
        }
        Ok(())
    }
}
