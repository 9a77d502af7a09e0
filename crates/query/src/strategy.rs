//! Strategies: rules that a query requests by name, `g.withStrategies(...)`, or excludes, `g.withoutStrategies(...)`.
//!
//! Evergraph plans in its own way. So strategies that only make TinkerPop's engine faster, or guard it, are known here and
//! change nothing. Those that have a meaning are rules over the plan, with parameters; a file has those of one subject.
//!
//! | strategy | what it does here |
//! |---|---|
//! | `SubgraphStrategy` | shows only vertices, edges and properties of vertices that meet a condition: [`subgraph`] |
//! | `PartitionStrategy` | shows only elements of some partitions, writes to one: [`partition`] |
//! | `ProductiveByStrategy` | `by()` is null where it would give nothing: [`productive_by`] |
//! | `SeedStrategy` | `coin()`, `sample()` and `shuffle` fall alike at each run; the first and `sample(local, n)` as in TinkerPop |
//! | `OptionsStrategy` | options, as `with(key, value)` sets them |
//! | `ReadOnlyStrategy` | refuses what writes: [`verification`] |
//! | `EdgeLabelVerificationStrategy` | refuses a walk over edges of all types, if `throwException` is true |
//! | `ReservedKeysVerificationStrategy` | refuses to write properties with reserved keys, if `throwException` is true |
//! | `VertexProgramRestrictionStrategy` | refuses `VertexProgramStrategy` beside it |
//! | `ElementIdStrategy` | refuses queries that name ids: ids are Evergraph's own, and no property |
//! | `ConnectiveStrategy` | always there: it lets `and()` and `or()` stand between what they connect, unless it is left out |
//! | `VertexProgramStrategy` | nothing: there is one way to run a query, and the answers are the same |
//! | `AdjacentToIncidentStrategy`, `ByModulatorOptimizationStrategy`, `CountStrategy`, `EarlyLimitStrategy`, `FilterRankingStrategy`, `GValueReductionStrategy`, `GraphFilterStrategy`, `IdentityRemovalStrategy`, `IncidentToAdjacentStrategy`, `InlineFilterStrategy`, `LazyBarrierStrategy`, `MatchAlgorithmStrategy`, `MatchPredicateStrategy`, `MessagePassingReductionStrategy`, `OrderLimitStrategy`, `PathProcessorStrategy`, `PathRetractionStrategy`, `RepeatUnrollStrategy` | nothing: they make TinkerPop's engine faster |
//! | `ComputerFinalizationStrategy`, `HaltedTraverserStrategy`, `ProfileStrategy`, `ReferenceElementStrategy` | nothing: they say how results travel |
//! | `ComputerVerificationStrategy`, `LambdaRestrictionStrategy`, `StandardVerificationStrategy` | nothing: what they refuse can't be said |
//!
//! A strategy that is added again replaces the one before, as in TinkerPop. Whatever the order that they are named in,
//! verifications look at what was written; then a subgraph is seen within the partition, and `by()` is made productive at
//! last.
//!
//! Source: TinkerPop 3.8, `process/traversal/strategy`.

pub mod partition;
pub mod productive_by;
pub mod subgraph;
pub mod verification;

use crate::plan::operator::{Name, Plan};
use crate::strategy::partition::Partition;
use crate::strategy::subgraph::Subgraph;
use crate::value::item::Item;

/// Strategies that change nothing here, each with its options.
pub const WITHOUT_EFFECT: [(&str, &[&str]); 25] = [
    ("AdjacentToIncidentStrategy", &[]),
    ("ByModulatorOptimizationStrategy", &[]),
    ("ComputerFinalizationStrategy", &[]),
    ("ComputerVerificationStrategy", &[]),
    ("CountStrategy", &[]),
    ("EarlyLimitStrategy", &[]),
    ("FilterRankingStrategy", &[]),
    ("GValueReductionStrategy", &[]),
    ("GraphFilterStrategy", &[]),
    ("HaltedTraverserStrategy", &["haltedTraverserFactory"]),
    ("IdentityRemovalStrategy", &[]),
    ("IncidentToAdjacentStrategy", &[]),
    ("InlineFilterStrategy", &[]),
    ("LambdaRestrictionStrategy", &[]),
    ("LazyBarrierStrategy", &[]),
    ("MatchAlgorithmStrategy", &["matchAlgorithm"]),
    ("MatchPredicateStrategy", &[]),
    ("MessagePassingReductionStrategy", &[]),
    ("OrderLimitStrategy", &[]),
    ("PathProcessorStrategy", &[]),
    ("PathRetractionStrategy", &[]),
    ("ProfileStrategy", &[]),
    ("ReferenceElementStrategy", &[]),
    ("RepeatUnrollStrategy", &[]),
    ("StandardVerificationStrategy", &[]),
];

