//! Reader: a Pajek file as vertices and edges, in file order.
//!
//! ```text
//! *Vertices 3
//! 1 "Ada" 0.1 0.2 0.5 ellipse        3 has no line, and is there all the same
//! 2 "Bob"
//! *Arcs :1 "knows"
//! 1 2 0.5 l "since 1833" c Blue
//! ```
//!
//! | in the file | here |
//! |---|---|
//! | a vertex | its number as id; its label as property `label` |
//! | two kinds of vertices (`*Vertices 15 10`) | property `mode`, 1 or 2 |
//! | a relation (`*Arcs :1 "knows"`, `1: 1 2`) | the edge type: its name, or its number |
//! | a third number of an edge; `l "text"`; a number of a matrix other than 0 | `weight`; `label`; `weight` |
//! | `*Edges`, `*Edgeslist` | edges from source to target; counted |
//! | places, shapes, colours | skipped, counted a line |
//! | times in brackets | skipped, counted |
//! | `*Partition`, `*Vector` and the like | skipped, counted |
//! | a second network | refused |
//!
//! Lines end in LF, CR LF or CR; those that begin with `%` are comments, and so is all before the first
//! section. Memory: one line, of limited length; and the numbers of vertices from the first on that doesn't
//! follow the one before.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::BufRead;

use evergraph_graph::value::Value;

use crate::byte_stream::{ByteStream, utf8};
use crate::element::{Edge, Element, Position, Vertex};
use crate::element_source::{ElementSource, Properties, ReadSummary, Remark, SourceOptions};
use crate::error::ReadError;
use crate::pajek::fields::{Field, fields};
use crate::pajek::section::{Relation, Section, read_section};

/// What a line is called in errors.
const LINE: &str = "a line";

/// Reads the elements of a file. The first error is the last item.
#[derive(Debug)]
pub struct PajekReader<R> {
    bytes: ByteStream<R>,
    options: SourceOptions,
    summary: ReadSummary,
    position: Position,
    line: Vec<u8>,
    line_bytes: u64,
    /// Lines that ended. A stream of bytes knows no end of a line but LF.
    lines_read: u64,
    part: Part,
    /// The names of relations, by their numbers.
    relations: HashMap<String, String>,
    network: Option<Network>,
    /// Elements of the line that was read last.
    waiting: VecDeque<Element>,
    has_ended: bool,
}

/// What the lines are that come.
#[derive(Debug)]
enum Part {
    Start,
    Vertices,
    Edges {
        is_directed: bool,
        relation: Option<String>,
    },
    Lists {
        is_directed: bool,
        relation: Option<String>,
    },
    /// The number of the entry that comes next.
    Matrix {
        entry: u64,
    },
    /// What is left out, and whether a count of vertices belongs to it.
    Other {
        has_count: bool,
    },
}

/// The vertices.
#[derive(Debug)]
struct Network {
    count: u64,
    first_kind: Option<u64>,
    /// All vertices before this number were there, in order.
    next: u64,
    /// Numbers from `next` on that were there.
    further: HashSet<u64>,
    /// Whether those without a line were counted in.
    is_whole: bool,
}

impl<R: BufRead> PajekReader<R> {
    /// Reads what `bytes` gives.
    pub fn new(bytes: R, options: SourceOptions) -> Self {
        Self {
            bytes: ByteStream::new(bytes),
            options,
            summary: ReadSummary::default(),
            position: Position::START,
            line: Vec::new(),
            line_bytes: 0,
            lines_read: 0,
            part: Part::Start,
            relations: HashMap::new(),
            network: None,
            waiting: VecDeque::new(),
            has_ended: false,
        }
    }

    fn read_next(&mut self) -> Result<Option<Element>, ReadError> {
        loop {
            if let Some(element) = self.waiting.pop_front() {
                return Ok(Some(element));
            }
            if !matches!(self.part, Part::Vertices)
                && let Some(vertex) = self.next_without_line()
            {
                return Ok(Some(vertex));
            }
            if !self.read_line()? {
                if matches!(self.part, Part::Vertices) {
                    // Those without a line come yet.
                    self.part = Part::Other { has_count: false };
                    continue;
                }
                return self.check_end().map(|()| None);
            }
            let line = std::mem::take(&mut self.line);
            let read = self.read_fields(&line);
            self.line = line;
            read?;
        }
    }

