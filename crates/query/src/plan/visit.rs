//! Visit: all traversals inside a plan.

use crate::plan::function::Function;
use crate::plan::operator::{By, Operator, Traversal};
use crate::plan::scalar::Scalar;
use crate::stack::deeper;

impl Traversal {
    /// Calls `visitor` with each traversal within this one, the innermost first, and with this one at last.
    pub fn visit(&mut self, visitor: &mut impl FnMut(&mut Traversal)) {
        self.visit_all(visitor);
    }

    fn visit_all(&mut self, visitor: &mut dyn FnMut(&mut Traversal)) {
        for operator in &mut self.operators {
            deeper(|| operator.visit(visitor));
        }
        visitor(self);
    }
}

impl Operator {
    /// Whether it writes once for each traverser, and not once for a row that stands for several.
    #[must_use]
    pub fn writes_for_each(&self) -> bool {
        matches!(self, Self::AddVertex { .. } | Self::AddEdge { .. } | Self::Merge(_))
    }

    fn visit(&mut self, visitor: &mut dyn FnMut(&mut Traversal)) {
        for asked in self.asks_mut().into_iter().filter_map(By::child_mut) {
            asked.visit_all(visitor);
        }
        for (_, of) in self.ways_mut() {
            of.visit_all(visitor);
        }
    }

    /// Calls `change` with each `by()` of this operator, and of no other within it.
    pub fn modulators(&mut self, change: &mut impl FnMut(&mut By)) {
        match self {
            Self::Map(Function::SelectNamed { by, .. }) => by.iter_mut().for_each(change),
            // What says something else than by() is no modulator: the ends of an edge, an argument of concat().
            Self::Map(Function::Scalar(Scalar::Concat(_) | Scalar::List(..) | Scalar::DateDifference(_))) => {
            }
            Self::WhereBy { .. }
            | Self::Dedup { .. }
            | Self::SimplePath { .. }
            | Self::Tree { .. }
            | Self::Sample { .. }
            | Self::Aggregate { .. }
            | Self::SetSack { .. }
            | Self::Order(_)
            | Self::Top(..)
            | Self::Group(_)
            | Self::Map(_) => self.asks_mut().into_iter().for_each(change),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::bindings::Bindings;
    use crate::gremlin::compile::compile;
    use crate::gremlin::parser::ParseLimits;
    use crate::gremlin::read::read;

    fn root(text: &str) -> Traversal {
        let query = read(text, &ParseLimits::default(), &Bindings::new()).unwrap();
        compile(&query).unwrap().root
    }

    #[test]
    fn every_map_of_a_merge_is_visited() {
        let mut root = root(
            "g.mergeE(__.out()).option(Merge.onCreate, __.out()).option(Merge.onMatch, __.out()).
             option(Merge.outV, __.out()).option(Merge.inV, __.out())",
        );
        let mut visited = 0;
        root.visit(&mut |_| visited += 1);
        assert_eq!(visited, 6, "five maps and the whole");
    }
}
