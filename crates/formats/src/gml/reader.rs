//! Reader: a GML file as vertices and edges, in file order.
//!
//! ```text
//! Creator "Mark Newman on ..."
//! graph [ directed 1
//!   node [ id 0 label "Myriel" graphics [ x 1.5 y 2.0 ] ]
//!   edge [ source 1 target 0 value 8 ]
//! ]
//! ```
//!
//! | in the file | here |
//! |---|---|
//! | `id` of a node, `source` and `target` of an edge | ids, with the types that they have |
//! | other keys | properties; numbers of one key that has fractions are all `double` |
//! | a key that an element has several times | a list (NetworkX writes lists so) |
//! | a value in brackets | a map |
//! | `graphics`, `LabelGraphics` and the like (yEd) | skipped, counted |
//! | a graph that doesn't say `directed 1` | edges from source to target; counted |
//! | keys of the graph itself | skipped, counted; those beside it are skipped |
//! | a second graph | refused |
//!
//! Memory: one element, of limited length, and nothing that grows with the file.

use std::io::BufRead;

use evergraph_graph::value::Value;
use evergraph_graph::value::collection::{List, Map};

use crate::element::{Edge, Element, Position, Vertex};
use crate::element_source::{ElementSource, Properties, ReadSummary, Remark, SourceOptions};
use crate::error::ReadError;
use crate::gml::lexer::{GmlValue, Lexer, Token};

/// Brackets that may be open at once.
const DEPTH_MAX: usize = 64;
/// What an element's text is called in errors.
const ELEMENT: &str = "an element";
/// Memory of a value beside its text, about.
const VALUE_BYTES: usize = 64;
/// How NetworkX begins a list of one element.
const LIST_START: &str = "_networkx_list_start";

/// Reads the elements of a file. The first error is the last item.
#[derive(Debug)]
pub struct GmlReader<R> {
    lexer: Lexer<R>,
    options: SourceOptions,
    summary: ReadSummary,
    position: Position,
    place: GmlPosition,
    is_directed: bool,
    has_ended: bool,
}

/// Where in the file reading is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GmlPosition {
    Before,
    Inside,
    After,
}

impl<R: BufRead> GmlReader<R> {
    /// Reads what `bytes` gives.
    pub fn new(bytes: R, options: SourceOptions) -> Self {
        Self {
            lexer: Lexer::new(bytes, options.text_bytes_max),
            options,
            summary: ReadSummary::default(),
            position: Position::START,
            place: GmlPosition::Before,
            is_directed: false,
            has_ended: false,
        }
    }

    fn read_next(&mut self) -> Result<Option<Element>, ReadError> {
        loop {
            let token = self.lexer.next_key()?;
            let position = self.lexer.position();
            let malformed = |reason: &str| ReadError::Malformed { position, reason: reason.to_owned() };
            match (token, self.place) {
                (Token::Eof, GmlPosition::Before) => return Err(malformed("the file has no `graph [`")),
                (Token::Eof, GmlPosition::Inside) => {
                    return Err(malformed("the file ends before its graph does"));
                }
                (Token::Eof, GmlPosition::After) => return Ok(None),
                (Token::Close, GmlPosition::Inside) => self.end_graph(),
                (Token::Close, _) => return Err(malformed("a ] that closes nothing")),
                (Token::Key(key), GmlPosition::Inside) => {
                    let value = self.lexer.next_value()?;
                    if let Some(element) = self.read_in_graph(&key, value, position)? {
                        self.position = position;
                        return Ok(Some(element));
                    }
                }
                (Token::Key(key), place) => match (self.lexer.next_value()?, place) {
                    (GmlValue::Open, GmlPosition::Before) if key.eq_ignore_ascii_case("graph") => {
                        self.place = GmlPosition::Inside;
                    }
                    (GmlValue::Open, GmlPosition::After) if key.eq_ignore_ascii_case("graph") => {
                        let what = "a second graph, which may use the ids of the first again,".to_owned();
                        return Err(ReadError::Unsupported { position, what });
                    }
                    (GmlValue::Open, _) => self.skip_record()?,
                    // Who wrote the file, and when.
                    (GmlValue::Scalar(_), _) => {}
                },
            }
        }
    }

