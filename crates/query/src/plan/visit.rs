//! Visiting all traversals within a plan.

use crate::plan::operator::{Ask, By, Case, Chooser, Function, Group, GroupValue, Operator, Traversal};
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
        let mut gathers = false;
        self.clone().visit(&mut |traversal| {
            gathers |= traversal.operators.iter().any(|operator| {
                matches!(
                    operator,
                    Operator::Aggregate { .. }
                        | Operator::Subgraph(_)
                        | Operator::Tree { into: Some(_), .. }
                        | Operator::Group(Group { into: Some(_), .. })
                )
            });
        });
        gathers
    }
}

impl Operator {
    fn visit(&mut self, visitor: &mut impl FnMut(&mut Traversal)) {
        let mut all_by = |all: &mut Vec<By>| all.iter_mut().for_each(|by| by.visit(visitor));
        match self {
            Self::Where { of, .. }
            | Self::Optional(of)
            | Self::Local(of)
            | Self::SideEffect(of)
            | Self::Child { of, .. } => of.visit(visitor),
            Self::Any(all) | Self::Union(all) | Self::Coalesce(all) => {
                all.iter_mut().for_each(|of| of.visit(visitor));
            }
            Self::WhereBy { by, .. } | Self::Dedup { by, .. } | Self::Tree { by, .. } => all_by(by),
            Self::Sample { by, .. } => by.iter_mut().for_each(|by| by.visit(visitor)),
            Self::Aggregate { by, .. } | Self::SetSack { by, .. } => by.visit(visitor),
            Self::Order(by) => by.iter_mut().for_each(|(by, _)| by.visit(visitor)),
            Self::Map(function) => match function {
                Function::Select { by, .. }
                | Function::Path { by }
                | Function::Project { by, .. }
                | Function::ElementMap { by, .. } => all_by(by),
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
            Self::Match(matched) => {
                let mut of = |of: &mut Traversal| of.visit(visitor);
                matched.patterns.iter_mut().for_each(|pattern| pattern.traversals(&mut of));
            }
            Self::AddVertex { label, properties } => {
                label.visit(visitor);
                visit_pairs(properties, visitor);
            }
            Self::AddEdge { edge_type, from, to, properties } => {
                [edge_type, from, to].into_iter().for_each(|by| by.visit(visitor));
                visit_pairs(properties, visitor);
            }
            Self::SetProperties(properties) => visit_pairs(properties, visitor),
            Self::Vertices(_)
            | Self::Edges(_)
            | Self::Inject { .. }
            | Self::Expand(_)
            | Self::EdgeEnds(_)
            | Self::Properties { .. }
            | Self::Unfold
            | Self::Filter(_)
            | Self::SimplePath { .. }
            | Self::As(_)
            | Self::Range { .. }
            | Self::Tail(_)
            | Self::Coin(_)
            | Self::Fail(_)
            | Self::Reduce(_)
            | Self::Cap(_)
            | Self::Subgraph(_)
            | Self::Barrier { .. }
            | Self::Drop => {}
        }
    }
}

impl By {
    fn visit(&mut self, visitor: &mut impl FnMut(&mut Traversal)) {
        if let Self::Child(of) = self {
            of.visit(visitor);
        }
    }
}

fn visit_pairs(pairs: &mut [(By, By)], visitor: &mut impl FnMut(&mut Traversal)) {
    for (key, value) in pairs {
        key.visit(visitor);
        value.visit(visitor);
    }
}
