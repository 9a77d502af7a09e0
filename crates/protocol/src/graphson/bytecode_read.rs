//! Bytecode in GraphSON 3: decodes a traversal and its arguments from JSON with types.
//!
//! ```text
//! g:Bytecode   {"source": [instruction, ...], "step": [instruction, ...]}
//! instruction  [name, argument, ...]
//! g:P, g:TextP {"predicate": name, "value": argument}; an array of them for within, between, and
//! g:Binding    {"key": name, "value": argument}
//! g:Vertex     {"id": argument, ...}, and g:Edge: the rest is left out
//! g:Class      name; of a strategy
//! g:...Strategy  {"fqcn": class, "conf": {setting: argument, ...}}; older drivers have the settings alone
//! g:Order, g:T and the like   a word
//! ```
//!
//! Values are those that files in GraphSON have (`evergraph_formats::graphson::value_read`), with null,
//! and with arguments of other kinds in lists, sets and maps. What they become is what they become in
//! GraphBinary: see [`bytecode`](evergraph_query::gremlin::bytecode).
//!
//! JSON may be nested 300 deep, which is 75 traversals within each other. Memory: some 150 times the
//! text's bytes at most.
//!
//! Source: TinkerPop 3.8, "GraphSON 3.0"; `TraversalSerializersV3` of its sources.

use evergraph_formats::graphson::typed::read_typed;
use evergraph_formats::graphson::value_read::{read_typed_value, read_value as read_plain_value};
use evergraph_formats::json::read::{JsonError, JsonReader, Kind};
use evergraph_graph::value::Value;
use evergraph_graph::value::duration::Duration;
use evergraph_query::error::{Span, TextError};
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::bytecode::assembly::{self, Levels, ValueContext, refused};
use evergraph_query::gremlin::bytecode::instruction_position::{InstructionPosition, ReadError};
use evergraph_query::gremlin::call::{Argument, ArgumentKind, Call};
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::token::Enumeration;
use evergraph_query::stack::deeper;

/// Reads one bytecode, and checks its calls.
///
/// Cost: that of [`parse`], and a look at each call.
///
/// # Errors
/// If the text is no bytecode, passes a limit, or a call doesn't fit its signature; with the
/// instruction.
pub fn read(text: &[u8], limits: &ParseLimits) -> Result<Bytecode, TextError> {
    let mut bytecode = parse(text, limits)?;
    bytecode.check()?;
    Ok(bytecode)
}

/// Reads one bytecode; nothing else may follow.
///
/// Cost: one pass, and one more for each value inside of which types stand behind their values.
///
/// # Errors
/// If the text is no bytecode, or passes a limit; with the instruction.
pub fn parse(text: &[u8], limits: &ParseLimits) -> Result<Bytecode, TextError> {
    whole(text, limits, |reader, json| reader.read_typed_bytecode(json))
}

/// Reads what may be an argument, such as the value of a variable; nothing else may follow.
///
/// # Errors
/// If the text is something else, or passes a limit.
pub fn parse_argument(text: &[u8], limits: &ParseLimits) -> Result<Argument, TextError> {
    whole(text, limits, |reader, json| reader.read_argument(json))
}

