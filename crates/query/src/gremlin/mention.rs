//! Mentions: the names of the graph that a query reads, each with its place, and those that it writes.
//!
//! ```text
//! g.V().hasLabel('Person').out('KNOWS').values('name')
//!                │              │              └── a property of what is a vertex for certain
//!                │              └── a type of edges, wherever it stands
//!                └── a label of vertices
//! ```
//!
//! Which names a step reads depends on where its traversers are ([`crate::gremlin::name`]), so the calls are followed with
//! what traversers can be at. A step that isn't known here leaves anything possible: a name may be missed, and none is
//! reported in error.

use crate::error::Span;
use crate::gremlin::call::{Argument, ArgumentKind, Call, Query, Strategy, Test};
use crate::gremlin::name::{NameKind, Places, Role};
use crate::gremlin::token::{Merge, T, Token};
use crate::plan::algorithm::{COMPONENT_PROPERTY, PAGE_RANK_PROPERTY, PEER_PRESSURE_PROPERTY};
use crate::plan::new_element::{DEFAULT_EDGE_LABEL, DEFAULT_LABEL};
use crate::stack::deeper;
use std::collections::HashMap;

/// The names of a query.
#[derive(Default, Debug)]
pub struct Mentions<'q> {
    /// Those that it reads, by their place in the query.
    pub read: Vec<Mention<'q>>,
    /// Those that it may write, of whatever kind, and properties that an algorithm sets for the query.
    pub written: Vec<&'q str>,
    /// Whether it may write any name, as `mergeV()` of a map that comes does.
    pub writes_any: bool,
}

/// A name that a query reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mention<'q> {
    /// What it names.
    pub kind: NameKind,
    /// The name.
    pub name: &'q str,
    /// Where it stands.
    pub span: Span,
}

impl<'q> Mentions<'q> {
    /// The names of `query`, which was checked.
    ///
    /// Cost: one visit to the calls.
    #[must_use]
    pub fn of(query: &'q Query) -> Self {
        let mut reader = Reader::default();
        reader.traversal(&query.calls, Places::OTHER);
        let mut all = reader.all;
        let mut read: Vec<Mention<'q>> = reader.found.iter().filter_map(Found::mention).collect();
        read.sort_by_key(|mention| mention.span.start);
        all.read = read;
        all
    }
}

/// A name, and what the traversers that are asked for it can be at.
struct Found<'q> {
    role: Role,
    at: Places,
    name: &'q str,
    span: Span,
}

impl<'q> Found<'q> {
    fn mention(&self) -> Option<Mention<'q>> {
        let kind = NameKind::of(self.role, self.at)?;
        Some(Mention { kind, name: self.name, span: self.span })
    }
}

/// Follows the calls of a query.
#[derive(Default)]
struct Reader<'q> {
    all: Mentions<'q>,
    found: Vec<Found<'q>>,
    /// What was given each name by `as()`.
    labels: HashMap<&'q str, Places>,
    /// All that a path can have been at.
    path: Places,
    /// Whether a body of a `repeat()` is being followed.
    in_body: bool,
}

/// The calls of a traversal that is being followed.
struct Cursor<'q> {
    calls: &'q [Call],
    next: usize,
}

impl<'q> Cursor<'q> {
    fn next(&mut self) -> Option<&'q Call> {
        let call = self.calls.get(self.next)?;
        self.next += 1;
        Some(call)
    }

    fn next_if(&mut self, names: &[&str]) -> Option<&'q Call> {
        let call = self.calls.get(self.next).filter(|call| names.contains(&&*call.name))?;
        self.next += 1;
        Some(call)
    }
}

impl<'q> Reader<'q> {
    /// Where traversers are after `calls` if they begin at `begin`.
    fn traversal(&mut self, calls: &'q [Call], begin: Places) -> Places {
        deeper(|| self.traversal_here(calls, begin))
    }