    fn check_end(&self) -> Result<(), ReadError> {
        if self.network.is_none() {
            return Err(self.malformed(1, "the file has no line `*Vertices`".to_owned()));
        }
        if let (Part::Matrix { entry }, Some(network)) = (&self.part, &self.network) {
            let (rows, columns) = network.shape();
            if *entry != rows * columns {
                let reason = format!("the matrix ends after {entry} of its {} numbers", rows * columns);
                return Err(self.malformed(1, reason));
            }
        }
        Ok(())
    }

    /// Puts the next line that says something into `line`. Gives whether there is one.
    fn read_line(&mut self) -> Result<bool, ReadError> {
        loop {
            self.line.clear();
            self.position = Position { line: self.lines_read + 1, column: 1 };
            let mut has_end = false;
            while let Some(byte) = self.bytes.take()? {
                if matches!(byte, b'\n' | b'\r') {
                    if byte == b'\r' && self.bytes.peek()? == Some(b'\n') {
                        self.bytes.take()?;
                    }
                    has_end = true;
                    self.lines_read += 1;
                    break;
                }
                if self.line.len() == self.options.text_bytes_max {
                    let limit = self.options.text_bytes_max;
                    return Err(ReadError::TooLong { position: self.position, what: LINE, limit });
                }
                self.line.push(byte);
            }
            self.line_bytes = self.line.len() as u64;
            let text = self.line.trim_ascii();
            if !text.is_empty() && !text.starts_with(b"%") {
                return Ok(true);
            }
            if text.is_empty() && !has_end {
                return Ok(false);
            }
        }
    }

    fn read_fields(&mut self, line: &[u8]) -> Result<(), ReadError> {
        let is_section = line.trim_ascii_start().starts_with(b"*");
        if !is_section && matches!(self.part, Part::Start | Part::Other { .. }) {
            return Ok(());
        }
        let text = utf8(line, self.position)?;
        if is_section {
            let section = read_section(text.trim_ascii()).map_err(|reason| self.malformed(1, reason))?;
            return self.begin(section);
        }
        match &self.part {
            Part::Vertices => self.read_vertex(text),
            Part::Edges { is_directed, relation } => {
                let (is_directed, relation) = (*is_directed, relation.clone());
                self.read_edge(text, is_directed, relation)
            }
            Part::Lists { is_directed, relation } => {
                let (is_directed, relation) = (*is_directed, relation.clone());
                self.read_list(text, is_directed, relation)
            }
            Part::Matrix { entry } => {
                let entry = *entry;
                self.read_row(text, entry)
            }
            Part::Start | Part::Other { .. } => Ok(()),
        }
    }

    fn begin(&mut self, section: Section) -> Result<(), ReadError> {
        if matches!(self.part, Part::Matrix { .. }) {
            self.check_end()?;
        }
        let second = |position| {
            let what = "a second network, which uses the numbers of the first again,".to_owned();
            Err(ReadError::Unsupported { position, what })
        };
        self.part = match section {
            Section::Network if self.network.is_some() => return second(self.position),
            Section::Network => Part::Start,
            Section::Vertices { .. } if matches!(self.part, Part::Other { has_count: true }) => {
                Part::Other { has_count: false }
            }
            Section::Vertices { .. } if self.network.is_some() => return second(self.position),
            Section::Vertices { count: announced, .. } if announced > self.options.announced_max => {
                let (position, limit) = (self.position, self.options.announced_max);
                return Err(ReadError::TooMany { position, announced, limit });
            }
            Section::Vertices { count, first_kind } => {
                let further = HashSet::new();
                self.network = Some(Network { count, first_kind, next: 1, further, is_whole: false });
                Part::Vertices
            }
            Section::Edges { is_directed, relation } => {
                Part::Edges { is_directed, relation: self.edge_type(relation)? }
            }
            Section::Lists { is_directed, relation } => {
                Part::Lists { is_directed, relation: self.edge_type(relation)? }
            }
            Section::Matrix => {
                self.edge_type(None)?;
                Part::Matrix { entry: 0 }
            }
            Section::Other => {
                self.summary.note(Remark::Section);
                Part::Other { has_count: true }
            }
        };
        Ok(())
    }

