//! `match()`: patterns that are joined by names.

use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::gremlin::compile::compiler::{Calls, Compiled, Compiler, NamedMethod, as_traversal, one, wrong};
use crate::plan::operator::Operator;
use crate::plan::pattern::{Match, PATTERNS_MAX, PathPattern, Pattern, is_solvable};

pub(super) const METHODS: &[NamedMethod] = &[one("match", Compiler::match_)];

impl Compiler {
    fn match_(&mut self, call: &Call, _: &mut Calls<'_>) -> Compiled<Operator> {
        let known_before = self.slots.all.len();
        let mut names = Names::default();
        call.arguments.iter().filter_map(as_traversal).for_each(|calls| names.read(calls));
        let starts: Vec<usize> = names.starts.iter().map(|name| self.slot(name)).collect();
        let ends: Vec<usize> = names.ends.iter().map(|name| self.slot(name)).collect();
        let mut answer = starts.clone();
        answer.extend(ends.iter().filter(|slot| !starts.contains(slot)));

        let mut patterns = Vec::new();
        for argument in &call.arguments {
            let calls = as_traversal(argument)
                .ok_or_else(|| wrong(argument.span, "match() takes traversals: its patterns"))?;
            self.pattern(calls, argument, &answer, &mut patterns)?;
        }
        if patterns.len() > PATTERNS_MAX {
            return Err(wrong(call.span, format!("match() takes {PATTERNS_MAX} patterns at most")));
        }
        let solves = |start: &&usize| is_solvable(&patterns, &[**start]);
        let begin = starts.iter().filter(|start| !ends.contains(start)).find(solves);
        let begin = begin.or_else(|| starts.iter().find(solves));
        // Names that were given before may make up for it: that shows when it runs.
        let begin =
            begin.or_else(|| starts.first().filter(|_| starts.iter().any(|slot| *slot < known_before)));
        let begin = *begin.ok_or_else(|| {
            wrong(call.span, "The provided match pattern is unsolvable: no name leads to all others")
        })?;
        Ok(Operator::Match(Match { begin, starts, answer, patterns }))
    }

    /// The patterns of one traversal of `match()`, whose names are the slots `names`.
    fn pattern(
        &mut self,
        calls: &[Call],
        argument: &Argument,
        names: &[usize],
        patterns: &mut Vec<Pattern>,
    ) -> Compiled<()> {
        let parts = connected(calls);
        if parts.len() > 1 || parts[0].len() > 1 {
            let mut any = Vec::new();
            for part in parts {
                let mut all = Vec::new();
                for one in part {
                    self.pattern(one, argument, names, &mut all)?;
                }
                any.push(all);
            }
            match any.as_mut_slice() {
                [all] => patterns.append(all),
                _ => patterns.push(Pattern::Any(any)),
            }
            return Ok(());
        }
        let Some((first, rest)) = calls.split_first() else {
            return Err(wrong(argument.span, "a pattern of match() can't be empty"));
        };
        match (&*first.name, rest) {
            ("and", []) => {
                for argument in &first.arguments {
                    self.pattern(traversal(argument)?, argument, names, patterns)?;
                }
            }
            ("or", []) => {
                let mut any = Vec::new();
                for argument in &first.arguments {
                    let mut all = Vec::new();
                    self.pattern(traversal(argument)?, argument, names, &mut all)?;
                    any.push(all);
                }
                patterns.push(Pattern::Any(any));
            }
            ("where" | "not", _) => {
                let mut needs = Vec::new();
                self.asked(calls, true, names, &mut needs);
                let of = self.traversal_within(calls)?;
                patterns.push(Pattern::Path(PathPattern { from: None, of, to: None, needs }));
            }
            ("as", _) => {
                let from = only_name(first)?;
                let from = self.slot(from);
                let (rest, to) = match rest.split_last() {
                    Some((last, rest)) if &*last.name == "as" => (rest, Some(self.slot(only_name(last)?))),
                    _ => (rest, None),
                };
                let mut needs = vec![from];
                self.asked(rest, false, names, &mut needs);
                let of = self.traversal(rest)?;
                patterns.push(Pattern::Path(PathPattern { from: Some(from), of, to, needs }));
            }
            _ => {
                return Err(wrong(
                    first.span,
                    "a pattern of match() begins with as(), where(), not(), and() or or()",
                ));
            }
        }
        Ok(())
    }