    fn traversal_here(&mut self, calls: &'q [Call], begin: Places) -> Places {
        // `and()` and `or()` without arguments stand between conditions, each of which begins at the same place.
        let connects = |call: &Call| call.arguments.is_empty() && matches!(&*call.name, "and" | "or");
        let source = match calls.iter().any(connects) {
            true => calls.iter().take_while(|call| is_source(call)).count(),
            false => calls.len(),
        };
        let from = self.chain(&calls[..source], begin);
        if source == calls.len() {
            return from;
        }
        for condition in calls[source..].split(connects) {
            self.chain(condition, from);
        }
        from
    }

    fn chain(&mut self, calls: &'q [Call], begin: Places) -> Places {
        let mut at = begin;
        let mut cursor = Cursor { calls, next: 0 };
        while let Some(call) = cursor.next() {
            at = self.step(call, at, &mut cursor);
            if !call.name.starts_with("with") {
                self.path = self.path.or(at);
            }
        }
        at
    }

    /// Where traversers are after `call` and the calls that say more about it.
    fn step(&mut self, call: &'q Call, at: Places, cursor: &mut Cursor<'q>) -> Places {
        let arguments = &*call.arguments;
        match &*call.name {
            "V" | "outV" | "inV" | "bothV" | "otherV" | "toV" => Places::VERTEX,
            "E" => Places::EDGE,
            "from" | "to" if !matches!(arguments, [Argument { kind: ArgumentKind::Token(_), .. }, ..]) => {
                self.nested_in(arguments, Places::OTHER);
                at
            }
            "out" | "in" | "both" | "to" => {
                self.texts(Role::EdgeType, arguments, at);
                Places::VERTEX
            }
            "outE" | "inE" | "bothE" | "toE" => {
                self.texts(Role::EdgeType, arguments, at);
                Places::EDGE
            }
            "properties" => {
                self.texts(Role::Property, arguments, at);
                if at.is_within(Places::ELEMENT) { Places::PROPERTY } else { Places::OTHER }
            }
            "values" | "elementMap" => {
                self.texts(Role::Property, arguments, at);
                Places::OTHER
            }
            "valueMap" | "propertyMap" => {
                self.texts(Role::Property, arguments, at);
                self.modulators(cursor, Places::OTHER);
                Places::OTHER
            }
            "has" => self.has(arguments, at),
            "hasLabel" => {
                arguments.iter().for_each(|argument| self.labels_in(argument, Role::Label, at));
                at
            }
            "hasKey" => {
                arguments.iter().for_each(|argument| self.labels_in(argument, Role::Key, at));
                at
            }
            "hasNot" => {
                self.texts(Role::Property, arguments, at);
                at
            }
            "where" | "filter" | "not" | "and" | "or" => {
                for calls in arguments.iter().filter_map(nested) {
                    self.condition(calls, at);
                }
                // where('a', eq('b')).by('name') is about what has these names.
                self.modulators(cursor, Places::OTHER);
                at
            }
            "as" => {
                for name in arguments.iter().filter_map(|argument| argument.kind.as_str()) {
                    let places = self.labels.entry(name).or_default();
                    *places = places.or(at);
                }
                at
            }
            "select" => self.select(arguments, at, cursor),
            "local" | "map" | "flatMap" => self.nested_in(arguments, at),
            "union" | "coalesce" => self.nested_in(arguments, at),
            "optional" => self.nested_in(arguments, at).or(at),
            "sideEffect" => {
                self.nested_in(arguments, at);
                at
            }
            "choose" | "branch" => self.choose(arguments, at, cursor),
            "repeat" | "until" | "emit" | "times" => self.repeat(call, at, cursor),
            "path" | "tree" | "simplePath" | "cyclicPath" => {
                self.modulators(cursor, self.path);
                let goes_on = arguments.len() == 1 || call.name.ends_with("Path");
                if goes_on { at } else { Places::OTHER }
            }
            "order" | "dedup" | "sample" | "sack" | "aggregate" if !arguments.iter().any(is_scope) => {
                if &*call.name == "sack" && arguments.is_empty() {
                    return Places::OTHER;
                }
                let labelled = &*call.name == "dedup" && !arguments.is_empty();
                self.modulators(cursor, if labelled { Places::OTHER } else { at });
                at
            }
            "group" | "groupCount" => {
                self.modulators(cursor, at);
                if arguments.is_empty() { Places::OTHER } else { at }
            }
            "project" => {
                self.modulators(cursor, at);
                Places::OTHER
            }
            "addV" | "addE" | "mergeV" | "mergeE" | "property" => self.write(call, at, cursor),
            "withStrategies" => {
                let strategies = arguments.iter().filter_map(|argument| match &argument.kind {
                    ArgumentKind::Strategy(strategy) => Some(strategy),
                    _ => None,
                });
                strategies.for_each(|strategy| self.strategy(strategy));
                at
            }
            // The names of properties that algorithms set are said so.
            "with" => {
                self.all.written.extend(arguments.iter().filter_map(|argument| argument.kind.as_str()));
                self.nested_in(arguments, Places::VERTEX);
                at
            }
            "pageRank" | "peerPressure" | "connectedComponent" => {
                self.all.written.extend([PAGE_RANK_PROPERTY, PEER_PRESSURE_PROPERTY, COMPONENT_PROPERTY]);
                at
            }
            "inject" => at.or(Places::OTHER),
            "drop" => Places::default(),
            "hasId" | "hasValue" | "is" | "all" | "any" | "none" | "coin" | "limit" | "skip" | "tail"
            | "range" | "timeLimit" | "discard" | "barrier" | "identity" | "fail" | "subgraph" | "order"
            | "sample" | "dedup" | "profile" | "withBulk" | "withPath" | "withSack" | "withSideEffect"
            | "withoutStrategies" => at,
            // Within a step that isn't known here, traversers may be at anything.
            _ => {
                self.nested_in(arguments, Places::OTHER);
                self.all.writes_any |= &*call.name == "io";
                Places::OTHER
            }
        }
    }

