//! Parts: what is within an operator, to be read; `visit` beside this changes it.

use crate::plan::algorithm::Selection;
use crate::plan::function::Function;
use crate::plan::merge::{Merge, MergeMap, NewProperty};
use crate::plan::operator::{Ask, By, Case, Chooser, Group, GroupValue, Operator, Traversal};
use crate::plan::scalar::Scalar;

/// A traversal within an operator, and what it is there for.
pub type Part<'p> = (&'static str, &'p Traversal);

impl Operator {
    /// What it asks of a traverser, one thing after the other: each `by()` and its like.
    #[must_use]
    pub fn asks(&self) -> Vec<&By> {
        match self {
            Self::WhereBy { by, .. }
            | Self::Dedup { by, .. }
            | Self::SimplePath { by, .. }
            | Self::Tree { by, .. } => by.iter().collect(),
            Self::Sample { by, .. } => by.iter().collect(),
            Self::Aggregate { by, .. } | Self::SetSack { by, .. } => vec![by],
            Self::Order(by) | Self::Top(by, _) => by.iter().map(|(by, _)| by).collect(),
            Self::Map(function) => function.asks(),
            Self::Group(Group { key, value, .. }) => match value {
                GroupValue::List(by) => vec![key, by],
                GroupValue::Traversal(_) | GroupValue::Count => vec![key],
            },
            Self::Choose(choose) => match &choose.on {
                Chooser::By(by) => vec![by],
                Chooser::Exists(_) => Vec::new(),
            },
            Self::Branch(branch) => vec![&branch.on],
            Self::Call(call) => call.asks(),
            Self::ShortestPaths(paths) => paths.distance.iter().collect(),
            Self::Merge(merge) => {
                let Merge { map, on_create, on_match, ends, .. } = &**merge;
                let maps = [Some(map), on_create.as_ref(), on_match.as_ref()].into_iter().flatten();
                let asked = maps.chain(ends.iter().flatten()).filter_map(|map| match map {
                    MergeMap::Of(by) => Some(by),
                    MergeMap::Literal(_) => None,
                });
                asked.collect()
            }
            Self::AddVertex { label, properties } => {
                let written = properties.iter().flat_map(NewProperty::asks);
                [label].into_iter().chain(written).collect()
            }
            Self::AddEdge { edge_type, from, to, properties } => {
                let written = properties.iter().flat_map(NewProperty::asks);
                [edge_type, from, to].into_iter().chain(written).collect()
            }
            Self::SetProperties(properties) => properties.iter().flat_map(NewProperty::asks).collect(),
            Self::Vertices(_)
            | Self::Edges(_)
            | Self::Inject { .. }
            | Self::Expand(_)
            | Self::Bulk
            | Self::Parallel(_)
            | Self::EdgeEnds(_)
            | Self::Properties { .. }
            | Self::Unfold
            | Self::Filter(_)
            | Self::Where { .. }
            | Self::Any(_)
            | Self::As(_)
            | Self::Range { .. }
            | Self::Tail(_)
            | Self::Coin(_)
            | Self::Fail(_)
            | Self::Reduce(_)
            | Self::Cap(_)
            | Self::Union(_)
            | Self::Coalesce(_)
            | Self::Optional(_)
            | Self::Local(_)
            | Self::Child { .. }
            | Self::SideEffect(_)
            | Self::Subgraph(_)
            | Self::Barrier { .. }
            | Self::Repeat(_)
            | Self::Match(_)
            | Self::Analysis(_)
            | Self::Io(_)
            | Self::Drop => Vec::new(),
        }
    }