    fn end_graph(&mut self) {
        self.place = GmlPosition::After;
        if !self.is_directed {
            self.summary.note_many(Remark::Undirected, self.summary.edges_count);
        }
    }

    fn read_in_graph(
        &mut self,
        key: &str,
        value: GmlValue,
        position: Position,
    ) -> Result<Option<Element>, ReadError> {
        match value {
            GmlValue::Open if key.eq_ignore_ascii_case("node") => {
                self.read_vertex(position).map(|vertex| Some(Element::Vertex(vertex)))
            }
            GmlValue::Open if key.eq_ignore_ascii_case("edge") => {
                self.read_edge(position).map(|edge| Some(Element::Edge(edge)))
            }
            GmlValue::Open => {
                self.summary.note(Remark::GraphValue);
                self.skip_record().map(|()| None)
            }
            GmlValue::Scalar(value) if key.eq_ignore_ascii_case("directed") => {
                self.is_directed = match value.as_i64() {
                    Some(0) => false,
                    Some(1) => true,
                    _ => {
                        let reason = format!("directed is {value}: 0 or 1 are expected");
                        return Err(ReadError::Malformed { position, reason });
                    }
                };
                Ok(None)
            }
            GmlValue::Scalar(_) => {
                self.summary.note(Remark::GraphValue);
                Ok(None)
            }
        }
    }

    fn read_vertex(&mut self, position: Position) -> Result<Vertex, ReadError> {
        let mut entries = self.read_element()?;
        let id = take(&mut entries, "id", "a node", position)?;
        self.summary.vertices_count += 1;
        let properties = self.properties(entries, position)?.into_vertex();
        Ok(Vertex { id, labels: vec![self.options.default_label.clone()], properties })
    }

    fn read_edge(&mut self, position: Position) -> Result<Edge, ReadError> {
        let mut entries = self.read_element()?;
        let source = take(&mut entries, "source", "an edge", position)?;
        let target = take(&mut entries, "target", "an edge", position)?;
        let id = entries.iter().position(|(key, value)| key == "id" && is_id(value));
        let id = id.map(|at| entries.remove(at).1);
        self.summary.edges_count += 1;
        let properties = self.properties(entries, position)?.into_edge();
        Ok(Edge { id, edge_type: self.options.default_edge_type.clone(), source, target, properties })
    }

    /// Reads the keys and values of an element, up to its end.
    fn read_element(&mut self) -> Result<Vec<(String, Value)>, ReadError> {
        let mut budget = Budget { left: self.options.text_bytes_max, start: self.lexer.position() };
        self.read_record(1, &mut budget)
    }

    fn read_record(&mut self, depth: usize, budget: &mut Budget) -> Result<Vec<(String, Value)>, ReadError> {
        let mut entries = Vec::new();
        loop {
            let token = self.lexer.next_key()?;
            let position = self.lexer.position();
            let malformed = |reason: String| ReadError::Malformed { position, reason };
            let key = match token {
                Token::Close => return Ok(entries),
                Token::Eof => {
                    return Err(malformed("the file ends before its brackets are closed".to_owned()));
                }
                Token::Key(key) => key,
            };
            let is_drawing = key.ends_with("raphics") || key == "edgeAnchor";
            let value = match self.lexer.next_value()? {
                GmlValue::Scalar(value) => value,
                GmlValue::Open if is_drawing => {
                    self.summary.note(Remark::Drawing);
                    self.skip_record()?;
                    continue;
                }
                GmlValue::Open if depth == DEPTH_MAX => {
                    return Err(malformed(format!("brackets are nested more than {DEPTH_MAX} deep")));
                }
                GmlValue::Open => {
                    let entries = grouped(self.read_record(depth + 1, budget)?, position)?;
                    let entries = entries.into_iter().map(|(key, value)| (Value::from(key), value)).collect();
                    Value::Map(Map::new(entries).map_err(|error| malformed(error.to_string()))?)
                }
            };
            budget.spend(key.len() + self.lexer.text_bytes() + VALUE_BYTES, self.options.text_bytes_max)?;
            entries.push((key, value));
        }
    }