/// All of `text` as `read` reads it.
fn whole<T>(
    text: &[u8],
    limits: &ParseLimits,
    read: impl FnOnce(&mut ArgumentReader, &mut JsonReader<'_>) -> Result<T, ReaderError>,
) -> Result<T, TextError> {
    let bytes_max = limits.text_bytes_max.min(u32::MAX as usize);
    if text.len() > bytes_max {
        let message = format!("a query of {} bytes is past the limit of {bytes_max}", text.len());
        return Err(TextError::limit(Span::default(), message));
    }
    let mut json = JsonReader::new(text);
    let mut reader = ArgumentReader::new(Levels::new(limits.depth_max));
    let found = read(&mut reader, &mut json);
    let found = found.and_then(|found| Ok(json.finish().map(|()| found)?));
    found.map_err(|ReaderError(error)| error.told())
}

/// An error of the JSON or of what it means.
#[derive(Debug)]
pub(crate) struct ReaderError(pub(crate) ReadError);

impl From<ReadError> for ReaderError {
    fn from(error: ReadError) -> Self {
        Self(error)
    }
}

impl From<JsonError> for ReaderError {
    fn from(error: JsonError) -> Self {
        Self(ReadError::malformed(span(error.offset, error.offset), error.to_string()))
    }
}

/// Reads the parts of bytecode, and arguments.
#[derive(Debug)]
pub(crate) struct ArgumentReader {
    levels: Levels,
}

impl ArgumentReader {
    /// With the limits of `levels`.
    pub(crate) fn new(levels: Levels) -> Self {
        Self { levels }
    }

    /// Reads a value of the type `g:Bytecode`.
    pub(crate) fn read_typed_bytecode(&mut self, json: &mut JsonReader<'_>) -> Result<Bytecode, ReaderError> {
        let offset = json.offset();
        let typed = read_typed(json, |name, json| match name {
            "g:Bytecode" => self.read_bytecode(json),
            _ => Err(json.error("bytecode expected, @type g:Bytecode").into()),
        })?;
        typed.ok_or_else(|| {
            JsonError { offset, reason: "bytecode expected, @type g:Bytecode".to_owned() }.into()
        })
    }

    /// Reads the value of a variable.
    pub(crate) fn read_argument(&mut self, json: &mut JsonReader<'_>) -> Result<Argument, ReaderError> {
        self.read_value(json, ValueContext::of_variable())
    }

    fn read_bytecode(&mut self, json: &mut JsonReader<'_>) -> Result<Bytecode, ReaderError> {
        let (mut source, mut steps) = (Vec::new(), Vec::new());
        json.begin_object()?;
        while let Some(key) = json.next_key()? {
            match &*key {
                "source" => source = self.read_instructions(json, true)?,
                "step" => steps = self.read_instructions(json, false)?,
                _ => return Err(json.error(format!("`{key}` is not part of bytecode")).into()),
            }
        }
        Ok(Bytecode::new(source.into_iter().flat_map(assembly::source_calls).collect(), steps))
    }

    fn read_instructions(
        &mut self,
        json: &mut JsonReader<'_>,
        of_source: bool,
    ) -> Result<Vec<Call>, ReaderError> {
        let mut calls = Vec::new();
        json.begin_array()?;
        while json.next_element()? {
            calls.push(self.read_instruction(json, of_source, calls.len() + 1)?);
        }
        Ok(calls)
    }

    fn read_instruction(
        &mut self,
        json: &mut JsonReader<'_>,
        of_source: bool,
        number: usize,
    ) -> Result<Call, ReaderError> {
        json.begin_array()?;
        if !json.next_element()? {
            return Err(json.error("the name of an instruction expected").into());
        }
        let start = json.offset();
        let name = json.read_string()?;
        let span = span(start, json.offset());
        let within = |argument: Option<usize>, ReaderError(error): ReaderError| {
            ReaderError(error.within(InstructionPosition {
                of_source,
                number,
                name: (&*name).into(),
                argument,
            }))
        };
        self.levels.enter(span).map_err(|error| within(None, error.into()))?;
        let mut arguments: Vec<Argument> = Vec::new();
        while json.next_element().map_err(|error| within(None, error.into()))? {
            let value = self.read_value(json, ValueContext::of_instruction(&name));
            arguments.push(value.map_err(|wrong| within(Some(arguments.len() + 1), wrong))?);
        }
        self.levels.leave();
        let spans: Vec<Span> = arguments.iter().map(|argument| argument.span).collect();
        assembly::call(&name, arguments, span)
            .map_err(|(at, reason)| within(Some(at + 1), ReadError::invalid(spans[at], reason).into()))
    }

    fn read_value(
        &mut self,
        json: &mut JsonReader<'_>,
        around: ValueContext,
    ) -> Result<Argument, ReaderError> {
        let start = json.offset();
        self.levels.count(span(start, start))?;
        let kind = match json.peek()? {
            Kind::Null => {
                json.read_null()?;
                ArgumentKind::Null
            }
            Kind::Bool | Kind::Number | Kind::String => assembly::scalar(read_plain_value(json)?),
            Kind::Array => ArgumentKind::List(deeper(|| self.read_values(json, around))?),
            Kind::Object => {
                let named = |name: &str, json: &mut JsonReader<'_>| {
                    deeper(|| self.read_named(name, json, around, start))
                };
                let typed = read_typed(json, named)?;
                match typed {
                    Some(kind) => kind,
                    None => ArgumentKind::Map(deeper(|| self.read_object(json, around))?),
                }
            }
        };
        Ok(Argument { kind, span: span(start, json.offset()) })
    }

    /// Reads the `@value` of the type `name`, whose object begins at `start`.
    fn read_named(
        &mut self,
        name: &str,
        json: &mut JsonReader<'_>,
        around: ValueContext,
        start: usize,
    ) -> Result<ArgumentKind, ReaderError> {
        let word = name.strip_prefix("g:").unwrap_or_default();
        if let Some(enumeration) = Enumeration::from_name(word).filter(|of| of.has_short_form()) {
            let word = json.read_string()?;
            return told(assembly::token(enumeration, &word), start, json);
        }
        match word {
            "List" => Ok(ArgumentKind::List(self.read_values(json, around)?)),
            "Set" => Ok(ArgumentKind::Set(self.read_values(json, around)?)),
            "Map" => Ok(ArgumentKind::Map(self.read_entries(json, around)?)),
            "Bytecode" => {
                let bytecode = self.read_bytecode(json)?;
                told(assembly::nested(bytecode), start, json)
            }
            "P" | "TextP" => self.read_predicate(json, start),
            "Binding" => self.read_member(json, "value", around).map(|value| value.kind),
            "Vertex" => {
                let id = self.read_member(json, "id", ValueContext::Element)?;
                told(assembly::vertex(id, around, span(start, json.offset())), start, json)
            }
            "Edge" => {
                let id = self.read_member(json, "id", ValueContext::Element)?;
                told(assembly::edge(id, around), start, json)
            }
            "Class" => {
                let class = json.read_string()?;
                told(assembly::class(&class), start, json)
            }
            strategy if strategy.ends_with("Strategy") => self.read_strategy(strategy, json),
            _ => match no_argument(word) {
                Some(what) => told(Err(refused(what)), start, json),
                None => {
                    let value = read_typed_value(name, json)?;
                    let value = if name == "gx:Duration" { with_days_as_hours(value, json)? } else { value };
                    Ok(assembly::scalar(value))
                }
            },
        }
    }

    fn read_values(
        &mut self,
        json: &mut JsonReader<'_>,
        around: ValueContext,
    ) -> Result<Vec<Argument>, ReaderError> {
        self.enter(json)?;
        let mut values = Vec::new();
        json.begin_array()?;
        while json.next_element()? {
            values.push(self.read_value(json, around.inside())?);
        }
        self.levels.leave();
        Ok(values)
    }

    fn read_entries(
        &mut self,
        json: &mut JsonReader<'_>,
        around: ValueContext,
    ) -> Result<Vec<(Argument, Argument)>, ReaderError> {
        self.enter(json)?;
        let mut entries = Vec::new();
        json.begin_array()?;
        while json.next_element()? {
            let key = self.read_value(json, around.inside())?;
            if !json.next_element()? {
                return Err(json.error("the last key of a map has no value").into());
            }
            entries.push((key, self.read_value(json, around.inside())?));
        }
        self.levels.leave();
        Ok(entries)
    }

    fn read_object(
        &mut self,
        json: &mut JsonReader<'_>,
        around: ValueContext,
    ) -> Result<Vec<(Argument, Argument)>, ReaderError> {
        let settings = self.read_settings(json, around)?;
        let entry = |(key, value): (Box<str>, Argument)| {
            (Argument { kind: assembly::scalar(key), span: value.span }, value)
        };
        Ok(settings.into_iter().map(entry).collect())
    }

    fn read_settings(
        &mut self,
        json: &mut JsonReader<'_>,
        around: ValueContext,
    ) -> Result<Vec<(Box<str>, Argument)>, ReaderError> {
        self.enter(json)?;
        let mut settings = Vec::new();
        json.begin_object()?;
        while let Some(key) = json.next_key()? {
            settings.push((key.into(), self.read_value(json, around.inside())?));
        }
        self.levels.leave();
        Ok(settings)
    }

    fn read_predicate(
        &mut self,
        json: &mut JsonReader<'_>,
        start: usize,
    ) -> Result<ArgumentKind, ReaderError> {
        self.enter(json)?;
        let (mut name, mut value) = (None, None);
        json.begin_object()?;
        while let Some(key) = json.next_key()? {
            match &*key {
                "predicate" => name = Some(json.read_string()?),
                "value" => value = Some(self.read_value(json, ValueContext::Predicate)?),
                _ => return Err(json.error(format!("`{key}` is not part of a predicate")).into()),
            }
        }
        self.levels.leave();
        let (Some(name), Some(value)) = (name, value) else {
            return Err(json.error("a predicate has `predicate` and `value`").into());
        };
        let takes_several =
            matches!(&*name, "within" | "without" | "between" | "inside" | "outside" | "and" | "or");
        let arguments = match value.kind {
            ArgumentKind::List(values) | ArgumentKind::Set(values) if takes_several => values,
            kind => vec![Argument { kind, ..value }],
        };
        told(assembly::predicate(&name, arguments, span(start, json.offset())), start, json)
    }

    fn read_strategy(&mut self, name: &str, json: &mut JsonReader<'_>) -> Result<ArgumentKind, ReaderError> {
        self.enter(json)?;
        let (mut class, mut settings) = (None, Vec::new());
        json.begin_object()?;
        while let Some(key) = json.next_key()? {
            match &*key {
                "fqcn" => class = Some(json.read_string()?),
                "conf" => settings.append(&mut self.read_settings(json, ValueContext::Anything)?),
                _ => settings.push((key.into(), self.read_value(json, ValueContext::Anything)?)),
            }
        }
        self.levels.leave();
        Ok(assembly::strategy(class.as_deref().unwrap_or(name), settings))
    }

    /// Reads the member `wanted` of an object; what stands beside it is left out.
    fn read_member(
        &mut self,
        json: &mut JsonReader<'_>,
        wanted: &str,
        around: ValueContext,
    ) -> Result<Argument, ReaderError> {
        self.enter(json)?;
        let mut found = None;
        json.begin_object()?;
        while let Some(key) = json.next_key()? {
            if *key == *wanted {
                found = Some(self.read_value(json, around)?);
            } else {
                json.skip_value()?;
            }
        }
        self.levels.leave();
        found.ok_or_else(|| json.error(format!("the object before this place has no `{wanted}`")).into())
    }

    fn enter(&mut self, json: &mut JsonReader<'_>) -> Result<(), ReaderError> {
        let offset = json.offset();
        Ok(self.levels.enter(span(offset, offset))?)
    }
}

