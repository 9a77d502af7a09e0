//! Bytecode in GraphBinary 1.0: decodes a traversal and its arguments from the bytes that drivers send.
//!
//! ```text
//! bytecode     count (4)  { instruction }      steps; then the same for source instructions
//! instruction  string  count (4)  { value }
//! value        see `binary_reader`; types, see `type_code`
//! ```
//!
//! Memory: at most some 150 times the bytes. Types that no call can hold are refused by name.
//!
//! Source: TinkerPop 3.8, "GraphBinary", version 1.0.

use evergraph_graph::value::Value;
use evergraph_query::error::{Span, TextError};
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::bytecode::assembly::{self, Levels, ValueContext, refused, scalar};
use evergraph_query::gremlin::bytecode::instruction_position::{InstructionPosition, ReadError};
use evergraph_query::gremlin::call::{Argument, ArgumentKind, Call};
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::token::Enumeration;
use evergraph_query::stack::deeper;

use crate::graph_binary::binary_reader::BinaryReader;
use crate::graph_binary::type_code::{self, enumeration, name};

/// Reads one bytecode, and checks its calls.
///
/// Cost: that of [`parse`] and [`Bytecode::check`].
///
/// # Errors
/// If the bytes are no bytecode, pass a limit, or a call doesn't fit its signature; with the
/// instruction.
pub fn read(bytes: &[u8], limits: &ParseLimits) -> Result<Bytecode, TextError> {
    let mut bytecode = parse(bytes, limits)?;
    bytecode.check()?;
    Ok(bytecode)
}

/// Reads one bytecode; nothing else may follow.
///
/// Cost: one pass.
///
/// # Errors
/// If the bytes are no bytecode, or pass a limit; with the instruction.
pub fn parse(bytes: &[u8], limits: &ParseLimits) -> Result<Bytecode, TextError> {
    let mut reader = ArgumentReader::of_query(bytes, limits)?;
    let bytecode = reader.read_bytecode().and_then(|bytecode| reader.finish().map(|()| bytecode));
    bytecode.map_err(ReadError::told)
}

/// Reads what may be an argument, such as the value of a variable; nothing else may follow.
///
/// Cost: one pass.
///
/// # Errors
/// If the bytes are something else, or pass a limit.
pub fn parse_argument(bytes: &[u8], limits: &ParseLimits) -> Result<Argument, TextError> {
    let mut reader = ArgumentReader::of_query(bytes, limits)?;
    let argument = reader.read_argument().and_then(|argument| reader.finish().map(|()| argument));
    argument.map_err(ReadError::told)
}

/// Reads the parts of bytecode, and arguments.
#[derive(Clone, Debug)]
pub(crate) struct ArgumentReader<'a> {
    bytes: BinaryReader<'a>,
    levels: Levels,
}

impl<'a> ArgumentReader<'a> {
    /// Continues where `bytes` is, with the limits of `levels`.
    pub(crate) fn new(bytes: BinaryReader<'a>, levels: Levels) -> Self {
        Self { bytes, levels }
    }

    /// Starts at the beginning of a query.
    ///
    /// # Errors
    /// If it has more bytes than the limits allow for a text.
    fn of_query(bytes: &'a [u8], limits: &ParseLimits) -> Result<Self, TextError> {
        let bytes_max = limits.text_bytes_max.min(u32::MAX as usize);
        if bytes.len() > bytes_max {
            let message = format!("a query of {} bytes is past the limit of {bytes_max}", bytes.len());
            return Err(TextError::limit(Span::default(), message));
        }
        Ok(Self::new(BinaryReader::new(bytes), Levels::new(limits.depth_max)))
    }

