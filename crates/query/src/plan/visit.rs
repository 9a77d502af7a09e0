//! Visiting all traversals within a plan.

use crate::plan::function::Function;
use crate::plan::io::Io;
use crate::plan::operator::{By, Group, Operator, Traversal};
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

    /// Whether a step in it, however deep, gathers in a side effect.
    #[must_use]
    pub fn gathers(&self) -> bool {
        self.operators.iter().any(Operator::gathers)
    }

    /// Whether one of `operators` writes, and one behind it needs no more once enough has come.
    #[must_use]
    pub fn stops_behind_a_write(operators: &[Operator]) -> bool {
        let stops = |operator: &Operator| {
            matches!(operator, Operator::Range { limit, .. } if *limit < u64::MAX)
                || matches!(operator, Operator::TimeLimit(_))
        };
        operators.iter().skip_while(|operator| !operator.writes()).any(stops)
    }

    /// Whether one of `operators` merges, and another one writes: a row's merge may find what the other wrote for a row before.
    #[must_use]
    pub fn merges_between_writes(operators: &[Operator]) -> bool {
        let is_merge = |operator: &Operator| matches!(operator, Operator::Merge(_));
        operators.iter().any(|operator| operator.has(is_merge))
            && operators.iter().filter(|operator| operator.writes()).count() > 1
    }
}

impl Operator {
    /// Whether it, or a traversal in it, gathers in a side effect.
    #[must_use]
    pub fn gathers(&self) -> bool {
        self.has(|operator| {
            matches!(
                operator,
                Self::Aggregate { .. }
                    | Self::Subgraph(_)
                    | Self::Tree { into: Some(_), .. }
                    | Self::Group(Group { into: Some(_), .. })
            )
        })
    }

    /// Whether it, or a traversal in it, writes to the graph.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.has(|operator| {
            matches!(
                operator,
                Self::AddVertex { .. }
                    | Self::AddEdge { .. }
                    | Self::SetProperties(_)
                    | Self::Merge(_)
                    | Self::Drop
                    | Self::Io(Io { to_file: false, .. })
            )
        })
    }

    /// Whether a traversal in it deletes elements.
    #[must_use]
    pub fn drops_within(&self) -> bool {
        let drops = |operator: &Self| matches!(operator, Self::Drop);
        !drops(self) && self.has(drops)
    }

    /// Whether it writes once for each traverser, and not once for a row that stands for several.
    #[must_use]
    pub fn writes_for_each(&self) -> bool {
        matches!(self, Self::AddVertex { .. } | Self::AddEdge { .. } | Self::Merge(_))
    }

    /// Whether `is` is true of it, or of an operator in a traversal in it.
    fn has(&self, is: impl Fn(&Self) -> bool + Copy) -> bool {
        let within = |of: &Traversal| of.operators.iter().any(|operator| operator.has(is));
        is(self) || self.parts().into_iter().any(|(_, of)| deeper(|| within(of)))
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

    #[test]
    fn a_merge_beside_another_write_goes_row_by_row() {
        let is_so = |text: &str| Traversal::merges_between_writes(&root(text).operators);
        assert!(is_so("g.inject(1).mergeV([:]).property('a', 1)"));
        assert!(is_so("g.inject(1).addV().map(__.mergeV([:]))"));
        assert!(!is_so("g.inject(1).mergeV([:]).out()"));
        assert!(!is_so("g.inject(1).addV().property('a', 1).drop()"));
    }
}
