//! `mergeV`, `mergeE` and their options.
//!
//! What the query spells out is checked here, even where no row will ever need it: a wrong `onCreate` is an error although
//! everything is found.

use crate::error::Span;
use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::gremlin::compile::argument::{cardinality_of, direction_of, item};
use crate::gremlin::compile::compiler::{Calls, Compiled, Compiler, NamedMethod, not_yet, one, wrong};
use crate::gremlin::token::{Cardinality, Merge as MergeToken, Token};
use crate::plan::merge::{Description, Given, Merge, MergeMap, Merged, Role};
use crate::plan::operator::{By, Operator};
use evergraph_graph::id::Direction;

pub(super) const METHODS: &[NamedMethod] = &[
    one("mergeV", |compiler, call, calls| compiler.merge(Merged::Vertices, call, calls)),
    one("mergeE", |compiler, call, calls| compiler.merge(Merged::Edges, call, calls)),
];

impl Compiler {
    fn merge(&mut self, kind: Merged, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        self.writes = true;
        let map = match call.arguments.first() {
            Some(argument) => self.merge_map(argument, None, kind, Role::Wanted)?,
            // Who comes is the map.
            None => MergeMap::Of(By::Itself),
        };
        let mut merge = Merge { kind, map, on_create: None, on_match: None, ends: [None, None] };
        while let Some(option) = calls.next_if("option") {
            let (event, argument, cardinality) = match option.arguments.as_slice() {
                [event, argument] => (event, argument, None),
                [event, argument, Argument { kind: ArgumentKind::Token(Token::Cardinality(of)), .. }] => {
                    (event, argument, Some(*of))
                }
                _ => return Err(not_yet(option)),
            };
            let ArgumentKind::Token(Token::Merge(event)) = &event.kind else {
                return Err(wrong(event.span, "option() of a merge needs a token of Merge"));
            };
            match (event, kind) {
                (MergeToken::OnCreate, _) => {
                    let map = self.merge_map(argument, cardinality, kind, Role::Wanted)?;
                    agree(&merge.map, &map, option.span)?;
                    merge.on_create = Some(map);
                }
                (MergeToken::OnMatch, _) => {
                    merge.on_match = Some(self.merge_map(argument, cardinality, kind, Role::OnMatch)?);
                }
                (MergeToken::OutV | MergeToken::InV, Merged::Edges) => {
                    let end = self.merge_map(argument, None, Merged::Vertices, Role::Wanted)?;
                    merge.ends[usize::from(*event == MergeToken::InV)] = Some(end);
                }
                (MergeToken::OutV | MergeToken::InV, Merged::Vertices) => {
                    return Err(wrong(option.span, "Merge.outV and Merge.inV are for mergeE()"));
                }
            }
        }
        Ok(Operator::Merge(Box::new(merge)))
    }

    /// The map that an argument is; `cardinality` is of those values that say none themselves.
    fn merge_map(
        &mut self,
        argument: &Argument,
        cardinality: Option<Cardinality>,
        kind: Merged,
        role: Role,
    ) -> Compiled<MergeMap> {
        let entries = match &argument.kind {
            ArgumentKind::Traversal(calls) => {
                return Ok(MergeMap::Of(By::Child(self.traversal(calls)?)));
            }
            // Null says as little as an empty map.
            ArgumentKind::Null => return Ok(MergeMap::Literal(Description::default())),
            ArgumentKind::Map(entries) => entries,
            _ => return Err(wrong(argument.span, "a map or a traversal is needed here")),
        };
        let mut all = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let key = item(key)?;
            let given = match &value.kind {
                ArgumentKind::Token(Token::Merge(MergeToken::OutV)) => Given::End(Direction::Out),
                ArgumentKind::Token(Token::Merge(MergeToken::InV)) => Given::End(Direction::In),
                ArgumentKind::Token(Token::Direction(direction)) => {
                    return Err(wrong(
                        value.span,
                        format!("{:?} is a key, not a value", direction_of(*direction)),
                    ));
                }
                ArgumentKind::WithCardinality(cardinality, value) => {
                    Given::With(cardinality_of(*cardinality), item(value)?)
                }
                _ => match cardinality {
                    Some(cardinality) if key.as_str().is_some() => {
                        Given::With(cardinality_of(cardinality), item(value)?)
                    }
                    _ => Given::Item(item(value)?),
                },
            };
            all.push((key, given));
        }
        let description = Description::of(all, kind, role).map_err(|text| wrong(argument.span, text))?;
        Ok(MergeMap::Literal(description))
    }
}

/// Whether `created` says nothing else than `map`, if the query spells out both.
fn agree(map: &MergeMap, created: &MergeMap, span: Span) -> Compiled<()> {
    if let (MergeMap::Literal(wanted), MergeMap::Literal(created)) = (map, created) {
        wanted.clone().extended(created).map_err(|text| wrong(span, text))?;
    }
    Ok(())
}