    /// Adds those of `names` that `where()` in `calls` asks for; all names in there if it is `inside`.
    fn asked(&mut self, calls: &[Call], inside: bool, names: &[usize], needs: &mut Vec<usize>) {
        let mut add = |compiler: &Self, name: Option<&str>| {
            let slot = name.and_then(|name| compiler.known_slot(name)).filter(|slot| names.contains(slot));
            needs.extend(slot.filter(|slot| !needs.contains(slot)));
        };
        let mut within: Vec<(&[Call], bool)> = Vec::new();
        for call in calls.iter().filter(|call| &*call.name != "match") {
            let inside = inside || &*call.name == "where";
            let named = inside && matches!(&*call.name, "where" | "as");
            for argument in &call.arguments {
                match &argument.kind {
                    ArgumentKind::Traversal(calls) => within.push((calls, inside)),
                    ArgumentKind::Predicate(_) if named => {
                        let mut texts = Vec::new();
                        of_predicate(argument, &mut texts);
                        texts.into_iter().for_each(|text| add(self, Some(text)));
                    }
                    kind if named => add(self, kind.as_str()),
                    _ => {}
                }
            }
        }
        within.into_iter().for_each(|(calls, inside)| self.asked(calls, inside, names, needs));
    }
}

/// Where the patterns of a `match()` begin, and where they end.
#[derive(Default)]
struct Names<'c> {
    starts: Vec<&'c str>,
    ends: Vec<&'c str>,
}

impl<'c> Names<'c> {
    fn read(&mut self, calls: &'c [Call]) {
        fn add<'c>(names: &mut Vec<&'c str>, call: &'c Call) {
            let name = call.arguments.first().and_then(|name| name.kind.as_str());
            // More names come of more patterns than there may be, which is told later.
            if names.len() <= PATTERNS_MAX {
                names.extend(name.filter(|name| !names.contains(name)));
            }
        }
        for one in connected(calls).into_iter().flatten() {
            match one {
                [call] if matches!(&*call.name, "and" | "or") => {
                    call.arguments.iter().filter_map(as_traversal).for_each(|calls| self.read(calls));
                }
                [first, rest @ ..] if &*first.name == "as" => {
                    add(&mut self.starts, first);
                    if let Some(last) = rest.last().filter(|last| &*last.name == "as") {
                        add(&mut self.ends, last);
                    }
                }
                _ => {}
            }
        }
    }
}

/// What `or()` without arguments stands between, and within that what `and()` does.
fn connected(calls: &[Call]) -> Vec<Vec<&[Call]>> {
    let is = |call: &Call, name: &str| call.arguments.is_empty() && *call.name == *name;
    let any = calls.split(|call| is(call, "or"));
    any.map(|part| part.split(|call| is(call, "and")).collect()).collect()
}

fn traversal(argument: &Argument) -> Compiled<&[Call]> {
    as_traversal(argument).ok_or_else(|| wrong(argument.span, "a traversal is needed here"))
}

fn only_name(call: &Call) -> Compiled<&str> {
    let name = match call.arguments.as_slice() {
        [name] => name.kind.as_str(),
        _ => None,
    };
    name.ok_or_else(|| wrong(call.span, "in match() as() gives one name"))
}

/// The texts in a predicate, however deep.
fn of_predicate<'c>(argument: &'c Argument, texts: &mut Vec<&'c str>) {
    match &argument.kind {
        ArgumentKind::Predicate(predicate) => {
            predicate.arguments.iter().for_each(|argument| of_predicate(argument, texts));
        }
        kind => texts.extend(kind.as_str()),
    }
}