/// Strategies that have a meaning here.
pub const WITH_MEANING: [&str; 12] = [
    "ConnectiveStrategy",
    "EdgeLabelVerificationStrategy",
    "ElementIdStrategy",
    "OptionsStrategy",
    "PartitionStrategy",
    "ProductiveByStrategy",
    "ReadOnlyStrategy",
    "ReservedKeysVerificationStrategy",
    "SeedStrategy",
    "SubgraphStrategy",
    "VertexProgramRestrictionStrategy",
    "VertexProgramStrategy",
];

/// The names of all strategies that are known.
pub fn names() -> impl Iterator<Item = &'static str> {
    WITHOUT_EFFECT.iter().map(|(name, _)| *name).chain(WITH_MEANING)
}

/// A strategy with its options, in the order that strategies are applied in.
#[derive(Clone, PartialEq, Debug)]
pub enum Strategy {
    /// What writes is refused.
    ReadOnly,
    /// A walk over edges of all types is refused.
    EdgeLabelVerification,
    /// Properties with these keys aren't written.
    ReservedKeysVerification(Vec<Name>),
    /// Ids aren't named.
    ElementId,
    /// Only a part of the graph is seen.
    Subgraph(Subgraph),
    /// Only elements of some partitions are seen, and one is written to.
    Partition(Partition),
    /// `by()` is null where it would give nothing, but for that of these keys.
    ProductiveBy(Vec<Name>),
    /// What chance begins with.
    Seed(i64),
    /// How the query is run.
    Options(Vec<(Name, Item)>),
}

impl Strategy {
    /// Where in the order it is applied.
    #[must_use]
    pub fn rank(&self) -> u8 {
        match self {
            Self::ReadOnly
            | Self::EdgeLabelVerification
            | Self::ReservedKeysVerification(_)
            | Self::ElementId => 0,
            Self::Subgraph(_) => 1,
            Self::Partition(_) => 2,
            Self::ProductiveBy(_) => 3,
            Self::Seed(_) | Self::Options(_) => 4,
        }
    }