    /// The edge type of a section that begins, whose vertices must be there.
    fn edge_type(&mut self, relation: Option<Relation>) -> Result<Option<String>, ReadError> {
        if self.network.is_none() {
            return Err(self.malformed(1, "edges before the line `*Vertices`".to_owned()));
        }
        let Some(Relation { number, name }) = relation else { return Ok(None) };
        let name = name.or_else(|| self.relations.get(&number).cloned()).unwrap_or_else(|| number.clone());
        self.relations.insert(number, name.clone());
        Ok(Some(name))
    }

    fn read_vertex(&mut self, text: &str) -> Result<(), ReadError> {
        let mut words = fields(text);
        let number = self.number(words.next(), 1)?;
        let label = words.next().map(|label| label.text.to_owned());
        let mut is_drawn = false;
        for word in words {
            if word.text.starts_with('[') {
                self.summary.note(Remark::Spell);
            } else {
                is_drawn = true;
            }
        }
        if is_drawn {
            self.summary.note(Remark::Drawing);
        }
        if let Some(network) = &mut self.network {
            if number == network.next && network.further.is_empty() {
                network.next += 1;
            } else {
                network.further.insert(number);
            }
        }
        let vertex = self.vertex(number, label);
        self.waiting.push_back(vertex);
        Ok(())
    }

    fn vertex(&mut self, number: u64, label: Option<String>) -> Element {
        let mut properties = Properties::default();
        if let Some(label) = label {
            properties.add("label", Value::from(label), &mut self.summary);
        }
        if let Some(first) = self.network.as_ref().and_then(|network| network.first_kind) {
            properties.add("mode", Value::I64(if number <= first { 1 } else { 2 }), &mut self.summary);
        }
        self.summary.vertices_count += 1;
        Element::Vertex(Vertex {
            id: id(number),
            labels: vec![self.options.default_label.clone()],
            properties: properties.into_vertex(),
        })
    }

    /// The next vertex that the count promised and no line had, once all lines of vertices were there.
    fn next_without_line(&mut self) -> Option<Element> {
        let network = self.network.as_mut().filter(|network| !network.is_whole)?;
        while network.next <= network.count && network.further.remove(&network.next) {
            network.next += 1;
        }
        if network.next > network.count {
            (network.is_whole, network.further) = (true, HashSet::new());
            return None;
        }
        let number = network.next;
        network.next += 1;
        Some(self.vertex(number, None))
    }

    fn read_edge(
        &mut self,
        text: &str,
        is_directed: bool,
        relation: Option<String>,
    ) -> Result<(), ReadError> {
        let mut words = fields(text).peekable();
        let relation = match words.peek().and_then(|word| word.text.strip_suffix(':')) {
            Some(number) => {
                let name = self.relations.get(number).cloned().unwrap_or_else(|| number.to_owned());
                words.next();
                Some(name)
            }
            None => relation,
        };
        let (source, target) = (self.number(words.next(), 1)?, self.number(words.next(), 2)?);
        let mut properties = Properties::default();
        if let Some(weight) = words.peek().and_then(|word| word.text.parse::<f64>().ok()) {
            words.next();
            properties.add("weight", Value::F64(weight), &mut self.summary);
        }
        let mut is_drawn = false;
        while let Some(word) = words.next() {
            match word.text {
                "l" => {
                    if let Some(label) = words.next() {
                        properties.add("label", label.text.into(), &mut self.summary);
                    }
                }
                time if time.starts_with('[') => self.summary.note(Remark::Spell),
                _ => is_drawn = true,
            }
        }
        if is_drawn {
            self.summary.note(Remark::Drawing);
        }
        self.push_edge(source, target, is_directed, relation, properties);
        Ok(())
    }

    fn read_list(
        &mut self,
        text: &str,
        is_directed: bool,
        relation: Option<String>,
    ) -> Result<(), ReadError> {
        let mut words = fields(text);
        let source = self.number(words.next(), 1)?;
        for (place, word) in words.enumerate() {
            let target = self.number(Some(word), place + 2)?;
            self.push_edge(source, target, is_directed, relation.clone(), Properties::default());
        }
        Ok(())
    }

