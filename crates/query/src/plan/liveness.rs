//! Liveness: which slots of the frame anybody asks for.

use crate::plan::function::{Function, Selected};
use crate::plan::merge::{Merge, MergeMap};
use crate::plan::operator::{By, Case, Chooser, EdgeEnd, Group, GroupValue, Operator, Plan, Test, Traversal};
use crate::plan::predicate::Predicate;
use crate::plan::scalar::{Part, Scalar};

impl Plan {
    /// Whether each slot, by number, is asked for anywhere.
    ///
    /// Cost: one visit to every operator.
    #[must_use]
    pub fn asked_slots(&self) -> Vec<bool> {
        let mut asked = Asked(vec![false; self.slots.len()]);
        asked.by_traversal(&self.root);
        asked.0
    }
}

struct Asked(Vec<bool>);

impl Asked {
    fn by_traversal(&mut self, traversal: &Traversal) {
        for operator in &traversal.operators {
            self.by_operator(operator);
            operator.parts().into_iter().for_each(|(_, of)| self.by_traversal(of));
        }
    }

    fn slot(&mut self, slot: usize) {
        if let Some(asked) = self.0.get_mut(slot) {
            *asked = true;
        }
    }

    fn by(&mut self, by: &By) {
        match by {
            By::Slot(slot) => self.slot(*slot),
            By::OrNull(by) => self.by(by),
            By::Itself | By::Item(_) | By::Key(_) | By::Token(_) | By::Child(_) => {}
        }
    }

    fn all_by<'b>(&mut self, all: impl IntoIterator<Item = &'b By>) {
        all.into_iter().for_each(|by| self.by(by));
    }

    fn predicate(&mut self, predicate: &Predicate) {
        let mut slots = Vec::new();
        predicate.slots(&mut slots);
        slots.into_iter().for_each(|slot| self.slot(slot));
    }

    fn tests(&mut self, tests: &[Test]) {
        for test in tests {
            if let Test::Slot(slot, _) = test {
                self.slot(*slot);
            }
            test.predicate().into_iter().for_each(|predicate| self.predicate(predicate));
        }
    }

    fn selected<'s>(&mut self, all: impl IntoIterator<Item = &'s Selected>) {
        all.into_iter().filter_map(|selected| selected.slot).for_each(|slot| self.slot(slot));
    }

    /// What an operator asks for itself; the traversals within it are visited on their own.
    fn by_operator(&mut self, operator: &Operator) {
        match operator {
            Operator::Vertices(scan) | Operator::Edges(scan) => self.tests(&scan.tests),
            Operator::Filter(tests) => self.tests(tests),
            Operator::EdgeEnds(EdgeEnd::Other(slot)) => self.slot(*slot),
            Operator::WhereBy { left, predicate, by } => {
                left.iter().for_each(|slot| self.slot(*slot));
                self.predicate(predicate);
                self.all_by(by);
            }
            Operator::Dedup { slots, by } => {
                slots.iter().for_each(|slot| self.slot(*slot));
                self.all_by(by);
            }
            Operator::Sample { by, .. } => self.all_by(by),
            Operator::Aggregate { by, .. } | Operator::SetSack { by, .. } => self.by(by),
            // Its patterns share slots in ways of their own.
            Operator::Match(_) => self.0.fill(true),
            Operator::Branch(branch) => {
                self.by(&branch.on);
                for (case, _) in &branch.options {
                    if let Case::Is(predicate) = case {
                        self.predicate(predicate);
                    }
                }
            }
            Operator::Merge(merge) => {
                let Merge { map, on_create, on_match, ends, .. } = &**merge;
                let maps = [Some(map), on_create.as_ref(), on_match.as_ref()].into_iter().flatten();
                for map in maps.chain(ends.iter().flatten()) {
                    if let MergeMap::Of(by) = map {
                        self.by(by);
                    }
                }
            }
            Operator::Tree { by, .. } | Operator::SimplePath { by, .. } => self.all_by(by),
            Operator::Order(by) | Operator::Top(by, _) => self.all_by(by.iter().map(|(by, _)| by)),
            Operator::Group(Group { key, value, .. }) => {
                self.by(key);
                if let GroupValue::List(by) = value {
                    self.by(by);
                }
            }
            Operator::Choose(choose) => {
                if let Chooser::By(by) = &choose.on {
                    self.by(by);
                }
                let predicates = choose.options.iter().flat_map(|(predicates, _)| predicates);
                predicates.for_each(|predicate| self.predicate(predicate));
            }
            Operator::AddVertex { label, properties } => {
                self.by(label);
                self.all_by(properties.iter().flat_map(|property| [&property.key, &property.value]));
            }
            Operator::AddEdge { edge_type, from, to, properties } => {
                self.all_by([edge_type, from, to]);
                self.all_by(properties.iter().flat_map(|property| [&property.key, &property.value]));
            }
            Operator::SetProperties(properties) => {
                self.all_by(properties.iter().flat_map(|property| [&property.key, &property.value]));
            }
            Operator::Map(function) => self.by_function(function),
            Operator::Inject { .. }
            | Operator::Expand(_)
            | Operator::EdgeEnds(EdgeEnd::Source | EdgeEnd::Target | EdgeEnd::Both)
            | Operator::Bulk
            | Operator::Properties { .. }
            | Operator::Unfold
            | Operator::Where { .. }
            | Operator::Any(_)
            | Operator::As(_)
            | Operator::Range { .. }
            | Operator::Tail(_)
            | Operator::Coin(_)
            | Operator::Fail(_)
            | Operator::Reduce(_)
            | Operator::Cap(_)
            | Operator::Subgraph(_)
            | Operator::Barrier { .. }
            | Operator::Union(_)
            | Operator::Coalesce(_)
            | Operator::Optional(_)
            | Operator::Local(_)
            | Operator::Parallel(_)
            | Operator::Child { .. }
            | Operator::SideEffect(_)
            | Operator::Repeat(_)
            | Operator::Drop => {}
        }
    }

    fn by_function(&mut self, function: &Function) {
        match function {
            Function::Select { names, by } => {
                self.selected(names);
                self.all_by(by);
            }
            Function::Path { by, .. } | Function::Project { by, .. } | Function::ElementMap { by, .. } => {
                self.all_by(by);
            }
            // Which slot it is shows only when it runs.
            Function::SelectNamed { .. } => self.0.fill(true),
            Function::LocalOrder(by) => self.all_by(by.iter().map(|(by, _)| by)),
            Function::Scalar(scalar) => match scalar {
                Scalar::Concat(by) => self.all_by(by),
                Scalar::List(_, _, by) | Scalar::DateDifference(by) => self.by(by),
                Scalar::Format(parts, by) => {
                    self.selected(parts.iter().filter_map(|part| match part {
                        Part::Name(selected) => Some(selected),
                        Part::Text(_) | Part::By => None,
                    }));
                    self.all_by(by);
                }
                Scalar::Math { names, by, .. } => {
                    self.selected(names.iter().flatten());
                    self.all_by(by);
                }
                Scalar::Each(_) | Scalar::Sample(_) => {}
            },
            Function::Constant(_)
            | Function::Id
            | Function::Label
            | Function::Key
            | Function::Value
            | Function::Element
            | Function::Sack
            | Function::Loops(_)
            | Function::Local(_)
            | Function::Column { .. }
            | Function::LocalRange { .. }
            | Function::LocalTail(_)
            | Function::LocalDedup => {}
        }
    }
}