    /// Changes `plan`, to which no rule was applied yet, as the strategy says.
    ///
    /// # Errors
    /// Why the plan is refused.
    pub fn apply(&self, plan: &mut Plan) -> Result<(), String> {
        match self {
            Self::ReadOnly => verification::read_only(plan),
            Self::EdgeLabelVerification => verification::edge_labels(plan),
            Self::ReservedKeysVerification(keys) => verification::reserved_keys(plan, keys),
            Self::ElementId => verification::no_ids(plan),
            Self::Subgraph(subgraph) => {
                subgraph.apply(&mut plan.root);
                Ok(())
            }
            Self::Partition(partition) => partition.apply(plan),
            Self::ProductiveBy(keys) => {
                productive_by::apply(&mut plan.root, keys);
                Ok(())
            }
            Self::Seed(seed) => {
                plan.seed = Some(*seed);
                Ok(())
            }
            Self::Options(options) => {
                for (key, value) in options {
                    plan.options.retain(|(other, _)| other != key);
                    plan.options.push((key.clone(), value.clone()));
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::function::{Function, MapShape, PathPart, Pop};
    use crate::plan::merge::{Merge, MergeMap, Merged, NewProperty};
    use crate::plan::operator::{
        Ask, Branch, By, Case, Choose, Chooser, Expand, ExpandTo, Group, GroupValue, Operator, Repeat,
        Sorting, Traversal,
    };
    use crate::plan::pattern::{Match, PathPattern, Pattern};
    use crate::plan::predicate::Predicate;
    use crate::plan::scalar::{Part, Scalar};
    use crate::value::combine::Combine;
    use crate::value::list::{Given, ListFunction};
    use crate::value::math::Formula;
    use evergraph_graph::id::Direction;

    #[test]
    fn the_table_says_what_each_strategy_does() {
        let table: Vec<&str> =
            include_str!("strategy.rs").lines().filter(|line| line.starts_with("//! |")).collect();
        let named = |row: &&str| row.split('|').nth(1).unwrap_or_default().to_owned();
        for name in names() {
            let rows = table.iter().filter(|row| named(row).contains(&format!("`{name}`")));
            assert_eq!(rows.count(), 1, "{name}");
        }
        let all: usize = table.iter().map(|row| named(row).matches("Strategy`").count()).sum();
        assert_eq!(all, names().count(), "the table names one that isn't known");
    }

    /// One of each operator that has traversals within. The hops in there, one each, are over types 0, 1, 2 ...; how many
    /// there are comes with them.
    fn all_with_children() -> (Vec<Operator>, usize) {
        let hops = std::cell::Cell::new(0_usize);
        let of = || {
            let types = Some(vec![Name::from(hops.get().to_string())]);
            hops.set(hops.get() + 1);
            let hop = Expand::new(Direction::Out, types, ExpandTo::Neighbors);
            Traversal { operators: vec![Operator::Expand(hop)] }
        };
        let by = || By::Child(of());
        let sorted = || vec![(by(), Sorting::Ascending)];
        let scalar = |scalar| Operator::Map(Function::Scalar(scalar));
        let shape =
            MapShape { visible: of(), keys: Vec::new(), lists: true, properties: false, tokens: Vec::new() };
        let formula = Formula::read("_ + 1").unwrap();
        let group = |key, value| Operator::Group(Group { key, value, into: None });
        let some = Expand::new(Direction::Out, Some(Vec::new()), ExpandTo::Neighbors);
        let operators = vec![
            Operator::Expand(Expand { edges: of(), vertices: of(), ..some }),
            Operator::Where { of: of(), gives: true },
            Operator::WhereBy { left: None, predicate: Predicate::Or(Vec::new()), by: vec![by(), by()] },
            Operator::Any(vec![of(), of()]),
            Operator::Sample { count: 1, by: Some(by()) },
            Operator::Dedup { slots: Vec::new(), by: vec![by()] },
            Operator::Order(sorted()),
            Operator::Top(sorted(), 1),
            group(by(), GroupValue::List(by())),
            group(by(), GroupValue::Traversal(of())),
            Operator::Tree { into: None, by: vec![by()] },
            Operator::Aggregate { into: 0, by: by() },
            Operator::Union(vec![of(), of()]),
            Operator::Coalesce(vec![of(), of()]),
            Operator::Optional(of()),
            Operator::Choose(Choose {
                on: Chooser::Exists(of()),
                options: vec![(Vec::new(), of()), (Vec::new(), of())],
                none: Some(of()),
                unproductive: Some(of()),
            }),
            Operator::Choose(Choose {
                on: Chooser::By(by()),
                options: Vec::new(),
                none: None,
                unproductive: None,
            }),
            Operator::Local(of()),
            Operator::Child { of: of(), all: true },
            Operator::SideEffect(of()),
            Operator::Repeat(Box::new(Repeat {
                body: of(),
                name: None,
                until: Some((Ask::Exists(of()), true)),
                emit: Some((Ask::Exists(of()), false)),
            })),
            Operator::AddVertex { label: by(), properties: vec![(by(), by()).into()] },
            Operator::AddEdge {
                edge_type: by(),
                from: by(),
                to: By::OrNull(Box::new(by())),
                properties: vec![(by(), by()).into()],
            },
            Operator::SetProperties(vec![NewProperty {
                properties: vec![(by(), by())],
                ..(by(), by()).into()
            }]),
            Operator::SetSack { how: Combine::Assign, by: by() },
            Operator::Branch(Branch {
                on: by(),
                options: vec![(Case::Gives(of()), of()), (Case::Any, of())],
            }),
            Operator::Match(Match {
                begin: 0,
                starts: Vec::new(),
                answer: Vec::new(),
                patterns: vec![Pattern::Any(vec![vec![Pattern::Path(PathPattern {
                    from: None,
                    of: of(),
                    to: None,
                    needs: Vec::new(),
                })]])],
            }),
            Operator::Map(Function::SelectNamed { key: by(), pop: Pop::Last, by: Some(by()) }),
            Operator::Merge(Box::new(Merge {
                kind: Merged::Edges,
                map: MergeMap::Of(by()),
                on_create: Some(MergeMap::Of(by())),
                on_match: Some(MergeMap::Of(by())),
                ends: [Some(MergeMap::Of(by())), Some(MergeMap::Of(by()))],
            })),
            Operator::Map(Function::Select { names: Vec::new(), by: vec![by()] }),
            Operator::Map(Function::Path { part: PathPart::default(), by: vec![by()] }),
            Operator::SimplePath { simple: true, part: PathPart::default(), by: vec![by()] },
            Operator::Map(Function::Project { names: Vec::new(), by: vec![by()] }),
            Operator::Map(Function::LocalOrder(sorted())),
            Operator::Map(Function::ElementMap { shape, by: vec![by()] }),
            scalar(Scalar::Concat(vec![by()])),
            scalar(Scalar::Format(vec![Part::By], vec![by()])),
            scalar(Scalar::Math { formula, names: Vec::new(), by: vec![by()] }),
            scalar(Scalar::List(ListFunction::Merge, Given::Traversal, by())),
            scalar(Scalar::DateDifference(by())),
        ];
        (operators, hops.get())
    }

    #[test]
    fn no_strategy_loses_a_traversal_within_another() {
        let seen = || Traversal {
            operators: vec![Operator::SimplePath { simple: true, part: PathPart::default(), by: Vec::new() }],
        };
        let subgraph =
            Subgraph { vertices: seen(), edges: seen(), properties: seen(), both_ends: true, added: true };
        let partition =
            Partition { key: "part".into(), write: Some("a".into()), read: vec!["a".into(), "b".into()] };
        for (strategy, narrows) in [
            (Strategy::Subgraph(subgraph), true),
            (Strategy::Partition(partition), true),
            (Strategy::ProductiveBy(Vec::new()), false),
            (Strategy::ReadOnly, false),
            (Strategy::EdgeLabelVerification, false),
            (Strategy::ReservedKeysVerification(vec!["id".into()]), false),
            (Strategy::ElementId, false),
            (Strategy::Seed(1), false),
        ] {
            let (operators, hops) = all_with_children();
            let mut plan = Plan { root: Traversal { operators }, ..Plan::default() };
            assert_eq!(strategy.apply(&mut plan), Ok(()), "{strategy:?}");
            let mut met = vec![0; hops];
            plan.root.visit(&mut |traversal| {
                for operator in &traversal.operators {
                    let Operator::Expand(Expand { types: Some(types), edges, vertices, .. }) = operator
                    else {
                        continue;
                    };
                    let Some(number) = types.first().and_then(|name| name.parse::<usize>().ok()) else {
                        continue;
                    };
                    met[number] += 1;
                    assert_eq!(!edges.operators.is_empty(), narrows, "{strategy:?}: edges of {number}");
                    assert_eq!(!vertices.operators.is_empty(), narrows, "{strategy:?}: vertices of {number}");
                }
            });
            assert_eq!(met, vec![1; hops], "{strategy:?}");
        }
    }

    #[test]
    fn what_an_edge_label_verification_refuses_may_be_anywhere() {
        let (operators, hops) = all_with_children();
        for unnamed in 0..hops {
            let mut plan = Plan { root: Traversal { operators: operators.clone() }, ..Plan::default() };
            plan.root.visit(&mut |traversal| {
                for operator in &mut traversal.operators {
                    if let Operator::Expand(expand) = operator
                        && expand.types == Some(vec![Name::from(unnamed.to_string())])
                    {
                        expand.types = None;
                    }
                }
            });
            assert!(Strategy::EdgeLabelVerification.apply(&mut plan).is_err(), "{unnamed}");
        }
    }
}
