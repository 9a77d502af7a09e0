//! Parts: the traversals inside an operator, for reading or changing them.
//!
//! What it asks of a traverser comes as [`By`]s, what it runs within as traversals; those of both kinds are its parts. One
//! macro says once which they are, for readers and for who changes them.

use crate::plan::algorithm::Selection;
use crate::plan::call::Call;
use crate::plan::function::Function;
use crate::plan::merge::{Merge, MergeMap, NewProperty};
use crate::plan::operator::{By, Case, Chooser, Group, GroupValue, Operator, RepeatCondition, Traversal};
use crate::plan::pattern::Pattern;
use crate::plan::scalar::Scalar;

/// A traversal within an operator, and what it is there for.
pub type Part<'p> = (&'static str, &'p Traversal);

/// The same, to be changed.
pub type PartMut<'p> = (&'static str, &'p mut Traversal);

macro_rules! parts {
    ($part:ident, $asks:ident, $parts:ident, $child:ident, $ways:ident, $iter:ident, $as_ref:ident $(, $mut:tt)?) => {
        impl Operator {
            /// What it asks of a traverser, one thing after the other: each `by()` and its like.
            #[must_use]
            pub fn $asks(&$($mut)? self) -> Vec<&$($mut)? By> {
                match self {
                    Self::WhereBy { by, .. }
                    | Self::Dedup { by, .. }
                    | Self::SimplePath { by, .. }
                    | Self::Tree { by, .. } => by.$iter().collect(),
                    Self::Sample { by, .. } => by.$iter().collect(),
                    Self::Aggregate { by, .. } | Self::SetSack { by, .. } => vec![by],
                    Self::Order(by) | Self::Top(by, _) => by.$iter().map(|(by, _)| by).collect(),
                    Self::Map(function) => function.$asks(),
                    Self::Group(Group { key, value, .. }) => match value {
                        GroupValue::List(by) => vec![key, by],
                        GroupValue::Traversal(_) | GroupValue::Count => vec![key],
                    },
                    Self::Choose(choose) => match &$($mut)? choose.on {
                        Chooser::By(by) => vec![by],
                        Chooser::Exists(_) => Vec::new(),
                    },
                    Self::Branch(branch) => vec![&$($mut)? branch.on],
                    Self::Call(call) => {
                        let Call { computed, options, .. } = &$($mut)? **call;
                        computed.$iter().chain(options.$iter().map(|(_, by)| by)).collect()
                    }
                    Self::ShortestPaths(paths) => paths.distance.$iter().collect(),
                    Self::Merge(merge) => {
                        let Merge { map, on_create, on_match, ends, .. } = &$($mut)? **merge;
                        let maps = [Some(map), on_create.$as_ref(), on_match.$as_ref()].into_iter().flatten();
                        let asked = maps.chain(ends.$iter().flatten()).filter_map(|map| match map {
                            MergeMap::Of(by) => Some(by),
                            MergeMap::Literal(_) => None,
                        });
                        asked.collect()
                    }
                    Self::AddVertex { label, properties } => {
                        let written = properties.$iter().flat_map(NewProperty::$asks);
                        [label].into_iter().chain(written).collect()
                    }
                    Self::AddEdge { edge_type, from, to, properties } => {
                        let written = properties.$iter().flat_map(NewProperty::$asks);
                        [edge_type, from, to].into_iter().chain(written).collect()
                    }
                    Self::SetProperties(properties) => {
                        properties.$iter().flat_map(NewProperty::$asks).collect()
                    }
                    Self::Vertices(_)
                    | Self::Edges(_)
                    | Self::Inject { .. }
                    | Self::Expand(_)
                    | Self::Bulk
                    | Self::Parallel(_)
                    | Self::Travel(_)
                    | Self::Exchange
                    | Self::EdgeEnds(_)
                    | Self::Properties { .. }
                    | Self::Unfold
                    | Self::Filter(_)
                    | Self::Where { .. }
                    | Self::Any(_)
                    | Self::As(_)
                    | Self::Range { .. }
                    | Self::Tail(_)
                    | Self::TimeLimit(_)
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

            /// The traversals that it runs, with what each is there for; not those that it asks.
            pub(super) fn $ways(&$($mut)? self) -> Vec<$part<'_>> {
                let mut all: Vec<$part<'_>> = Vec::new();
                match self {
                    Self::Where { of, .. }
                    | Self::Optional(of)
                    | Self::Local(of)
                    | Self::Parallel(of)
                    | Self::Travel(of)
                    | Self::SideEffect(of)
                    | Self::Child { of, .. } => all.push(("", of)),
                    Self::Any(of) | Self::Union(of) | Self::Coalesce(of) => {
                        all.extend(of.$iter().map(|of| ("", of)));
                    }
                    Self::Expand(expand) => {
                        let tests = [("edges", &$($mut)? expand.edges), ("vertices", &$($mut)? expand.vertices)];
                        all.extend(tests.into_iter().filter(|(_, of)| !of.operators.is_empty()));
                    }
                    Self::Map(Function::ElementMap { shape, .. }) if !shape.visible.operators.is_empty() => {
                        all.push(("visible", &$($mut)? shape.visible));
                    }
                    Self::Group(Group { value: GroupValue::Traversal(of), .. }) => all.push(("each", of)),
                    Self::Choose(choose) => {
                        if let Chooser::Exists(of) = &$($mut)? choose.on {
                            all.push(("if", of));
                        }
                        all.extend(choose.options.$iter().map(|(_, of)| ("option", of)));
                        all.extend(choose.none.$iter().map(|of| ("none", of)));
                        all.extend(choose.unproductive.$iter().map(|of| ("unproductive", of)));
                    }
                    Self::Branch(branch) => {
                        for (case, of) in &$($mut)? branch.options {
                            if let Case::Gives(asked) = case {
                                all.push(("if", asked));
                            }
                            all.push(("option", of));
                        }
                    }
                    Self::Match(matched) => {
                        let mut ways = Vec::new();
                        matched.patterns.$iter().for_each(|pattern| pattern.$ways(&mut ways));
                        all.extend(ways.into_iter().map(|of| ("pattern", of)));
                    }
                    Self::Analysis(analysis) => all.extend(analysis.selection.$parts()),
                    Self::ShortestPaths(paths) => {
                        all.extend(paths.selection.$parts());
                        let target = Some(&$($mut)? paths.target).filter(|of| !of.operators.is_empty());
                        all.extend(target.map(|of| ("target", of)));
                    }
                    Self::Repeat(repeat) => {
                        all.push(("", &$($mut)? repeat.body));
                        let asks = [(&$($mut)? repeat.until, "until"), (&$($mut)? repeat.emit, "emit")];
                        for (asked, name) in asks {
                            if let Some((RepeatCondition::Exists(of), _)) = asked {
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

        impl Pattern {
            /// Adds the traversals of the pattern.
            fn $ways<'p>(&'p $($mut)? self, all: &mut Vec<&'p $($mut)? Traversal>) {
                match self {
                    Self::Path(path) => all.push(&$($mut)? path.of),
                    Self::Any(of) => of.$iter().flatten().for_each(|pattern| pattern.$ways(all)),
                }
            }
        }

        impl Selection {
            fn $parts(&$($mut)? self) -> [$part<'_>; 2] {
                [("vertices", &$($mut)? self.vertices), ("edges", &$($mut)? self.edges)]
            }
        }

        impl NewProperty {
            fn $asks(&$($mut)? self) -> impl Iterator<Item = &$($mut)? By> {
                let own = self.properties.$iter().flat_map(|(key, value)| [key, value]);
                [&$($mut)? self.key, &$($mut)? self.value].into_iter().chain(own)
            }
        }

        impl Function {
            fn $asks(&$($mut)? self) -> Vec<&$($mut)? By> {
                match self {
                    Self::Select { by, .. }
                    | Self::Path { by, .. }
                    | Self::Project { by, .. }
                    | Self::ElementMap { by, .. } => by.$iter().collect(),
                    Self::SelectNamed { key, by, .. } => {
                        [key].into_iter().chain(by.$as_ref()).collect()
                    }
                    Self::LocalOrder(by) => by.$iter().map(|(by, _)| by).collect(),
                    Self::Scalar(scalar) => match scalar {
                        Scalar::Concat(by) | Scalar::Format(_, by) | Scalar::Math { by, .. } => {
                            by.$iter().collect()
                        }
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
            pub fn $child(&$($mut)? self) -> Option<&$($mut)? Traversal> {
                match self {
                    Self::Child(of) => Some(of),
                    Self::OrNull(by) => by.$child(),
                    Self::Itself | Self::Item(_) | Self::Key(_) | Self::Token(_) | Self::Slot(_) => None,
                }
            }
        }
    };
}

parts!(Part, asks, parts_of, child, ways, iter, as_ref);
parts!(PartMut, asks_mut, parts_of_mut, child_mut, ways_mut, iter_mut, as_mut, mut);

impl Operator {
    /// The traversals within it, with what each is there for.
    #[must_use]
    pub fn parts(&self) -> Vec<Part<'_>> {
        let asked = self.asks().into_iter().filter_map(|by| Some(("by", by.child()?)));
        asked.chain(self.ways()).collect()
    }
}