    fn read_row(&mut self, text: &str, first: u64) -> Result<(), ReadError> {
        let (rows, columns) = self.network.as_ref().map_or((0, 0), Network::shape);
        let offset = self.network.as_ref().and_then(|network| network.first_kind).unwrap_or(0);
        let mut entry = first;
        for word in fields(text) {
            if entry == rows * columns {
                let reason = format!("the matrix has {rows} rows of {columns} numbers, and here is another");
                return Err(self.malformed(word.column, reason));
            }
            let weight: f64 = word.text.parse().map_err(|_| {
                self.malformed(word.column, format!("expected a number of the matrix, found {:?}", word.text))
            })?;
            if weight != 0.0 {
                let (source, target) = (entry / columns + 1, entry % columns + 1 + offset);
                let mut properties = Properties::default();
                properties.add("weight", Value::F64(weight), &mut self.summary);
                self.push_edge(source, target, true, None, properties);
            }
            entry += 1;
        }
        self.part = Part::Matrix { entry };
        Ok(())
    }

    fn push_edge(
        &mut self,
        source: u64,
        target: u64,
        is_directed: bool,
        relation: Option<String>,
        properties: Properties,
    ) {
        self.summary.edges_count += 1;
        if !is_directed {
            self.summary.note(Remark::Undirected);
        }
        let edge_type = relation.unwrap_or_else(|| self.options.default_edge_type.clone());
        let (source, target) = (id(source), id(target));
        let properties = properties.into_edge();
        self.waiting.push_back(Element::Edge(Edge { id: None, edge_type, source, target, properties }));
    }

    /// The number of a vertex, which `word` must be; it is the field `place` of its line.
    fn number(&self, word: Option<Field<'_>>, place: usize) -> Result<u64, ReadError> {
        let Some(word) = word else {
            let column = self.line_bytes + 1;
            return Err(self.malformed(
                column,
                format!("field {place}: expected the number of a vertex, found the end"),
            ));
        };
        let number = word.text.parse::<u64>().ok().filter(|number| *number > 0);
        let count = self.network.as_ref().map_or(0, |network| network.count);
        match number {
            Some(number) if number <= count => Ok(number),
            _ => Err(self.malformed(
                word.column,
                format!(
                    "field {place}: expected the number of a vertex, 1 to {count}, found {:?}",
                    word.text
                ),
            )),
        }
    }

    fn malformed(&self, column: u64, reason: String) -> ReadError {
        ReadError::Malformed { position: Position { line: self.position.line, column }, reason }
    }
}

impl Network {
    /// Rows and columns of its matrix.
    fn shape(&self) -> (u64, u64) {
        match self.first_kind {
            Some(first) => (first, self.count - first),
            None => (self.count, self.count),
        }
    }
}

fn id(number: u64) -> Value {
    Value::I64(i64::try_from(number).unwrap_or(i64::MAX))
}

impl<R: BufRead> Iterator for PajekReader<R> {
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

impl<R: BufRead> ElementSource for PajekReader<R> {
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

    fn read(text: &str) -> Result<(Vec<String>, ReadSummary), ReadError> {
        let mut reader = PajekReader::new(text.as_bytes(), SourceOptions::default());
        let elements = reader.by_ref().map(|element| element.map(|element| shown(&element)));
        let elements = elements.collect::<Result<_, _>>()?;
        Ok((elements, reader.summary()))
    }

    fn shown(element: &Element) -> String {
        match element {
            Element::Vertex(Vertex { id, properties, .. }) => {
                let shown = properties.iter().map(|(key, values)| format!(" {key}={}", values[0].value));
                format!("{id}{}", shown.collect::<String>())
            }
            Element::Edge(Edge { edge_type, source, target, properties, .. }) => {
                let shown = properties.iter().map(|(key, value)| format!(" {key}={value}"));
                format!("{source}-{edge_type}-{target}{}", shown.collect::<String>())
            }
        }
    }

    #[test]
    fn vertices_without_a_line_are_there_and_drawings_are_not() {
        for line_end in ["\n", "\r\n", "\r"] {
            let text = "Some title\n% comment\n*Network TRALALA\n*vertices 4\n 1 \"Ada L\" 0.1 0.2 ellipse x_fact 1\n 3 Bob\n*arcs\n1 3 2 h2 0 c Blue l \"since\" [1-7]\n*Edges 2\n3 1\n4 4 -1.5\n";
            let (elements, summary) = read(&text.replace('\n', line_end)).unwrap();
            assert_eq!(
                elements,
                [
                    "1 label=Ada L",
                    "3 label=Bob",
                    "2",
                    "4",
                    "1-edge-3 weight=2.0 label=since",
                    "3-edge-1",
                    "4-edge-4 weight=-1.5"
                ]
            );
            let remarks: Vec<_> = summary.remarks().collect();
            assert_eq!(remarks, [(Remark::Undirected, 2), (Remark::Drawing, 2), (Remark::Spell, 1)]);
            assert_eq!((summary.vertices_count, summary.edges_count), (4, 3));
        }
        assert_eq!(read("*Vertices 2").unwrap().0, ["1", "2"]);
        assert_eq!(read("*Vertices 2\n2 b\n1 a\n").unwrap().0, ["2 label=b", "1 label=a"]);
    }