    /// Reads over everything up to the end of the brackets that opened last.
    fn skip_record(&mut self) -> Result<(), ReadError> {
        let mut open = 1_u64;
        while open > 0 {
            match self.lexer.next_key()? {
                Token::Close => open -= 1,
                Token::Key(_) => open += u64::from(self.lexer.next_value()? == GmlValue::Open),
                Token::Eof => {
                    let (position, reason) =
                        (self.lexer.position(), "the file ends before its brackets are closed".to_owned());
                    return Err(ReadError::Malformed { position, reason });
                }
            }
        }
        Ok(())
    }

    fn properties(
        &mut self,
        entries: Vec<(String, Value)>,
        position: Position,
    ) -> Result<Properties, ReadError> {
        let mut properties = Properties::default();
        for (key, value) in grouped(entries, position)? {
            properties.add(&key, value, &mut self.summary);
        }
        Ok(properties)
    }
}

/// The bytes that an element may still take.
struct Budget {
    left: usize,
    start: Position,
}

impl Budget {
    fn spend(&mut self, bytes: usize, limit: usize) -> Result<(), ReadError> {
        self.left = self.left.checked_sub(bytes).ok_or(ReadError::TooLong {
            position: self.start,
            what: ELEMENT,
            limit,
        })?;
        Ok(())
    }
}

/// Whether a vertex or an edge can be called by `value`.
fn is_id(value: &Value) -> bool {
    !matches!(value, Value::Map(_) | Value::List(_))
}

/// Takes the value of `key` out of the entries of `element`, which must have it.
fn take(
    entries: &mut Vec<(String, Value)>,
    key: &str,
    element: &str,
    position: Position,
) -> Result<Value, ReadError> {
    let at = entries.iter().position(|(known, value)| known == key && is_id(value));
    let reason = format!("{element} has no `{key}`");
    at.map(|at| entries.remove(at).1).ok_or(ReadError::Malformed { position, reason })
}

/// The entries, those of one key as a list, in the order in which the keys came.
fn grouped(entries: Vec<(String, Value)>, position: Position) -> Result<Vec<(String, Value)>, ReadError> {
    let mut groups: Vec<(String, Vec<Value>)> = Vec::with_capacity(entries.len());
    let mut places = std::collections::HashMap::new();
    for (key, value) in entries {
        let at = *places.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    let one = |(key, mut values): (String, Vec<Value>)| {
        if values.len() == 1
            && let Some(only) = values.pop()
        {
            return Ok((key, only));
        }
        if values.first().and_then(Value::as_str) == Some(LIST_START) {
            values.remove(0);
        }
        let list = List::new(values);
        let list = list.map_err(|error| ReadError::Malformed { position, reason: error.to_string() })?;
        Ok((key, Value::List(list)))
    };
    groups.into_iter().map(one).collect()
}

impl<R: BufRead> Iterator for GmlReader<R> {
    type Item = Result<Element, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let item = self.read_next().transpose();
        self.has_ended = !matches!(item, Some(Ok(_)));
        item
    }
}

impl<R: BufRead> ElementSource for GmlReader<R> {
    fn position(&self) -> Position {
        self.position
    }

    fn summary(&self) -> ReadSummary {
        self.summary.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Vec<Element>, ReadSummary), ReadError> {
        let mut reader = GmlReader::new(text.as_bytes(), SourceOptions::default());
        let elements = reader.by_ref().collect::<Result<_, _>>()?;
        Ok((elements, reader.summary()))
    }

    fn vertex(id: impl Into<Value>, properties: &[(&str, Value)]) -> Element {
        let property = |(key, value): &(&str, Value)| ((*key).to_owned(), vec![value.clone().into()]);
        let properties = properties.iter().map(property).collect();
        Element::Vertex(Vertex { id: id.into(), labels: vec!["vertex".to_owned()], properties })
    }

    fn edge(source: impl Into<Value>, target: impl Into<Value>, properties: &[(&str, Value)]) -> Element {
        Element::Edge(Edge {
            id: None,
            edge_type: "edge".to_owned(),
            source: source.into(),
            target: target.into(),
            properties: properties.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
        })
    }