/// What `result` says, of the value that begins at `start` and was read.
fn told<T>(result: Result<T, String>, start: usize, json: &mut JsonReader<'_>) -> Result<T, ReaderError> {
    result.map_err(|reason| ReadError::invalid(span(start, json.offset()), reason).into())
}

/// A duration as Java reads it: days are 24 hours, as gremlinpython sends them. Files may have both.
fn with_days_as_hours(value: Value, json: &mut JsonReader<'_>) -> Result<Value, ReaderError> {
    let Value::Duration(duration) = value else { return Ok(value) };
    if duration.months() != 0 {
        return Ok(value);
    }
    let seconds = duration.seconds().checked_add(i64::from(duration.days()) * 86_400);
    let exact = seconds.and_then(|seconds| Duration::new(0, 0, seconds, duration.nanoseconds()).ok());
    exact.map(Value::Duration).ok_or_else(|| json.error("the duration is too long").into())
}

fn span(start: usize, end: usize) -> Span {
    let offset = |at| u32::try_from(at).expect("a text that is read has less than 2^32 bytes");
    Span { start: offset(start), end: offset(end) }
}

/// What a type is called that is no argument and no value.
fn no_argument(name: &str) -> Option<&'static str> {
    Some(match name {
        "Lambda" => "a lambda",
        "Traverser" => "a traverser",
        "Path" => "a path",
        "Property" => "a property",
        "VertexProperty" => "a vertex property",
        "BulkSet" => "a bulk set",
        "Tree" => "a tree",
        "Metrics" => "metrics",
        "TraversalMetrics" => "the metrics of a traversal",
        _ => return None,
    })
}