    /// Adds the texts among `arguments`, which mean what `role` says.
    fn texts(&mut self, role: Role, arguments: &'q [Argument], at: Places) {
        for argument in arguments {
            if let Some(name) = argument.kind.as_str() {
                self.found.push(Found { role, at, name, span: argument.span });
            }
        }
    }

    /// Adds the names that must be, or one of which must be, as `hasLabel(within('a', 'b'))` says.
    fn labels_in(&mut self, argument: &'q Argument, role: Role, at: Places) {
        match &argument.kind {
            ArgumentKind::List(all) | ArgumentKind::Set(all) => {
                all.iter().for_each(|argument| self.labels_in(argument, role, at));
            }
            ArgumentKind::Predicate(predicate)
                if matches!(predicate.test, Test::Eq | Test::Within | Test::Or) =>
            {
                predicate.arguments.iter().for_each(|argument| self.labels_in(argument, role, at));
            }
            _ => self.texts(role, std::slice::from_ref(argument), at),
        }
    }

    fn has(&mut self, arguments: &'q [Argument], at: Places) -> Places {
        let rest = match arguments {
            [label, rest @ ..] if rest.len() == 2 => {
                self.labels_in(label, Role::Label, at);
                rest
            }
            all => all,
        };
        match rest {
            [Argument { kind: ArgumentKind::Token(Token::T(T::Label)), .. }, value] => {
                self.labels_in(value, Role::Label, at);
            }
            [key, ..] => self.texts(Role::Property, std::slice::from_ref(key), at),
            [] => {}
        }
        self.nested_in(rest, Places::OTHER);
        at
    }

    /// A traversal within `where()`: a name at its start is where it begins.
    fn condition(&mut self, calls: &'q [Call], at: Places) {
        match calls.split_first() {
            Some((first, rest)) if &*first.name == "as" => {
                let name = first.arguments.first().and_then(|argument| argument.kind.as_str());
                let begin = name.and_then(|name| self.labels.get(name)).copied().unwrap_or(Places::OTHER);
                self.traversal(rest, begin);
            }
            _ => {
                self.traversal(calls, at);
            }
        }
    }

    /// Follows the traversals among `arguments`: where traversers are after one of them.
    fn nested_in(&mut self, arguments: &'q [Argument], at: Places) -> Places {
        let mut ends = Places::default();
        for argument in arguments {
            match &argument.kind {
                ArgumentKind::Traversal(calls) => ends = ends.or(self.traversal(calls, at)),
                ArgumentKind::Query(query) => {
                    self.traversal(&query.calls, Places::OTHER);
                }
                _ => {}
            }
        }
        ends
    }

