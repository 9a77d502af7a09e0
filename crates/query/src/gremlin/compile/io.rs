//! `io('people.json').read()` and `.write()`.

use crate::gremlin::call::{ArgumentKind, Call};
use crate::gremlin::compile::argument::name;
use crate::gremlin::compile::compiler::{Calls, Compiled, Compiler, NamedMethod, one, wrong};
use crate::gremlin::token::{Io as IoToken, Token};
use crate::plan::io::{Format, Io};
use crate::plan::operator::Operator;

pub(super) const METHODS: &[NamedMethod] = &[one("io", Compiler::io)];

impl Compiler {
    fn io(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        let path = name(&call.arguments[0])?;
        let mut format = None;
        while let Some(with) = calls.next_if("with") {
            let takes = "io() takes with(IO.reader, ...) and with(IO.writer, ...): IO.graphson or IO.graphml";
            let [key, value] = with.arguments.as_slice() else { return Err(wrong(with.span, takes)) };
            let is_key =
                matches!(key.kind, ArgumentKind::Token(Token::Io(IoToken::Reader | IoToken::Writer)));
            // Drivers send the words as texts.
            let is_text = matches!(key.kind.as_str(), Some("~tinkerpop.io.reader" | "~tinkerpop.io.writer"));
            let word = match &value.kind {
                ArgumentKind::Token(token @ Token::Io(_)) => token.word(),
                kind => kind.as_str().unwrap_or_default(),
            };
            format = Some(match word {
                "graphson" if is_key || is_text => Format::GraphSon,
                "graphml" if is_key || is_text => Format::GraphMl,
                "gryo" => return Err(wrong(value.span, "gryo isn't supported: use GraphSON or GraphML")),
                _ => return Err(wrong(with.span, takes)),
            });
        }
        let to_file = match calls.next() {
            Some(call) if &*call.name == "read" => false,
            Some(call) if &*call.name == "write" => true,
            other => {
                let span = other.map_or(call.span, |other| other.span);
                return Err(wrong(span, "io() is followed by read() or write()"));
            }
        };
        if let Some(more) = calls.next() {
            return Err(wrong(more.span, "a query that reads or writes a file does nothing else"));
        }
        self.writes |= !to_file;
        Ok(Operator::Io(Io { path: (*path).into(), format, to_file }))
    }
}