#[cfg(test)]
mod samples;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphson::bytecode_read::samples::SAMPLES;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::value::{Value, ValueType};
    use evergraph_query::gremlin::bindings::Bindings;
    use evergraph_query::gremlin::read::read as read_text;
    use std::thread;

    fn argument(json: &str) -> ArgumentKind {
        parse_argument(json.as_bytes(), &ParseLimits::default()).expect(json).kind
    }

    fn refused(json: &str) -> String {
        read(json.as_bytes(), &ParseLimits::default()).expect_err(json).to_string()
    }

    /// The steps in bytecode.
    fn steps(json: &str) -> String {
        format!(r#"{{"@type": "g:Bytecode", "@value": {{"step": [{json}]}}}}"#)
    }

    #[test]
    fn what_gremlinpython_writes_is_the_query_of_the_text() {
        let limits = ParseLimits::default();
        let mut bindings = Bindings::new();
        bindings.bind("x", "ann");
        for (text, json) in SAMPLES {
            let expected = read_text(text, &limits, &bindings).expect(text);
            let found = read(json.as_bytes(), &limits).expect(text);
            assert_eq!(found.query(), &expected, "{text}");
        }
    }

    /// As Java and older drivers write it: numbers as numbers, `between` as two predicates, values before types.
    #[test]
    fn what_other_drivers_write_is_the_query_of_the_text() {
        for (json, text) in [
            (
                r#"["inject", {"@type": "gx:BigInteger", "@value": 123456789987654321123456789987654321},
                    {"@type": "gx:BigDecimal", "@value": 12.50}, {"@type": "g:Double", "@value": 0.1},
                    {"@value": "NaN", "@type": "g:Double"}, 7, "x", [1, "a"], {"a": null}]"#,
                "g.inject(123456789987654321123456789987654321, 12.50m, 0.1, NaN, 7, 'x', [1, 'a'], ['a': null])",
            ),
            (
                r#"["V"], ["has", "a", {"@type": "g:P", "@value": {"value": [
                    {"@type": "g:P", "@value": {"predicate": "gte", "value": 1}},
                    {"@type": "g:P", "@value": {"predicate": "lt", "value": 2}}], "predicate": "and"}}]"#,
                "g.V().has('a', gte(1).and(lt(2)))",
            ),
            (
                r#"["V"], ["is", {"@type": "g:P", "@value": {"predicate": "within", "value": 
                    {"@type": "g:List", "@value": [1, 2]}}}], ["is", {"@type": "g:P", "@value":
                    {"predicate": "eq", "value": {"@type": "g:List", "@value": [1]}}}]"#,
                "g.V().is(within(1, 2)).is(eq([1]))",
            ),
            (
                r#"["V", {"@type": "g:Vertex", "@value": {"id": {"@type": "g:Int64", "@value": 7}, "label": "a",
                    "properties": {"k": [{"@type": "g:VertexProperty", "@value": {}}]}}}],
                   ["is", {"@type": "gx:Int16", "@value": 1}]"#,
                "g.V(7l).is(1s)",
            ),
        ] {
            let expected = read_text(text, &ParseLimits::default(), &Bindings::new()).expect(text);
            let found = read(steps(json).as_bytes(), &ParseLimits::default()).expect(json);
            assert_eq!(found.query(), &expected, "{text}");
        }
        let strategies = r#"{"@type": "g:Bytecode", "@value": {"source": [["withStrategies",
            {"@type": "g:SubgraphStrategy", "@value": {"checkAdjacentVertices": false}},
            {"@type": "g:TraversalStrategyProxy", "@value": 1}]]}}"#;
        assert!(
            refused(strategies).starts_with("source instruction 1 (`withStrategies`), argument 2: byte ")
        );
        let strategies = strategies
            .replace("TraversalStrategyProxy\", \"@value\": 1", "ReadOnlyStrategy\", \"@value\": {}");
        let text = "g.withStrategies(new SubgraphStrategy(checkAdjacentVertices: false), ReadOnlyStrategy)";
        let expected = read_text(text, &ParseLimits::default(), &Bindings::new()).unwrap();
        assert_eq!(read(strategies.as_bytes(), &ParseLimits::default()).unwrap().query(), &expected);
    }

    #[test]
    fn values_are_those_of_files() {
        for (name, json, value_type, text) in [
            ("gx:Char", "\"x\"", ValueType::Char, "x"),
            ("gx:Duration", "\"PT5.000007S\"", ValueType::Duration, "PT5.000007S"),
            ("gx:Duration", "\"P2DT5S\"", ValueType::Duration, "PT172805S"),
            ("gx:Period", "\"P2D\"", ValueType::Duration, "P2D"),
            ("gx:LocalDate", "\"2024-02-29\"", ValueType::Date, "2024-02-29"),
            ("g:Timestamp", "-1", ValueType::DateTime, "1969-12-31T23:59:59.999Z"),
            ("gx:ByteBuffer", "\"AP8=\"", ValueType::Bytes, "0x00ff"),
        ] {
            let typed = format!(r#"{{"@type": "{name}", "@value": {json}}}"#);
            let expected = Value::parse(text, value_type).expect(text);
            assert_eq!(argument(&typed), ArgumentKind::Scalar(expected), "{name}");
        }
        assert_eq!(argument("null"), ArgumentKind::Null);
    }

    #[test]
    fn an_element_is_its_id_where_that_finds_or_shows_it_and_refused_elsewhere() {
        let vertex = r#"{"@type": "g:Vertex", "@value": {"id": {"@type": "g:Int64", "@value": 7}}}"#;
        let list = format!(r#"{{"@type": "g:List", "@value": [{vertex}]}}"#);
        let limits = ParseLimits::default();
        for (json, text) in [
            (format!(r#"["V", {vertex}]"#), "g.V(7L)"),
            (format!(r#"["V", {list}]"#), "g.V([7L])"),
            (format!(r#"["V"], ["inject", {vertex}]"#), "g.V().inject(7L)"),
            (format!(r#"["V"], ["hasId", {vertex}, {vertex}]"#), "g.V().hasId(7L, 7L)"),
            (format!(r#"["V"], ["addE", "e"], ["to", {vertex}]"#), "g.V().addE('e').to(__.V(7L))"),
        ] {
            let expected = read_text(text, &limits, &Bindings::new()).expect(text);
            assert_eq!(read(steps(&json).as_bytes(), &limits).expect(text).query(), &expected, "{text}");
        }
        for step in ["is", "constant"] {
            for argument in [vertex, &list] {
                let error = refused(&steps(&format!(r#"["V"], ["{step}", {argument}]"#)));
                assert!(error.contains("an element can't be an argument here: give its id"), "{error}");
            }
        }
    }

    #[test]
    fn what_no_calls_can_hold_is_named_with_its_instruction() {
        let typed = |name: &str, value: &str| format!(r#"{{"@type": "{name}", "@value": {value}}}"#);
        for (json, reason) in [
            (typed("g:Lambda", "{}"), "lambdas are not supported: write the function in steps"),
            (typed("g:Traverser", "{}"), "a traverser can't be an argument"),
            (typed("x:own", "{}"), "byte 91: values of the type `x:own` are not supported"),
            (typed("g:Order", "\"dsc\""), "`Order` has no `dsc`; did you mean `desc`?"),
            (
                typed("g:WithOptions", "\"ids\""),
                "byte 99: values of the type `g:WithOptions` are not supported",
            ),
            (typed("g:P", r#"{"predicate": "xx", "value": 1}"#), "there is no predicate called `xx`"),
            (typed("g:P", r#"{"predicate": "gt"}"#), "byte 108: a predicate has `predicate` and `value`"),
            (
                typed(
                    "g:P",
                    &format!(r#"{{"predicate": "eq", "value": {}}}"#, typed("g:Vertex", r#"{"id": 1}"#)),
                ),
                "a predicate doesn't compare elements: compare their ids, as with `hasId`",
            ),
            (typed("g:Vertex", "{}"), "byte 96: the object before this place has no `id`"),
            (
                typed("g:Bytecode", "{}"),
                "a traversal without steps can't be an argument: `identity` does nothing",
            ),
            (typed("g:Map", "[1]"), "byte 94: the last key of a map has no value"),
            ("[1,]".to_owned(), "byte 65: expected a value, found `]`"),
        ] {
            let expected = format!("step 2 (`inject`), argument 1: {reason}");
            assert_eq!(refused(&steps(&format!(r#"["V"], ["inject", {json}]"#))), expected, "{json}");
        }
        assert_eq!(refused("1"), "byte 0: bytecode expected, @type g:Bytecode");
        assert_eq!(refused(&typed("g:List", "[]")), "byte 30: bytecode expected, @type g:Bytecode");
        assert_eq!(refused(&steps("[]")), "byte 46: the name of an instruction expected");
        assert_eq!(refused(&(steps("") + "1")), "byte 47: expected the end of the text, found `1`");
        assert_eq!(
            refused(&steps(
                r#"["V"], ["where", {"@type": "g:Bytecode", "@value": {"step": [["limit", "a"]]}}]"#
            )),
            "step 2 (`where`), argument 1, step 1 (`limit`), argument 1: \
             `limit` takes (integer) or (Scope, integer), and this is a string"
        );
        let one = r#"{"@type": "g:P", "@value": {"predicate": "and", "value": [{"@type": "g:P", "@value": {"predicate": "gt", "value": 1}}]}}"#;
        assert_eq!(
            refused(&steps(&format!(r#"["V"], ["has", "a", {one}]"#))),
            "step 2 (`has`), argument 2: `and` takes (predicate, predicate, predicate...), and was given 1 argument"
        );
    }

    #[test]
    fn deep_nesting_is_an_error_and_a_full_stack_is_not() {
        let forms = [
            ("[", "]"),
            (r#"{"a":"#, "}"),
            (r#"{"@type":"g:Set","@value":["#, "]}"),
            (r#"{"@type":"g:Map","@value":[1,"#, "]}"),
            (r#"{"@type":"g:P","@value":{"predicate":"not","value":"#, "}}"),
            (r#"{"@type":"g:Bytecode","@value":{"step":[["map","#, "]]}}"),
            (r#"{"@type":"g:Binding","@value":{"value":"#, "}}"),
        ];
        let check = move || {
            for (open, close) in forms {
                let text = |count: usize| {
                    steps(&format!(r#"["inject", {}null{}]"#, open.repeat(count), close.repeat(count)))
                };
                let limits = ParseLimits { text_bytes_max: 1 << 26, ..ParseLimits::default() };
                let deep = parse(text(100_000).as_bytes(), &limits).expect_err(open);
                assert!(deep.message.contains("nested"), "{open}: {}", deep.message);
                assert!(parse(text(70).as_bytes(), &limits).is_ok(), "{open}");
            }
            let few = ParseLimits { depth_max: 2, ..ParseLimits::default() };
            let error = parse(steps(r#"["inject", [[1]]]"#).as_bytes(), &few).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Limit);
            assert_eq!(error.message, "step 1 (`inject`), argument 1: nested more than 2 deep");
        };
        thread::Builder::new().stack_size(1 << 19).spawn(check).unwrap().join().unwrap();
        let few = ParseLimits { text_bytes_max: 8, ..ParseLimits::default() };
        let error = parse(steps("").as_bytes(), &few).unwrap_err();
        assert_eq!(
            (error.kind, &*error.message),
            (ErrorKind::Limit, "a query of 47 bytes is past the limit of 8")
        );
    }
}