    /// What follows a step and says which value of each is meant, if that is of what `at` says.
    fn modulators(&mut self, cursor: &mut Cursor<'q>, at: Places) {
        while let Some(by) = cursor.next_if(&["by"]) {
            self.texts(Role::Property, &by.arguments, at);
            self.nested_in(&by.arguments, at);
        }
    }

    fn select(&mut self, arguments: &'q [Argument], at: Places, cursor: &mut Cursor<'q>) -> Places {
        // A map has names of its own, and several of one name are a list.
        let names = arguments.iter().map(|argument| argument.kind.as_str());
        let labelled = |name: Option<&str>| name.and_then(|name| self.labels.get(name)).copied();
        let is_element = at.is_within(Places::ELEMENT.or(Places::PROPERTY));
        let selected = names.fold(Places::default(), |all, name| {
            all.or(labelled(name).filter(|_| is_element).unwrap_or(Places::OTHER))
        });
        self.nested_in(arguments, Places::OTHER);
        let before = cursor.next;
        self.modulators(cursor, selected);
        if arguments.len() == 1 && cursor.next == before { selected } else { Places::OTHER }
    }

    fn choose(&mut self, arguments: &'q [Argument], at: Places, cursor: &mut Cursor<'q>) -> Places {
        // The first says which way is taken, and rows that take none stay where they are.
        let (on, ways) = arguments.split_at(arguments.len().min(1));
        self.nested_in(on, at);
        let mut ends = self.nested_in(ways, at).or(at);
        while let Some(option) = cursor.next_if(&["option"]) {
            if let [key @ .., way] = &*option.arguments {
                self.nested_in(key, Places::OTHER);
                ends = ends.or(self.nested_in(std::slice::from_ref(way), at));
            }
        }
        ends
    }

    /// A `repeat()` and what modulates it, on both sides of it.
    fn repeat(&mut self, first: &'q Call, at: Places, cursor: &mut Cursor<'q>) -> Places {
        let (mut asked, mut body): (Vec<&'q Call>, Option<&'q Call>) = (Vec::new(), None);
        let mut next = Some(first);
        while let Some(call) = next {
            if &*call.name == "repeat" {
                body = Some(call);
            } else {
                asked.push(call);
            }
            let more: &[&str] = if body.is_some() {
                &["until", "emit", "times"]
            } else {
                &["repeat", "until", "emit", "times"]
            };
            next = cursor.next_if(more);
        }
        let arguments = body.map_or(&[][..], |body| &*body.arguments);
        let ends = self.body(arguments, at);
        for call in asked {
            self.nested_in(&call.arguments, ends);
        }
        ends
    }

    /// The body of a `repeat()`, which begins where it ends: where traversers can be before and after it.
    fn body(&mut self, arguments: &'q [Argument], at: Places) -> Places {
        // Of bodies within bodies only the innermost beginning is known.
        let at = at.resolved(Places::OTHER);
        if self.in_body {
            self.labels.values_mut().for_each(|places| *places = places.resolved(Places::OTHER));
            self.path = self.path.resolved(Places::OTHER);
        }
        let (first, was_in_body) = (self.found.len(), std::mem::replace(&mut self.in_body, true));
        let end = self.nested_in(arguments, Places::BODY);
        self.in_body = was_in_body;
        let begin = at.or(end.resolved(Places::default()));
        self.found[first..].iter_mut().for_each(|found| found.at = found.at.resolved(begin));
        self.labels.values_mut().for_each(|places| *places = places.resolved(begin));
        self.path = self.path.resolved(begin);
        begin
    }

    fn write(&mut self, call: &'q Call, at: Places, cursor: &mut Cursor<'q>) -> Places {
        self.written(call);
        self.nested_in(&call.arguments, at);
        match &*call.name {
            "property" => return at,
            "addV" => return Places::VERTEX,
            // From where an edge goes, and to where.
            "addE" => {
                while let Some(end) = cursor.next_if(&["from", "to"]) {
                    self.nested_in(&end.arguments, at);
                }
                return Places::EDGE;
            }
            _ => {}
        }
        while let Some(option) = cursor.next_if(&["option"]) {
            self.written(option);
            self.nested_in(&option.arguments, Places::OTHER);
        }
        if &*call.name == "mergeV" { Places::VERTEX } else { Places::EDGE }
    }