    #[test]
    fn a_file_of_newman_is_read() {
        let text = "Creator \"Mark Newman on Thu\"\ngraph\n[\n  directed 0\n  node\n  [\n    id 1\n    label \"a &amp; b\"\n  ]\n  node\n  [\n    id 2\n    value \"l\"\n    source \"Blog\"\n  ]\n  edge\n  [\n    source 2\n    target 1\n    value 8\n  ]\n]\n";
        let (elements, summary) = read(text).unwrap();
        assert_eq!(
            elements,
            [
                vertex(1_i64, &[("label", "a & b".into())]),
                vertex(2_i64, &[("value", "l".into()), ("source", "Blog".into())]),
                edge(2_i64, 1_i64, &[("value", Value::I64(8))]),
            ]
        );
        assert_eq!((summary.vertices_count, summary.edges_count), (2, 1));
        assert_eq!(summary.remarks().collect::<Vec<_>>(), [(Remark::Undirected, 1)]);
    }

    #[test]
    fn drawings_are_skipped_and_other_brackets_are_maps_and_keys_that_repeat_lists() {
        let text = "Version 1\ngraph [ directed 1 label \"g\" meta [ a [ b 1 ] ]\n node [ id \"x\" a 1 a \"b\" one \"_networkx_list_start\" one 7 c [ s \"t\" s 2 ] graphics [ x 1 Point [ y 2 ] ] LabelGraphics [ text \"l\" ] ]\n edge [ id 7 source \"x\" target \"x\" key 0 ] ]";
        let (elements, summary) = read(text).unwrap();
        let list = |values: Vec<Value>| Value::List(List::new(values).unwrap());
        let map = Map::new(vec![("s".into(), list(vec!["t".into(), 2_i64.into()]))]).unwrap();
        let expected = [
            ("a", list(vec![1_i64.into(), "b".into()])),
            ("one", list(vec![7_i64.into()])),
            ("c", map.into()),
        ];
        assert_eq!(elements[0], vertex("x", &expected));
        let Element::Edge(edge) = &elements[1] else { panic!("an edge") };
        assert_eq!((edge.id.clone(), edge.properties.len()), (Some(Value::I64(7)), 1));
        let remarks: Vec<_> = summary.remarks().collect();
        assert_eq!(remarks, [(Remark::GraphValue, 2), (Remark::Drawing, 2)]);
    }

    #[test]
    fn broken_files_are_named_with_their_place() {
        for (text, expected) in [
            ("", "line 1, column 1: the file has no `graph [`"),
            ("graph [", "line 1, column 8: the file ends before its graph does"),
            ("]", "line 1, column 1: a ] that closes nothing"),
            ("graph [] graph []", "line 1, column 10: a second graph"),
            ("graph [\n node [ label \"x\" ] ]", "line 2, column 2: a node has no `id`"),
            ("graph [ edge [ source 1 ] ]", "line 1, column 9: an edge has no `target`"),
            ("graph [ node [ id [ a 1 ] ] ]", "line 1, column 9: a node has no `id`"),
            ("graph [ node [ id 1", "line 1, column 20: the file ends before its brackets"),
            ("graph [ directed 2 ]", "line 1, column 9: directed is 2: 0 or 1 are expected"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let deep = format!("graph [ node [ {}", "a [ ".repeat(100_000));
        assert!(read(&deep).unwrap_err().to_string().contains("nested more than 64 deep"));
        let options = SourceOptions { text_bytes_max: 1000, ..SourceOptions::default() };
        let wide = format!("graph [ node [ id 1 {}", "a 1 ".repeat(100_000));
        let error = GmlReader::new(wide.as_bytes(), options).next().unwrap().unwrap_err();
        assert!(matches!(error, ReadError::TooLong { limit: 1000, .. }), "{error}");
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_an_error() {
        let text = "graph [ node [ id 1 label \"x\" ] edge [ source 1 target 1 ] ]";
        for end in 0..text.len() {
            assert!(read(&text[..end]).is_err(), "{end}");
        }
        assert!(read(text).is_ok());
    }
}
