//! Normalise: a query without its values, for logs.
//!
//! ```text
//! g.V().has('Person', 'name', 'Ada').limit(3)  // comment      g.V().has(?, ?, ?).limit(?)
//! g.inject(x, true, [name: 1.5])                               g.inject(?, ?, [?: ?])
//! ["V", ["P", "gt", 7]]                                        g.V(P.gt(?))
//! ```
//!
//! Only words of the language are kept: names of steps, predicates and tokens. Everything else that is not a mark becomes
//! `?`: strings (names of labels and keys among them), numbers, `true` and its like, variables, and unknown words, since
//! a text need not be Gremlin at all. So whatever the text is, no part of a literal is in the result.
//!
//! Bytecode is printed as text first, which is cut off if it is long; so one rule holds for both.

use crate::gremlin::bytecode::Bytecode;
use crate::gremlin::lexer::{Lexeme, Lexer};
use crate::gremlin::signature::table::named;
use crate::gremlin::token::Enumeration;
use std::fmt::{self, Write};

/// Stands for a value.
const VALUE: &str = "?";
/// Stands for what is cut off, or was no lexeme.
const REST: &str = "...";
/// Bytes of bytecode as text that are looked at.
const PRINTED_BYTES_MAX: usize = 64 << 10;
/// Words of the language that no table has.
const WORDS: [&str; 15] = [
    "g",
    "__",
    "P",
    "TextP",
    "new",
    "tx",
    "commit",
    "rollback",
    "datetime",
    "UUID",
    "ReadOnlyStrategy",
    "SubgraphStrategy",
    "PartitionStrategy",
    "ProductiveByStrategy",
    "SeedStrategy",
];

/// `text` without its values, at most some `bytes_max` bytes of it.
///
/// Cost: one pass over the lexemes of the result, however long the text is.
#[must_use]
pub fn normalised_text(text: &str, bytes_max: usize) -> String {
    // The lexer counts bytes in 32 bits.
    let end = boundary(text, u32::MAX as usize - 1);
    let mut lexer = Lexer::new(&text[..end]);
    let mut normalised = String::new();
    let mut last = Piece::Start;
    loop {
        if normalised.len() >= bytes_max {
            normalised.push_str(REST);
            return normalised;
        }
        let Ok((lexeme, _)) = lexer.next_lexeme() else {
            normalised.push_str(REST);
            return normalised;
        };
        let (piece, written) = match lexeme {
            Lexeme::End => return normalised,
            Lexeme::Mark(mark) => (Piece::of_mark(mark), mark.encode_utf8(&mut [0; 4]).to_owned()),
            Lexeme::Word(word) if is_known(word) => (Piece::Word, word.to_owned()),
            Lexeme::Word(_)
            | Lexeme::Integer(_)
            | Lexeme::Float(_)
            | Lexeme::SignedInfinity { .. }
            | Lexeme::String(_) => (Piece::Word, VALUE.to_owned()),
        };
        if matches!(
            (last, piece),
            (Piece::Word | Piece::Separator, Piece::Word) | (Piece::Separator, Piece::Mark)
        ) {
            normalised.push(' ');
        }
        normalised.push_str(&written);
        last = piece;
    }
}

/// `bytecode` as text without its values, at most some `bytes_max` bytes of it.
#[must_use]
pub fn normalised_bytecode(bytecode: &Bytecode, bytes_max: usize) -> String {
    let mut printed = Cut(String::new());
    let is_whole = write!(printed, "{}", bytecode.query()).is_ok();
    let mut normalised = normalised_text(&printed.0, bytes_max);
    if !is_whole && !normalised.ends_with(REST) {
        normalised.push_str(REST);
    }
    normalised
}

/// What a lexeme is to the blanks around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Start,
    Word,
    Separator,
    Mark,
}

impl Piece {
    fn of_mark(mark: char) -> Self {
        if matches!(mark, ',' | ':' | ';') { Self::Separator } else { Self::Mark }
    }
}

/// Whether the language has this word, whatever it means where it stands.
fn is_known(word: &str) -> bool {
    // A value, though a table has it.
    word != "null"
        && (WORDS.contains(&word)
            || !named(word).is_empty()
            || Enumeration::from_name(word).is_some()
            || Enumeration::ALL.iter().any(|enumeration| enumeration.token(word).is_some()))
}

/// Where `text` can be cut off so that at most `bytes_max` bytes are left.
fn boundary(text: &str, bytes_max: usize) -> usize {
    let end = text.len().min(bytes_max);
    (0..=end).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// A text that takes no more than it may hold.
struct Cut(String);

impl Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = PRINTED_BYTES_MAX - self.0.len();
        self.0.push_str(&text[..boundary(text, room)]);
        if text.len() <= room { Ok(()) } else { Err(fmt::Error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::call::{ArgumentKind, Call};

    fn text(text: &str) -> String {
        normalised_text(text, 1000)
    }

    #[test]
    fn words_of_the_language_stay_and_everything_else_is_a_question_mark() {
        for (query, normalised) in [
            ("g .V(1).has('Person','name',\"A\\\"da\") // Ada\n.limit(3)", "g.V(?).has(?, ?, ?).limit(?)"),
            (
                "g.inject(x,true,null,-Infinity,[name:1.5,(T.id):'a'])",
                "g.inject(?, ?, ?, ?, [?: ?, (T.id): ?])",
            ),
            (
                "g.V().has('age',P.gt(1).and(lt(2))).order().by('x',desc)",
                "g.V().has(?, P.gt(?).and(lt(?))).order().by(?, desc)",
            ),
            (
                "g.withStrategies(new ReadOnlyStrategy()).V();g.E()",
                "g.withStrategies(new ReadOnlyStrategy()).V(); g.E()",
            ),
            ("g.V(1..5).range(0x1fL, 1_000s)", "g.V(?..?).range(?, ?)"),
            ("g.tx().commit()", "g.tx().commit()"),
            ("hunter2", "?"),
            ("MATCH (n {name: 'Ada'}) RETURN n", "?(?{?: ?})? ?"),
            ("g.V('unended secret", "g.V(..."),
            ("g.V(1secret)", "g.V(..."),
            ("", ""),
        ] {
            assert_eq!(text(query), normalised, "{query}");
        }
    }

    #[test]
    fn long_queries_are_cut_off() {
        let long = format!("g.inject({})", "'secret', ".repeat(1000));
        let cut = normalised_text(&long, 20);
        assert!(cut.len() < 40 && cut.ends_with(REST), "{cut}");
    }

    #[test]
    fn bytecode_is_normalised_as_the_text_that_means_the_same() {
        let scalar = |text: &str| ArgumentKind::Scalar(text.into());
        let bytecode = Bytecode::new(
            vec![],
            vec![
                Call::new("V", []),
                Call::new("has", [scalar("Person"), scalar("na\"me')."), scalar("Ada")]),
                Call::new("secret'('x", [ArgumentKind::Variable("secret".into())]),
                Call::new("where", [ArgumentKind::Traversal(vec![Call::new("out", [scalar("KNOWS")])])]),
            ],
        );
        let normalised = normalised_bytecode(&bytecode, 1000);
        assert!(normalised.starts_with("g.V().has(?, ?, ?).?"), "{normalised}");
        assert!(!normalised.contains("secret"), "{normalised}");
        let long = Bytecode::new(vec![], vec![Call::new("inject", [scalar(&"ä".repeat(PRINTED_BYTES_MAX))])]);
        assert_eq!(normalised_bytecode(&long, 1000), "g.inject(...");
    }
}
