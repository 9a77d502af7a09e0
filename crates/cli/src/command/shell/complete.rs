//! Complete: how a text that is being typed may go on.
//!
//! | the cursor stands | and there may come |
//! |---|---|
//! | behind `g.`, `out().`, `__.` | sources; steps and modulators; what ends a query, behind a whole one |
//! | behind `P.`, `gt(1).`, `Order.` | predicates; what joins them; words |
//! | where an argument begins | what the table of signatures lets stand there: steps, predicates, words |
//! | in quotes | labels, edge types and keys of the graph, labels of steps: whichever the step is about |
//! | behind `:` | commands, and what they take |

use crate::command::shell::command::{COMMANDS, ISOLATIONS, SETTINGS, split};
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_query::gremlin::lexer::{Lexeme, Lexer};
use evergraph_query::gremlin::signature::kinds::Kinds;
use evergraph_query::gremlin::signature::method::{Form, Role, Signature};
use evergraph_query::gremlin::signature::table::{named, signatures};
use evergraph_query::gremlin::token::Enumeration;
use std::collections::BTreeMap;

/// How a text may go on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Completion {
    /// The byte from which on the text is replaced.
    pub start: usize,
    /// What may come there, in alphabetical order: as it is listed, and the text itself.
    pub candidates: Vec<(String, String)>,
}

/// How `text`, which ends at the cursor, may go on, with the names of `catalogue`.
///
/// Cost: one pass over the text, and a look at the names.
#[must_use]
pub fn complete(text: &str, catalogue: &Catalogue) -> Completion {
    let Some((name, at)) = split(text) else { return query(text, 0, catalogue) };
    let is_typed = !text.ends_with(char::is_whitespace) && at == text.len();
    let (start, typed) = if is_typed { (text.len() - name.len(), name) } else { (at, &text[at..]) };
    let mut found = CompletionMatches::new(start, typed);
    match name {
        _ if is_typed => {
            for command in COMMANDS {
                found.add(command.name, if command.takes.is_empty() { "" } else { " " });
            }
        }
        "explain" | "profile" => return query(text, at, catalogue),
        "help" => {
            signatures().for_each(|signature| found.add(signature.name, ""));
            COMMANDS.iter().for_each(|command| found.add(command.name, ""));
            found.add("steps", "");
        }
        "set" => SETTINGS.iter().for_each(|(name, _)| found.add(name, " ")),
        "begin" => ISOLATIONS.iter().for_each(|name| found.add(name, "")),
        _ => {}
    }
    found.completion()
}

/// What fits to what is typed.
struct CompletionMatches<'a> {
    start: usize,
    typed: &'a str,
    candidates: BTreeMap<String, String>,
}

impl<'a> CompletionMatches<'a> {
    fn new(start: usize, typed: &'a str) -> Self {
        Self { start, typed, candidates: BTreeMap::new() }
    }

    /// Adds `name`, if it begins as what is typed, with `end` behind it.
    fn add(&mut self, name: &str, end: &str) {
        if name.starts_with(self.typed) {
            self.candidates.insert(name.to_owned(), format!("{name}{end}"));
        }
    }

    fn add_calls(&mut self, is_wanted: impl Fn(&Signature) -> bool) {
        for signature in signatures().filter(|signature| is_wanted(signature)) {
            let takes_nothing = signature.forms.iter().all(|form| *form == NOTHING);
            self.add(signature.name, if takes_nothing { "()" } else { "(" });
        }
    }

    /// Adds a name of the graph, which stands within `quote`.
    fn add_quoted(&mut self, name: &str, quote: char) {
        // What is escaped wouldn't begin as it is typed.
        if !name.contains(['\\', quote]) && !name.contains(char::is_control) {
            self.add(name, quote.encode_utf8(&mut [0; 4]));
        }
    }

    fn completion(self) -> Completion {
        Completion { start: self.start, candidates: self.candidates.into_iter().collect() }
    }
}

const NOTHING: Form = Form { places: &[], rest: None };

/// What a chain of calls is so far, which says what may follow its next point.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chain {
    /// Nothing stands there yet.
    Empty,
    /// `g`, and sources behind it.
    Source,
    /// A query's traversal.
    Traversal,
    /// A traversal within one.
    Nested,
    /// `P` or `TextP`.
    Tests,
    /// A predicate.
    Predicate,
    /// The name of an enumeration.
    Words(Enumeration),
    /// Anything else.
    Other,
}