    /// Adds the names that `call` may write: its texts, and those of the keys and values of its map.
    fn written(&mut self, call: &'q Call) {
        let merges = call.name.starts_with("merge");
        self.all.writes_any |= merges && call.arguments.is_empty();
        let first = call.arguments.first().map(|argument| &argument.kind);
        if let Some(ArgumentKind::Token(Token::Merge(Merge::OutV | Merge::InV))) = first {
            return;
        }
        let key = usize::from(matches!(first, Some(ArgumentKind::Token(Token::Cardinality(_)))));
        for (at, argument) in call.arguments.iter().enumerate() {
            match &argument.kind {
                ArgumentKind::Map(entries) => {
                    let texts = entries.iter().flat_map(|(key, value)| [key, value]);
                    self.all.written.extend(texts.filter_map(|argument| argument.kind.as_str()));
                }
                // A value may be computed, but not what it is the value of.
                ArgumentKind::Traversal(_) => self.all.writes_any |= at == key || &*call.name != "property",
                kind => self.all.written.extend(kind.as_str()),
            }
        }
        // A label that is none has a name that nobody said.
        if &*call.name == "addV" && call.arguments.is_empty() || merges {
            self.all.written.extend([DEFAULT_LABEL, DEFAULT_EDGE_LABEL]);
        }
    }

    fn strategy(&mut self, strategy: &'q Strategy) {
        for (name, value) in &strategy.settings {
            let at = match &**name {
                "vertices" => Places::VERTEX,
                "edges" => Places::EDGE,
                "vertexProperties" => Places::PROPERTY,
                "partitionKey" => {
                    self.all.written.extend(value.kind.as_str());
                    continue;
                }
                _ => continue,
            };
            self.nested_in(std::slice::from_ref(value), at);
        }
    }
}

fn nested(argument: &Argument) -> Option<&[Call]> {
    match &argument.kind {
        ArgumentKind::Traversal(calls) => Some(calls),
        _ => None,
    }
}

fn is_scope(argument: &Argument) -> bool {
    matches!(argument.kind, ArgumentKind::Token(Token::Scope(_)))
}

