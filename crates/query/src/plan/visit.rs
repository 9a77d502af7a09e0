//! Visiting all traversals within a plan.

use crate::plan::operator::{Ask, By, Chooser, Function, Group, GroupValue, Operator, Traversal};
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
            Self::Expand(expand) => {
                let asked = [&mut expand.edges, &mut expand.vertices];
                asked.into_iter().filter(|of| !of.operators.is_empty()).for_each(|of| of.visit(visitor));
            }
            Self::WhereBy { by, .. } | Self::Dedup { by, .. } | Self::Tree { by, .. } => all_by(by),
            Self::Sample { by, .. } => by.iter_mut().for_each(|by| by.visit(visitor)),
            Self::Aggregate { by, .. } => by.visit(visitor),
            Self::Order(by) => by.iter_mut().for_each(|(by, _)| by.visit(visitor)),
            Self::Map(function) => match function {
                Function::Select { by, .. } | Function::Path { by } | Function::Project { by, .. } => {
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
                Function::LocalOrder(by) => by.iter_mut().for_each(|(by, _)| by.visit(visitor)),
                Function::Constant(_)
                | Function::Id
                | Function::Label
                | Function::Key
                | Function::Value
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
            Self::Repeat(repeat) => {
                repeat.body.visit(visitor);
                for (ask, _) in repeat.until.iter_mut().chain(&mut repeat.emit) {
                    if let Ask::Exists(of) = ask {
                        of.visit(visitor);
                    }
                }
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
            | Self::Drop => {}
        }
    }
}

impl Operator {
    /// Calls `change` with each `by()` of this operator, and of no other within it.
    pub fn modulators(&mut self, change: &mut impl FnMut(&mut By)) {
        match self {
            Self::WhereBy { by, .. } | Self::Dedup { by, .. } | Self::Tree { by, .. } => {
                by.iter_mut().for_each(change);
            }
            Self::Sample { by, .. } => by.iter_mut().for_each(change),
            Self::Aggregate { by, .. } => change(by),
            Self::Order(by) | Self::Map(Function::LocalOrder(by)) => {
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
                | Function::Path { by }
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

fn visit_pairs(pairs: &mut [(By, By)], visitor: &mut impl FnMut(&mut Traversal)) {
    for (key, value) in pairs {
        key.visit(visitor);
        value.visit(visitor);
    }
}
