//! Visiting all traversals within a plan.

use crate::plan::algorithm::Selection;
use crate::plan::function::Function;
use crate::plan::io::Io;
use crate::plan::merge::{MergeMap, NewProperty};
use crate::plan::operator::{Ask, By, Case, Chooser, Group, GroupValue, Operator, Traversal};
use crate::plan::scalar::Scalar;

impl Traversal {
    /// Calls `visitor` with each traversal within this one, the innermost first, and with this one at last.
    pub fn visit(&mut self, visitor: &mut impl FnMut(&mut Traversal)) {
        for operator in &mut self.operators {
            operator.visit(visitor);
        }
        visitor(self);
    }

    /// Whether a step in it, however deep, gathers in a side effect.
    #[must_use]
    pub fn gathers(&self) -> bool {
        self.operators.iter().any(|operator| {
            let itself = matches!(
                operator,
                Operator::Aggregate { .. }
                    | Operator::Subgraph(_)
                    | Operator::Tree { into: Some(_), .. }
                    | Operator::Group(Group { into: Some(_), .. })
            );
            itself || operator.parts().iter().any(|(_, of)| of.gathers())
        })
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

    /// Whether `is` is true of it, or of an operator in a traversal in it.
    fn has(&self, is: impl Fn(&Self) -> bool) -> bool {
        let mut has = is(self);
        if !has {
            self.clone().visit(&mut |traversal| has |= traversal.operators.iter().any(&is));
        }
        has
    }

    fn visit(&mut self, visitor: &mut impl FnMut(&mut Traversal)) {
        let mut all_by = |all: &mut Vec<By>| all.iter_mut().for_each(|by| by.visit(visitor));
        match self {
            Self::Where { of, .. }
            | Self::Optional(of)
            | Self::Local(of)
            | Self::Parallel(of)
            | Self::SideEffect(of)
            | Self::Child { of, .. } => of.visit(visitor),
            Self::Any(all) | Self::Union(all) | Self::Coalesce(all) => {
                all.iter_mut().for_each(|of| of.visit(visitor));
            }
            Self::Expand(expand) => {
                let asked = [&mut expand.edges, &mut expand.vertices];
                asked.into_iter().filter(|of| !of.operators.is_empty()).for_each(|of| of.visit(visitor));
            }
            Self::WhereBy { by, .. }
            | Self::Dedup { by, .. }
            | Self::SimplePath { by, .. }
            | Self::Tree { by, .. } => all_by(by),
            Self::Sample { by, .. } => by.iter_mut().for_each(|by| by.visit(visitor)),
            Self::Aggregate { by, .. } | Self::SetSack { by, .. } => by.visit(visitor),
            Self::Order(by) | Self::Top(by, _) => by.iter_mut().for_each(|(by, _)| by.visit(visitor)),
            Self::Map(function) => match function {
                Function::Select { by, .. } | Function::Path { by, .. } | Function::Project { by, .. } => {
                    all_by(by)
                }
                Function::ElementMap { shape, by } => {
                    all_by(by);
                    if !shape.visible.operators.is_empty() {
                        shape.visible.visit(visitor);
                    }
                }
                Function::Scalar(scalar) => match scalar {
                    Scalar::Concat(by) | Scalar::Format(_, by) | Scalar::Math { by, .. } => all_by(by),
                    Scalar::List(_, _, by) | Scalar::DateDifference(by) => by.visit(visitor),
                    Scalar::Each(_) | Scalar::Sample(_) => {}
                },
                Function::SelectNamed { key, by, .. } => {
                    key.visit(visitor);
                    by.iter_mut().for_each(|by| by.visit(visitor));
                }
                Function::LocalOrder(by) => by.iter_mut().for_each(|(by, _)| by.visit(visitor)),
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
            },
            Self::Group(group) => {
                group.key.visit(visitor);
                match &mut group.value {
                    GroupValue::List(by) => by.visit(visitor),
                    GroupValue::Traversal(of) => of.visit(visitor),
                    GroupValue::Count => {}
                }
            }
            Self::Choose(choose) => {
                match &mut choose.on {
                    Chooser::Exists(of) => of.visit(visitor),
                    Chooser::By(by) => by.visit(visitor),
                }
                choose.options.iter_mut().for_each(|(_, of)| of.visit(visitor));
                choose.none.iter_mut().chain(&mut choose.unproductive).for_each(|of| of.visit(visitor));
            }
            Self::Branch(branch) => {
                branch.on.visit(visitor);
                for (case, of) in &mut branch.options {
                    if let Case::Gives(asked) = case {
                        asked.visit(visitor);
                    }
                    of.visit(visitor);
                }
            }
            Self::Repeat(repeat) => {
                repeat.body.visit(visitor);
                for (ask, _) in repeat.until.iter_mut().chain(&mut repeat.emit) {
                    if let Ask::Exists(of) = ask {
                        of.visit(visitor);
                    }
                }
            }
            Self::Call(call) => call.asks_mut().for_each(|by| by.visit(visitor)),
            Self::Analysis(analysis) => analysis.selection.visit(visitor),
            Self::ShortestPaths(paths) => {
                paths.selection.visit(visitor);
                if !paths.target.operators.is_empty() {
                    paths.target.visit(visitor);
                }
                paths.distance.iter_mut().for_each(|by| by.visit(visitor));
            }
            Self::Match(matched) => {
                let mut of = |of: &mut Traversal| of.visit(visitor);
                matched.patterns.iter_mut().for_each(|pattern| pattern.traversals(&mut of));
            }
            Self::AddVertex { label, properties } => {
                label.visit(visitor);
                visit_properties(properties, visitor);
            }
            Self::AddEdge { edge_type, from, to, properties } => {
                [edge_type, from, to].into_iter().for_each(|by| by.visit(visitor));
                visit_properties(properties, visitor);
            }
            Self::SetProperties(properties) => visit_properties(properties, visitor),
            Self::Merge(merge) => {
                let options = [&mut merge.on_create, &mut merge.on_match].into_iter().chain(&mut merge.ends);
                for map in [&mut merge.map].into_iter().chain(options.flatten()) {
                    if let MergeMap::Of(by) = map {
                        by.visit(visitor);
                    }
                }
            }
            Self::Vertices(_)
            | Self::Edges(_)
            | Self::Inject { .. }
            | Self::EdgeEnds(_)
            | Self::Bulk
            | Self::Properties { .. }
            | Self::Unfold
            | Self::Filter(_)
            | Self::As(_)
            | Self::Range { .. }
            | Self::Tail(_)
            | Self::Coin(_)
            | Self::Fail(_)
            | Self::Reduce(_)
            | Self::Cap(_)
            | Self::Subgraph(_)
            | Self::Barrier { .. }
            | Self::Io(_)
            | Self::Drop => {}
        }
    }
}

impl Selection {
    fn visit(&mut self, visitor: &mut impl FnMut(&mut Traversal)) {
        self.vertices.visit(visitor);
        self.edges.visit(visitor);
    }
}

impl Operator {
    /// Calls `change` with each `by()` of this operator, and of no other within it.
    pub fn modulators(&mut self, change: &mut impl FnMut(&mut By)) {
        match self {
            Self::WhereBy { by, .. }
            | Self::Dedup { by, .. }
            | Self::SimplePath { by, .. }
            | Self::Tree { by, .. } => {
                by.iter_mut().for_each(change);
            }
            Self::Sample { by, .. } | Self::Map(Function::SelectNamed { by, .. }) => {
                by.iter_mut().for_each(change)
            }
            Self::Aggregate { by, .. } | Self::SetSack { by, .. } => change(by),
            Self::Order(by) | Self::Top(by, _) | Self::Map(Function::LocalOrder(by)) => {
                by.iter_mut().for_each(|(by, _)| change(by));
            }
            Self::Group(group) => {
                change(&mut group.key);
                if let GroupValue::List(by) = &mut group.value {
                    change(by);
                }
            }
            Self::Map(
                Function::Select { by, .. }
                | Function::Path { by, .. }
                | Function::Project { by, .. }
                | Function::ElementMap { by, .. }
                | Function::Scalar(Scalar::Format(_, by) | Scalar::Math { by, .. }),
            ) => by.iter_mut().for_each(change),
            // What says something else than by() is no modulator: the ends of an edge, an argument of concat().
            _ => {}
        }
    }
}

impl By {
    fn visit(&mut self, visitor: &mut impl FnMut(&mut Traversal)) {
        match self {
            Self::Child(of) => of.visit(visitor),
            Self::OrNull(by) => by.visit(visitor),
            Self::Itself | Self::Item(_) | Self::Key(_) | Self::Token(_) | Self::Slot(_) => {}
        }
    }
}

fn visit_properties(properties: &mut [NewProperty], visitor: &mut impl FnMut(&mut Traversal)) {
    for property in properties {
        property.key.visit(visitor);
        property.value.visit(visitor);
        for (key, value) in &mut property.properties {
            key.visit(visitor);
            value.visit(visitor);
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