/// Whether a traversal begins at the graph by `call`, or it is said before that how the graph is seen.
fn is_source(call: &Call) -> bool {
    matches!(&*call.name, "V" | "E" | "inject") || call.name.starts_with("with")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::bindings::Bindings;
    use crate::gremlin::parser::ParseLimits;
    use crate::gremlin::read::read;

    /// What a text reads, a word each: a letter for the kind, and the name.
    fn read_by(text: &str) -> String {
        let query = read(text, &ParseLimits::default(), &Bindings::new()).expect(text);
        let shown = |mention: &Mention<'_>| {
            let kind = match mention.kind {
                NameKind::Label => "v",
                NameKind::EdgeType => "e",
                NameKind::AnyLabel => "l",
                NameKind::Property => "p",
                NameKind::Any => "?",
            };
            format!("{kind}:{}", mention.name)
        };
        Mentions::of(&query).read.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn names_are_read_where_they_stand() {
        for (text, expected) in [
            ("g.V().hasLabel('A').out('E').values('k')", "v:A e:E p:k"),
            ("g.E().hasLabel('E').outV().has('A', 'k', 1).has('n')", "e:E v:A p:k p:n"),
            ("g.V().has(T.label, within('A', 'B')).hasLabel(neq('C'))", "v:A v:B"),
            ("g.V().hasLabel(eq('A').or(eq('B'))).hasLabel(within(['C']))", "v:A v:B v:C"),
            ("g.V().union(identity(), outE()).hasLabel('A').has('k', 1)", "l:A p:k"),
            ("g.inject(1).hasLabel('A').values('k')", "?:A"),
            ("g.V().to(Direction.OUT, 'E').toE(Direction.IN, 'F').values('k')", "e:E e:F p:k"),
            ("g.V().hasNot('k').elementMap('l').by('m')", "p:k p:l"),
            ("g.V().properties('k').hasKey('k').values('meta')", "p:k p:k"),
            ("g.V().properties().hasKey(within('k')).has('meta', 1)", "p:k"),
        ] {
            assert_eq!(read_by(text), expected, "{text}");
        }
    }

    #[test]
    fn by_is_a_property_where_elements_are_and_not_a_key_of_maps() {
        for (text, expected) in [
            ("g.V().order().by('k', desc).limit(3)", "p:k"),
            ("g.V().group().by('k').by(values('l').fold())", "p:k p:l"),
            ("g.V().project('a', 'b').by('k').by(out('E').count()).order().by('a')", "p:k e:E"),
            ("g.V().valueMap('k').by(unfold()).order().by('k')", "p:k"),
            ("g.V().as('a').out().as('b').select('a', 'b').by('k')", "p:k"),
            ("g.V().as('a').out('E').select('a').values('k')", "e:E p:k"),
            ("g.V().as('a').values('k').as('b').select('a').by('l')", "p:k"),
            ("g.V().outE().inV().path().by('k')", "p:k"),
            ("g.V().values('k').path().by('l')", "p:k"),
            ("g.inject([a: 1]).order().by('a')", ""),
            ("g.V().as('a').out().where(eq('a')).by('k').order(local).by('l')", ""),
            ("g.V().order(Scope.local).by('l')", ""),
        ] {
            assert_eq!(read_by(text), expected, "{text}");
        }
    }

    #[test]
    fn traversals_within_begin_where_the_step_is() {
        for (text, expected) in [
            ("g.V().where(__.out('E').has('k')).and(__.has('l'), __.inE('F'))", "e:E p:k p:l e:F"),
            ("g.V().as('a').values('x').where(__.as('a').has('k', 1))", "p:x p:k"),
            ("g.V().has('k', 1).or().hasLabel('A').and().out('E')", "p:k v:A e:E"),
            ("g.V().coalesce(out('E'), identity()).values('k')", "e:E p:k"),
            ("g.V().choose(has('k'), out('E'), values('l')).has('m')", "p:k e:E p:l"),
            ("g.V().choose(label()).option('A', out('E')).has('k')", "e:E p:k"),
            (
                "g.V().repeat(out('E').has('k')).until(has('l')).emit(has('m')).values('n')",
                "e:E p:k p:l p:m p:n",
            ),
            ("g.V().until(has('l')).repeat(has('k').out('E'))", "p:l p:k e:E"),
            ("g.V().repeat(has('k').values('l').fold()).times(2)", ""),
            ("g.V().repeat(as('a').out('E').select('a').has('k')).times(2)", "e:E p:k"),
            ("g.V().repeat(repeat(out('E').has('k')).times(2)).times(2)", "e:E p:k"),
            ("g.V().fold().coalesce(unfold(), addV('A')).has('k')", ""),
            (
                "g.withStrategies(new SubgraphStrategy(vertices: __.hasLabel('A'), edges: __.has('k'))).V()",
                "v:A p:k",
            ),
        ] {
            assert_eq!(read_by(text), expected, "{text}");
        }
    }

    #[test]
    fn names_that_a_query_writes_are_known() {
        let written = |text: &str| {
            let query = read(text, &ParseLimits::default(), &Bindings::new()).expect(text);
            let all = Mentions::of(&query);
            let known = all.written.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
            if all.writes_any { vec!["any".to_owned()] } else { known }
        };
        assert_eq!(written("g.addV('A').property('k', 'x')"), ["A", "k", "x"]);
        assert_eq!(written("g.V().property('k', values('l')).addE('E').from(V(1))"), ["k", "E"]);
        assert!(
            written("g.mergeV([(T.label): 'A', k: 1]).option(onCreate, [l: 2])").contains(&"l".to_owned())
        );
        assert_eq!(written("g.inject([a: 1]).mergeV()"), ["any"]);
        assert_eq!(written("g.V().addV(__.label())"), ["any"]);
        assert_eq!(written("g.V().pageRank().with(PageRank.propertyName, 'rank')").last().unwrap(), "rank");
        assert!(written("g.V().out('E').values('k')").is_empty());
    }
}