    #[test]
    fn relations_are_edge_types_and_lists_have_many_targets() {
        let text = "*Vertices 3\n*Arcs :1 \"knows it\"\n1 2\n2: 2 3\n*Arcs :2 \"owns\"\n1 3\n*Edgeslist\n1 2 3\n*Arcslist :1\n3 1\n";
        let (elements, summary) = read(text).unwrap();
        assert_eq!(
            elements[3..],
            ["1-knows it-2", "2-2-3", "1-owns-3", "1-edge-2", "1-edge-3", "3-knows it-1"]
        );
        assert_eq!(summary.count(Remark::Undirected), 2);
    }

    #[test]
    fn a_matrix_has_an_edge_for_each_number_but_zero_and_two_kinds_are_told_apart() {
        let square = "*Vertices 2\n*Matrix\n0 1\n2.5 0\n";
        assert_eq!(read(square).unwrap().0[2..], ["1-edge-2 weight=1.0", "2-edge-1 weight=2.5"]);
        let two_kinds = "*Vertices 3 1\n1 a\n*matrix\n0\n3\n";
        assert_eq!(
            read(two_kinds).unwrap().0,
            ["1 label=a mode=1", "2 mode=2", "3 mode=2", "1-edge-3 weight=3.0"]
        );
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(
            error("*Vertices 3 1\n*matrix\n0 1 7\n"),
            "line 3, column 5: the matrix has 1 rows of 2 numbers, and here is another"
        );
        assert_eq!(
            error("*Vertices 2\n*matrix\n0 1 7\n"),
            "line 4, column 1: the matrix ends after 3 of its 4 numbers"
        );
        assert!(
            error("*Vertices 2\n*matrix\n0 x\n").contains("expected a number of the matrix, found \"x\"")
        );
    }

    #[test]
    fn the_other_parts_of_a_project_are_counted() {
        let text =
            "*Vertices 2\n*Arcs\n1 2\n*Partition p\n*Vertices 2\n1\n2\n*Vector v\n*Vertices 2\n0.5\n0.5\n";
        let (elements, summary) = read(text).unwrap();
        assert_eq!((elements.len(), summary.count(Remark::Section)), (3, 2));
        for second in ["*Network b\n", "*Vertices 2\n"] {
            let error = read(&format!("*Vertices 2\n*Arcs\n1 2\n{second}")).unwrap_err().to_string();
            assert!(error.starts_with("line 4, column 1: a second network"), "{error}");
        }
    }

    #[test]
    fn broken_lines_are_named_with_their_place() {
        for (text, expected) in [
            ("", "line 1, column 1: the file has no line `*Vertices`"),
            ("*Arcs\n1 2\n", "line 1, column 1: edges before the line `*Vertices`"),
            ("*Vertices x\n", "line 1, column 1: the count of vertices: expected"),
            (
                "*Vertices 2\n3 a\n",
                "line 2, column 1: field 1: expected the number of a vertex, 1 to 2, found \"3\"",
            ),
            (
                "*Vertices 2\n*Arcs\n1 0\n",
                "line 3, column 3: field 2: expected the number of a vertex, 1 to 2, found \"0\"",
            ),
            (
                "*Vertices 2\n*Arcs\n1\n",
                "line 3, column 2: field 2: expected the number of a vertex, found the end",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let options = SourceOptions { announced_max: 9, ..SourceOptions::default() };
        let error = PajekReader::new(b"*Vertices 10".as_slice(), options).next().unwrap().unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 1, column 1: 10 vertices are announced, and there is memory for 9"
        );
        let mut latin = PajekReader::new(b"*Vertices 1\n1 \"\xe9\"\n".as_slice(), SourceOptions::default());
        let error = latin.next().unwrap().unwrap_err().to_string();
        assert!(error.starts_with("line 2, column 4: a text is not UTF-8"), "{error}");
    }
}