impl Chain {
    fn of(word: &str) -> Self {
        let has_role = |role| named(word).iter().any(|signature| signature.role == role);
        match word {
            "g" => Self::Source,
            "__" => Self::Nested,
            "P" | "TextP" => Self::Tests,
            _ => match Enumeration::from_name(word) {
                Some(enumeration) => Self::Words(enumeration),
                None if has_role(Role::Step) => Self::Nested,
                None if has_role(Role::Predicate) => Self::Predicate,
                None => Self::Other,
            },
        }
    }

    fn after(self, word: &str) -> Self {
        let has_role = |role| named(word).iter().any(|signature| signature.role == role);
        match self {
            Self::Source if has_role(Role::Source) => Self::Source,
            Self::Source if has_role(Role::Spawn) => Self::Traversal,
            Self::Traversal if !has_role(Role::Step) && has_role(Role::Terminal) => Self::Other,
            Self::Traversal | Self::Nested => self,
            Self::Tests | Self::Predicate => Self::Predicate,
            _ => Self::Other,
        }
    }
}

/// What is between two brackets, or around all of them.
struct Level<'a> {
    /// Whose arguments these are.
    call: Option<&'a str>,
    /// Arguments before the one at the cursor.
    argument: usize,
    /// The text that is the first of them.
    first: Option<&'a str>,
    chain: Chain,
    /// The word before a bracket.
    word: Option<&'a str>,
}

impl<'a> Level<'a> {
    fn new(call: Option<&'a str>) -> Self {
        Self { call, argument: 0, first: None, chain: Chain::Empty, word: None }
    }
}

/// A query that begins at byte `from` of `text`.
fn query(text: &str, from: usize, catalogue: &Catalogue) -> Completion {
    let mut levels = vec![Level::new(None)];
    let mut step_labels = Vec::new();
    let mut is_after_point = false;
    let rest = &text[from..];
    let mut lexer = Lexer::new(rest);
    loop {
        let level = levels.last_mut().expect("the outermost level is never closed");
        let (lexeme, span) = match lexer.next_lexeme() {
            Ok(lexeme) => lexeme,
            Err(error) => {
                let start = error.span.start as usize;
                let quoted = rest[start..].chars().next().filter(|char| matches!(char, '\'' | '"'));
                if let Some(quote) = quoted {
                    let mut found = CompletionMatches::new(from + start + 1, &rest[start + 1..]);
                    names(&levels, &step_labels, quote, catalogue, &mut found);
                    return found.completion();
                }
                level.chain = Chain::Other;
                continue;
            }
        };
        match lexeme {
            Lexeme::Word(word) if span.end as usize != rest.len() => {
                level.chain = if is_after_point { level.chain.after(word) } else { Chain::of(word) };
                level.word = Some(word);
            }
            Lexeme::Word(_) | Lexeme::End => {
                let start = if lexeme == Lexeme::End { rest.len() } else { span.start as usize };
                let mut found = CompletionMatches::new(from + start, &rest[start..]);
                let is_outermost = levels.len() == 1;
                let level = &levels[levels.len() - 1];
                match is_after_point {
                    true => followers(level.chain, is_outermost, &mut found),
                    false if level.chain != Chain::Empty => {}
                    false if is_outermost => found.add("g", "."),
                    false => arguments(level, &mut found),
                }
                return found.completion();
            }
            Lexeme::Mark('.') => {
                is_after_point = true;
                continue;
            }
            Lexeme::Mark('(') => {
                let call = level.word.take();
                levels.push(Level::new(call));
            }
            Lexeme::Mark('[' | '{') => levels.push(Level::new(None)),
            Lexeme::Mark(')' | ']' | '}') => {
                if levels.len() > 1 {
                    levels.pop();
                }
            }
            Lexeme::Mark(',') => {
                level.argument += 1;
                level.chain = Chain::Empty;
                level.word = None;
            }
            Lexeme::Mark(';') => {
                levels = vec![Level::new(None)];
                step_labels.clear();
            }
            Lexeme::String(string) => {
                if level.argument == 0 {
                    level.first = Some(string);
                }
                if matches!(
                    level.call,
                    Some("as" | "project" | "aggregate" | "group" | "groupCount" | "subgraph" | "tree")
                ) {
                    step_labels.push(string);
                }
                level.chain = Chain::Other;
            }
            _ => level.chain = Chain::Other,
        }
        is_after_point = false;
    }
}

/// What may follow a point.
fn followers(chain: Chain, is_outermost: bool, found: &mut CompletionMatches<'_>) {
    let is_step = |signature: &Signature| matches!(signature.role, Role::Step | Role::Modulator);
    match chain {
        Chain::Source => found.add_calls(|signature| matches!(signature.role, Role::Source | Role::Spawn)),
        Chain::Traversal => found
            .add_calls(|signature| is_step(signature) || (is_outermost && signature.role == Role::Terminal)),
        Chain::Nested => found.add_calls(is_step),
        Chain::Tests => found.add_calls(|signature| signature.role == Role::Predicate),
        Chain::Predicate => {
            found.add("and", "(");
            found.add("or", "(");
            found.add("negate", "()");
        }
        Chain::Words(enumeration) => enumeration.words().iter().for_each(|word| found.add(word, "")),
        Chain::Empty | Chain::Other => {}
    }
}