    /// The position behind what was read.
    pub(crate) fn position(&mut self) -> &mut BinaryReader<'a> {
        &mut self.bytes
    }

    /// Reads a value that is bytecode.
    pub(crate) fn read_bytecode(&mut self) -> Result<Bytecode, ReadError> {
        let start = self.bytes.clone();
        match self.bytes.read_header()? {
            Some(type_code::BYTECODE) => self.read_instructions(),
            _ => Err(start.malformed("bytecode expected").into()),
        }
    }

    /// Reads the value of a variable.
    pub(crate) fn read_argument(&mut self) -> Result<Argument, ReadError> {
        self.read_value(ValueContext::of_variable())
    }

    fn finish(&self) -> Result<(), ReadError> {
        Ok(self.bytes.finish()?)
    }

    fn read_instructions(&mut self) -> Result<Bytecode, ReadError> {
        // Of source instructions `g` is all that comes before, and of steps everything.
        let steps = self.read_list_of_instructions(false)?;
        let source = self.read_list_of_instructions(true)?;
        Ok(Bytecode::new(source.into_iter().flat_map(assembly::source_calls).collect(), steps))
    }

    fn read_list_of_instructions(&mut self, of_source: bool) -> Result<Vec<Call>, ReadError> {
        let mut calls = Vec::new();
        for number in 1..=self.bytes.read_count(8)? {
            calls.push(self.read_instruction(of_source, number)?);
        }
        Ok(calls)
    }

    fn read_instruction(&mut self, of_source: bool, number: usize) -> Result<Call, ReadError> {
        let start = self.bytes.offset();
        let name = self.bytes.read_string()?;
        let span = self.bytes.since(start);
        let place = |argument| InstructionPosition { of_source, number, name: name.into(), argument };
        self.levels.enter(span).map_err(|error| error.within(place(None)))?;
        let count = self.bytes.read_count(2).map_err(|error| ReadError::from(error).within(place(None)))?;
        let mut arguments = Vec::new();
        for argument in 1..=count {
            let value = self.read_value(ValueContext::of_instruction(name));
            arguments.push(value.map_err(|error| error.within(place(Some(argument))))?);
        }
        self.levels.leave();
        let spans: Vec<Span> = arguments.iter().map(|argument| argument.span).collect();
        assembly::call(name, arguments, span)
            .map_err(|(at, reason)| ReadError::invalid(spans[at], reason).within(place(Some(at + 1))))
    }

    fn read_value(&mut self, around: ValueContext) -> Result<Argument, ReadError> {
        let start = self.bytes.offset();
        self.levels.count(self.bytes.since(start))?;
        let Some(code) = self.bytes.read_header()? else {
            return Ok(Argument { kind: ArgumentKind::Null, span: self.bytes.since(start) });
        };
        let kind = match enumeration(code) {
            Some(enumeration) => self.read_token(enumeration, start)?,
            None => match self.bytes.read_scalar(code, start)? {
                Some(value) => scalar(value),
                None => deeper(|| self.read_nesting(code, around, start))?,
            },
        };
        Ok(Argument { kind, span: self.bytes.since(start) })
    }

    fn read_token(&mut self, enumeration: Enumeration, start: usize) -> Result<ArgumentKind, ReadError> {
        let word = self.bytes.read_word()?;
        self.supported(assembly::token(enumeration, word), start)
    }

    /// Reads the content of a type that has values inside.
    fn read_nesting(
        &mut self,
        code: u8,
        around: ValueContext,
        start: usize,
    ) -> Result<ArgumentKind, ReadError> {
        self.levels.enter(self.bytes.since(start))?;
        let kind = match code {
            type_code::CLASS => {
                let name = self.bytes.read_string()?;
                self.supported(assembly::class(name), start)?
            }
            type_code::LIST => ArgumentKind::List(self.read_values(around.inside())?),
            type_code::MAP => ArgumentKind::Map(self.read_entries(around.inside())?),
            type_code::SET => ArgumentKind::Set(self.read_values(around.inside())?),
            type_code::EDGE => {
                let id = self.read_edge()?;
                self.supported(assembly::edge(id, around), start)?
            }
            type_code::VERTEX => {
                let id = self.read_value(ValueContext::Element)?;
                self.bytes.read_string()?;
                self.read_value(ValueContext::Element)?;
                self.supported(assembly::vertex(id, around, self.bytes.since(start)), start)?
            }
            type_code::PROPERTY | type_code::VERTEX_PROPERTY if around == ValueContext::Element => {
                self.read_property(code == type_code::VERTEX_PROPERTY)?;
                ArgumentKind::Null
            }
            type_code::BINDING => {
                self.bytes.read_string()?;
                self.read_value(around)?.kind
            }
            type_code::BYTECODE => {
                let bytecode = self.read_instructions()?;
                self.supported(assembly::nested(bytecode), start)?
            }
            type_code::P | type_code::TEXT_P => {
                let name = self.bytes.read_string()?;
                let arguments = self.read_values(ValueContext::Predicate)?;
                self.supported(assembly::predicate(name, arguments, self.bytes.since(start)), start)?
            }
            type_code::STRATEGY => self.read_strategy()?,
            code => {
                let message = name(code).map_or_else(|| format!("there is no type {code:#04x}"), refused);
                return self.supported(Err(message), start);
            }
        };
        self.levels.leave();
        Ok(kind)
    }

    fn read_values(&mut self, around: ValueContext) -> Result<Vec<Argument>, ReadError> {
        let mut values = Vec::new();
        for _ in 0..self.bytes.read_count(2)? {
            values.push(self.read_value(around)?);
        }
        Ok(values)
    }

    fn read_entries(&mut self, around: ValueContext) -> Result<Vec<(Argument, Argument)>, ReadError> {
        let mut entries = Vec::new();
        for _ in 0..self.bytes.read_count(4)? {
            entries.push((self.read_value(around)?, self.read_value(around)?));
        }
        Ok(entries)
    }

    fn read_strategy(&mut self) -> Result<ArgumentKind, ReadError> {
        let class = self.bytes.read_string()?;
        let mut settings = Vec::new();
        for _ in 0..self.bytes.read_count(4)? {
            let before = self.bytes.clone();
            let ArgumentKind::Scalar(Value::String(key)) = self.read_value(ValueContext::Anything)?.kind
            else {
                return Err(before.malformed("the name of a setting expected, a string").into());
            };
            settings.push((key, self.read_value(ValueContext::Anything)?));
        }
        Ok(assembly::strategy(class, settings))
    }

    /// The id of an edge, the rest of which is left out.
    fn read_edge(&mut self) -> Result<Argument, ReadError> {
        let id = self.read_value(ValueContext::Element)?;
        self.bytes.read_string()?;
        for _ in ["in", "out"] {
            self.read_value(ValueContext::Element)?;
            self.bytes.read_string()?;
        }
        for _ in ["parent", "properties"] {
            self.read_value(ValueContext::Element)?;
        }
        Ok(id)
    }

    /// Reads what an element brings with it and nobody asks for.
    fn read_property(&mut self, of_vertex: bool) -> Result<(), ReadError> {
        if of_vertex {
            self.read_value(ValueContext::Element)?;
        }
        self.bytes.read_string()?;
        for _ in 0..if of_vertex { 3 } else { 2 } {
            self.read_value(ValueContext::Element)?;
        }
        Ok(())
    }

    /// The value of `result`, or its error as that of the value that begins at `start`.
    fn supported<T>(&self, result: Result<T, String>, start: usize) -> Result<T, ReadError> {
        Ok(self.bytes.supported(result, start)?)
    }
}

#[cfg(test)]
mod samples;

#[cfg(test)]
mod tests;