    /// The traversals within it, with what each is there for.
    #[must_use]
    pub fn parts(&self) -> Vec<Part<'_>> {
        let mut all: Vec<Part<'_>> =
            self.asks().into_iter().filter_map(|by| Some(("by", by.child()?))).collect();
        match self {
            Self::Where { of, .. }
            | Self::Optional(of)
            | Self::Local(of)
            | Self::Parallel(of)
            | Self::SideEffect(of)
            | Self::Child { of, .. } => all.push(("", of)),
            Self::Any(of) | Self::Union(of) | Self::Coalesce(of) => all.extend(of.iter().map(|of| ("", of))),
            Self::Expand(expand) => {
                let tests = [("edges", &expand.edges), ("vertices", &expand.vertices)];
                all.extend(tests.into_iter().filter(|(_, of)| !of.operators.is_empty()));
            }
            Self::Map(Function::ElementMap { shape, .. }) if !shape.visible.operators.is_empty() => {
                all.push(("visible", &shape.visible));
            }
            Self::Group(Group { value: GroupValue::Traversal(of), .. }) => all.push(("each", of)),
            Self::Choose(choose) => {
                if let Chooser::Exists(of) = &choose.on {
                    all.push(("if", of));
                }
                all.extend(choose.options.iter().map(|(_, of)| ("option", of)));
                all.extend(choose.none.iter().map(|of| ("none", of)));
                all.extend(choose.unproductive.iter().map(|of| ("unproductive", of)));
            }
            Self::Branch(branch) => {
                for (case, of) in &branch.options {
                    if let Case::Gives(asked) = case {
                        all.push(("if", asked));
                    }
                    all.push(("option", of));
                }
            }
            Self::Match(matched) => {
                let mut ways = Vec::new();
                matched.patterns.iter().for_each(|pattern| pattern.ways(&mut ways));
                all.extend(ways.into_iter().map(|of| ("pattern", of)));
            }
            Self::Analysis(analysis) => all.extend(analysis.selection.parts()),
            Self::ShortestPaths(paths) => {
                all.extend(paths.selection.parts());
                all.extend((!paths.target.operators.is_empty()).then_some(("target", &paths.target)));
            }
            Self::Repeat(repeat) => {
                all.push(("", &repeat.body));
                for (asked, name) in [(&repeat.until, "until"), (&repeat.emit, "emit")] {
                    if let Some((Ask::Exists(of), _)) = asked {
                        all.push((name, of));
                    }
                }
            }
            // What the others have within, they ask.
            _ => {}
        }
        all
    }
}

impl Selection {
    fn parts(&self) -> [Part<'_>; 2] {
        [("vertices", &self.vertices), ("edges", &self.edges)]
    }
}

impl Function {
    fn asks(&self) -> Vec<&By> {
        match self {
            Self::Select { by, .. }
            | Self::Path { by, .. }
            | Self::Project { by, .. }
            | Self::ElementMap { by, .. } => by.iter().collect(),
            Self::SelectNamed { key, by, .. } => [key].into_iter().chain(by).collect(),
            Self::LocalOrder(by) => by.iter().map(|(by, _)| by).collect(),
            Self::Scalar(scalar) => match scalar {
                Scalar::Concat(by) | Scalar::Format(_, by) | Scalar::Math { by, .. } => by.iter().collect(),
                Scalar::List(_, _, by) | Scalar::DateDifference(by) => vec![by],
                Scalar::Each(_) | Scalar::Sample(_) => Vec::new(),
            },
            Self::Constant(_)
            | Self::Id
            | Self::Label
            | Self::Key
            | Self::Value
            | Self::Element
            | Self::Sack
            | Self::Loops(_)
            | Self::Local(_)
            | Self::Column { .. }
            | Self::LocalRange { .. }
            | Self::LocalTail(_)
            | Self::LocalDedup => Vec::new(),
        }
    }
}

impl By {
    /// The traversal that it asks, if it does.
    #[must_use]
    pub fn child(&self) -> Option<&Traversal> {
        match self {
            Self::Child(of) => Some(of),
            Self::OrNull(by) => by.child(),
            Self::Itself | Self::Item(_) | Self::Key(_) | Self::Token(_) | Self::Slot(_) => None,
        }
    }
}
