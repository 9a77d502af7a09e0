//! Liveness: which slots of the frame are used.

use crate::plan::function::{Function, Selected};
use crate::plan::operator::{By, Case, EdgeEnd, Operator, Plan, Test, Traversal};
use crate::plan::predicate::Predicate;
use crate::plan::scalar::{Part, Scalar};
use crate::stack::deeper;

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
            operator.parts().into_iter().for_each(|(_, of)| deeper(|| self.by_traversal(of)));
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
        operator.asks().into_iter().for_each(|by| self.by(by));
        match operator {
            Operator::Vertices(scan) | Operator::Edges(scan) => self.tests(&scan.tests),
            Operator::Filter(tests) => self.tests(tests),
            Operator::EdgeEnds(EdgeEnd::Other(slot)) => self.slot(*slot),
            Operator::WhereBy { left, predicate, .. } => {
                left.iter().for_each(|slot| self.slot(*slot));
                self.predicate(predicate);
            }
            Operator::Dedup { slots, .. } => slots.iter().for_each(|slot| self.slot(*slot)),
            // Its patterns share slots in ways of their own.
            Operator::Match(_) => self.0.fill(true),
            Operator::Branch(branch) => {
                for (case, _) in &branch.options {
                    if let Case::Is(predicate) = case {
                        self.predicate(predicate);
                    }
                }
            }
            Operator::Choose(choose) => {
                let predicates = choose.options.iter().flat_map(|(predicates, _)| predicates);
                predicates.for_each(|predicate| self.predicate(predicate));
            }
            Operator::Map(function) => self.by_function(function),
            // What the others ask for was met above: slots stand in by(), in predicates and in names.
            _ => {}
        }
    }

    fn by_function(&mut self, function: &Function) {
        match function {
            Function::Select { names, .. } => self.selected(names),
            // Which slot it is shows only when it runs.
            Function::SelectNamed { .. } => self.0.fill(true),
            Function::Scalar(Scalar::Format(parts, _)) => {
                self.selected(parts.iter().filter_map(|part| match part {
                    Part::Name(selected) => Some(selected),
                    Part::Text(_) | Part::By => None,
                }));
            }
            Function::Scalar(Scalar::Math { names, .. }) => self.selected(names.iter().flatten()),
            _ => {}
        }
    }
}