/// What may stand where an argument of a call begins.
fn arguments(level: &Level<'_>, found: &mut CompletionMatches<'_>) {
    let Some(call) = level.call else { return };
    let forms = named(call).iter().flat_map(|signature| signature.forms);
    for kinds in forms.filter_map(|form| form.at(level.argument)) {
        if kinds.meets(Kinds::PREDICATE) {
            found.add_calls(|signature| signature.role == Role::Predicate);
        }
        // Where any value may stand, steps and words may, too: too many to be of help.
        if kinds.contains(Kinds::VALUE) {
            continue;
        }
        if kinds.meets(Kinds::TRAVERSAL) {
            found.add("__", ".");
            found.add_calls(|signature| signature.role == Role::Step);
        }
        for enumeration in kinds.enumerations() {
            match enumeration.has_short_form() {
                true => enumeration.words().iter().for_each(|word| found.add(word, "")),
                false => found.add(enumeration.name(), "."),
            }
        }
    }
}

/// The names that a text within `quote` may be.
fn names(
    levels: &[Level<'_>],
    step_labels: &[&str],
    quote: char,
    catalogue: &Catalogue,
    found: &mut CompletionMatches<'_>,
) {
    let is_predicate = |call: &str| named(call).first().is_some_and(|found| found.role == Role::Predicate);
    // In `hasLabel(within(['a', 'b']))` the step is what it is about.
    let about = levels.iter().rev().find(|level| level.call.is_some_and(|call| !is_predicate(call)));
    let Some((level, call)) = about.and_then(|level| Some((level, level.call?))) else { return };
    let labels = |found: &mut CompletionMatches<'_>| {
        catalogue.labels().for_each(|(_, name)| found.add_quoted(name, quote));
    };
    let types = |found: &mut CompletionMatches<'_>| {
        catalogue.edge_types().for_each(|(_, kind)| found.add_quoted(&kind.name, quote));
    };
    let keys = |found: &mut CompletionMatches<'_>| {
        catalogue.keys().for_each(|(_, name)| found.add_quoted(name, quote));
    };
    match (call, level.argument) {
        ("addV", _) => labels(found),
        ("hasLabel", _) => {
            labels(found);
            types(found);
        }
        ("addE" | "out" | "in" | "both" | "outE" | "inE" | "bothE", _) => types(found),
        ("has", 0) => {
            keys(found);
            labels(found);
            types(found);
        }
        ("has", 1) => {
            let first = level.first.unwrap_or_default();
            let label = catalogue.label(first).map(Owner::Label);
            let owners = label.into_iter().chain(catalogue.edge_type(first).map(Owner::EdgeType));
            for (key, _) in owners.flat_map(|owner| catalogue.properties_of(owner)) {
                found.add_quoted(&catalogue.key_name(key), quote);
            }
        }
        ("property", at) if at == 0 || (at == 1 && level.first.is_none()) => keys(found),
        (
            "values" | "properties" | "valueMap" | "elementMap" | "propertyMap" | "hasNot" | "hasKey" | "by",
            _,
        ) => keys(found),
        ("select" | "cap" | "from" | "to" | "where", _) => {
            step_labels.iter().for_each(|label| found.add_quoted(label, quote));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph::{Database, ReadByName};
    use evergraph_graph::view::GraphView;

    fn completion(text: &str) -> Completion {
        let db = Database::in_memory().unwrap();
        let write = "g.addV('Person').property('name', 'Ada').property('born', 1815).as('a').addV('Pet')\
                     .property('nick', 'x').addE('OWNS').from('a').property('since', 1).addV(\"it's\")";
        db.gremlin(write).run().unwrap();
        let snapshot = db.snapshot();
        assert_eq!(snapshot.vertices(None).unwrap().len(), 3);
        complete(text, &snapshot.catalogue())
    }

    /// The texts as they would be with each candidate.
    fn completed(text: &str) -> Vec<String> {
        let Completion { start, candidates } = completion(text);
        candidates.into_iter().map(|(_, new)| format!("{}{new}", &text[..start])).collect()
    }

    fn listed(text: &str) -> Vec<String> {
        completion(text).candidates.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_point_is_followed_by_what_may_stand_there() {
        assert_eq!(completed("g.V().outV"), ["g.V().outV()"]);
        assert_eq!(completed("g.V().hasL"), ["g.V().hasLabel("]);
        assert_eq!(completed("g.add"), ["g.addE(", "g.addV("]);
        assert_eq!(completed("g.withSack(1).ad"), ["g.withSack(1).addE(", "g.withSack(1).addV("]);
        assert_eq!(completed("g.V().where(__.lim"), ["g.V().where(__.limit("]);
        assert_eq!(completed("g.V(). out( ) .\n lim"), ["g.V(). out( ) .\n limit("]);
        assert_eq!(completed("g.V().has('a', gt(1).neg"), ["g.V().has('a', gt(1).negate()"]);
        assert_eq!(completed("g.V().has('a', P.betw"), ["g.V().has('a', P.between("]);
        assert_eq!(listed("g.V().order().by('a', Order."), ["asc", "desc", "shuffle"]);
        let all = listed("g.V().");
        assert!(
            ["out", "by", "toList", "count"].iter().all(|name| all.contains(&(*name).to_owned())),
            "{all:?}"
        );
        assert!(!all.contains(&"addE(".to_owned()) && !all.contains(&"withSack".to_owned()));
        assert!(!listed("g.V().where(__.").contains(&"toList".to_owned()), "it ends no query there");
        assert!(listed("g.").contains(&"V".to_owned()) && !listed("g.").contains(&"out".to_owned()));
        for none in ["g.V().toList().", "1.", "g.V().has('a', 1.5", "g.V().has(T.id.", "x."] {
            assert_eq!(listed(none), Vec::<String>::new(), "{none}");
        }
    }

    #[test]
    fn an_argument_is_what_the_signature_takes() {
        assert_eq!(completed("g.V().repeat(bothE"), ["g.V().repeat(bothE("]);
        assert_eq!(completed("g.V().has('age', betw"), ["g.V().has('age', between("]);
        assert_eq!(completed("g.V().order().by('age', de"), ["g.V().order().by('age', desc"]);
        assert_eq!(completed("g.V().count(lo"), ["g.V().count(local"]);
        assert_eq!(listed("g.V().limit(5"), Vec::<String>::new());
        assert_eq!(listed("g.V().count(local, lo"), Vec::<String>::new());
        assert_eq!(completed("g.V().where(_"), ["g.V().where(__."]);
        assert_eq!(completed(""), ["g."]);
        assert_eq!(completed("g.V(); "), ["g.V(); g."]);
    }

    #[test]
    fn quotes_hold_the_names_of_the_graph() {
        assert_eq!(completed("g.V().hasLabel('P"), ["g.V().hasLabel('Person'", "g.V().hasLabel('Pet'"]);
        assert_eq!(completed("g.V().hasLabel(\"it"), ["g.V().hasLabel(\"it's\""]);
        assert_eq!(listed("g.V().hasLabel('it"), Vec::<String>::new(), "the quote would have to be escaped");
        assert_eq!(listed("g.V().hasLabel('Pet', within(['OW"), ["OWNS"]);
        assert_eq!(completed("g.V().out('"), ["g.V().out('OWNS'"]);
        assert_eq!(listed("g.V().has('Person', '"), ["born", "name"]);
        assert_eq!(listed("g.V().has('n"), ["name", "nick"]);
        assert_eq!(listed("g.V().has('name', '"), Vec::<String>::new());
        assert_eq!(listed("g.V().has('Person', 'name', 'A"), Vec::<String>::new());
        assert_eq!(listed("g.V().order().by('bo"), ["born"]);
        assert_eq!(listed("g.addV('x').property(list, 'bo"), ["born"]);
        assert_eq!(listed("g.addV('x').property('name', 'bo"), Vec::<String>::new());
        assert_eq!(listed("g.V().as('here').out().select('"), ["here"]);
        assert_eq!(listed("g.V().as('here'); g.V().select('"), Vec::<String>::new());
        assert_eq!(listed("g.V().format('P"), Vec::<String>::new());
    }

    #[test]
    fn commands_are_completed_with_what_they_take() {
        assert_eq!(completed(":ex"), [":exit", ":explain "]);
        assert_eq!(completed(":sch"), [":schema"]);
        assert_eq!(completed(":set ti"), [":set timeout ", ":set timing "]);
        assert_eq!(completed(":begin s"), [":begin serializable", ":begin snapshot"]);
        assert_eq!(completed(":help hasL"), [":help hasLabel"]);
        assert_eq!(completed(":explain g.V().outV"), [":explain g.V().outV()"]);
        assert_eq!(completed(":profile "), [":profile g."]);
        assert_eq!(listed(":rows 5"), Vec::<String>::new());
    }
}
