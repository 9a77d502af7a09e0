//! Data: the content of one node or edge of a GraphML file.
//!
//! ```text
//! <data key="labelV">person</data>              the label, by the options' key
//! <data key="labels">:Person</data>             the same, as Neo4j's APOC writes it
//! <data key="d0">marko</data>                   a property
//! <data key="d6"><y:ShapeNode>... <y:NodeLabel>Start</y:NodeLabel>      of a drawing: property `label`
//! <data key="d4"><x:List><y:Label><y:Label.Text>Start</y:Label.Text>    the same, of yFiles
//! <port name="p0">...</port>                    left out, counted
//! <graph>                                       more vertices: whoever reads the graph goes on there
//! ```

use std::io::BufRead;

use evergraph_graph::value::Value;

use crate::element_source::{Properties, ReadSummary, Remark};
use crate::error::ReadError;
use crate::graphml::keys::{Keys, Purpose, Scope};
use crate::graphml::options::GraphmlOptions;
use crate::graphml::types::{FORM_ATTRIBUTE, GRAPHSON_FORM, KeyType, read_graphson, read_key_value};
use crate::xml::tokens::{Tag, Token, Tokens, is_blank, malformed};

/// The property that a drawing's label becomes.
const DRAWN_LABEL: &str = "label";
/// The key of labels as APOC writes them, with a colon before each.
const APOC_LABELS: &str = "labels";

/// What the data of an element say.
#[derive(Debug, Default)]
pub(crate) struct Data {
    /// The label or edge type, if data say it.
    pub label: Option<String>,
    /// The properties.
    pub properties: Properties,
    /// The tag of a graph that begins here, inside of the element, which then isn't at its end.
    pub graph: Option<Tag>,
    drawn_label: Option<String>,
}

/// What reading the data of elements needs of the file.
#[derive(Debug, Default)]
pub(crate) struct DataReader {
    /// The keys that were declared.
    pub keys: Keys,
    /// What was read and left out.
    pub summary: ReadSummary,
    /// What stands before the names of GraphML's tags, with its colon.
    pub prefix: String,
    /// For each name of a property, the last element that had it.
    had_by: Vec<u64>,
    elements_count: u64,
}

impl DataReader {
    /// Reads the data of an element of `scope`, up to its end or up to the tag of a graph inside of it.
    pub(crate) fn read<R: BufRead>(
        &mut self,
        scope: Scope,
        parent: &str,
        options: &GraphmlOptions,
        tokens: &mut Tokens<R>,
    ) -> Result<Data, ReadError> {
        self.elements_count += 1;
        self.had_by.resize(self.keys.names_count(), 0);
        let mut data = Data::default();
        loop {
            match tokens.next_token()? {
                Token::Text(text) => require_blank(&text, tokens)?,
                Token::End | Token::Eof => break,
                Token::Start(tag) => match self.local_name(&tag) {
                    Some("data") => self.read_datum(&tag, scope, options, tokens, &mut data)?,
                    Some("desc") => tokens.skip()?,
                    Some("port") if scope == Scope::Vertex => {
                        self.summary.note(Remark::Port);
                        tokens.skip()?;
                    }
                    Some("graph") if scope == Scope::Vertex => {
                        data.graph = Some(tag);
                        break;
                    }
                    Some("graph") => return Err(unsupported(&tag, "a graph inside of an edge")),
                    Some("locator") => {
                        return Err(unsupported(&tag, "a <locator>, which stands for data elsewhere,"));
                    }
                    _ => return Err(unexpected(&tag, parent)),
                },
            }
        }
        self.add_defaults(scope, options, &mut data);
        if let Some(label) = data.drawn_label.take()
            && !data.properties.has(DRAWN_LABEL)
        {
            data.properties.add(DRAWN_LABEL, Value::from(label), &mut self.summary);
        }
        Ok(data)
    }

    /// The name of `tag` without the prefix, if it is one of GraphML's.
    pub(crate) fn local_name<'t>(&self, tag: &'t Tag) -> Option<&'t str> {
        tag.name.strip_prefix(&self.prefix).filter(|name| !name.contains(':'))
    }

    /// Skips data that are no property.
    pub(crate) fn skip<R: BufRead>(&mut self, tokens: &mut Tokens<R>) -> Result<(), ReadError> {
        self.summary.note(Remark::Data);
        tokens.skip()
    }

    fn add_defaults(&mut self, scope: Scope, options: &GraphmlOptions, data: &mut Data) {
        let Self { keys, had_by, elements_count, summary, .. } = self;
        for (key, value) in keys.defaults(scope) {
            if keys.is_called(key, options.name_key(scope), scope) {
                data.label.get_or_insert_with(|| label_of(value));
            } else if had_by[key.name_number] != *elements_count {
                had_by[key.name_number] = *elements_count;
                data.properties.add(&key.name, value.clone(), summary);
            }
        }
    }

    /// Reads the `data` that `tag` opened, up to its end.
    fn read_datum<R: BufRead>(
        &mut self,
        tag: &Tag,
        scope: Scope,
        options: &GraphmlOptions,
        tokens: &mut Tokens<R>,
        data: &mut Data,
    ) -> Result<(), ReadError> {
        let id = tag.required("key")?;
        let fail = |reason: String| Err(malformed(tag.position, format!("data of key `{id}`: {reason}")));
        let Some(key) = self.keys.find(id, scope) else {
            return fail("no such key was declared before".to_owned());
        };
        match key.purpose {
            Purpose::Property if key.is_for(scope) => {}
            Purpose::Property => return fail("the key is declared for other elements".to_owned()),
            Purpose::Drawing => {
                self.summary.note(Remark::Data);
                let label = read_drawing(tokens)?;
                data.drawn_label = data.drawn_label.take().or(label);
                return Ok(());
            }
            Purpose::Skipped => return self.skip(tokens),
        }
        let is_label = self.keys.is_called(key, options.name_key(scope), scope);
        let had_by = &mut self.had_by[key.name_number];
        if if is_label { data.label.is_some() } else { *had_by == self.elements_count } {
            return fail(format!("the element has `{}` twice", key.name));
        }
        let Some(text) = tokens.read_text()? else {
            self.summary.note(Remark::Data);
            return Ok(());
        };
        let read = match (tag.attribute(FORM_ATTRIBUTE), key.key_type) {
            (Some(GRAPHSON_FORM), KeyType::Of(value_type)) => read_graphson(&text, value_type).map(Some),
            _ => read_key_value(&text, key.key_type),
        };
        let value = match read {
            Ok(value) => value,
            Err(reason) => return fail(reason),
        };
        if is_label {
            data.label = value.as_ref().map(label_of);
            return Ok(());
        }
        *had_by = self.elements_count;
        if let Some(value) = value {
            let name = key.name.clone();
            data.properties.add(&name, value, &mut self.summary);
        }
        Ok(())
    }
}

impl Data {
    /// The labels that APOC states: in an attribute of the tag, or else in data, as `:Person:Actor`.
    pub(crate) fn take_apoc_labels(&mut self, attribute: Option<&str>) -> Option<Vec<String>> {
        let stated = attribute.map(ToOwned::to_owned).or_else(|| {
            let text = self.properties.text(APOC_LABELS).filter(|text| text.starts_with(':'));
            text.map(ToOwned::to_owned)
        })?;
        // Data say the same again.
        self.properties.remove(APOC_LABELS);
        let labels = stated.split(':').map(str::trim).filter(|label| !label.is_empty());
        Some(labels.map(ToOwned::to_owned).collect())
    }

    /// The edge type that the attribute `label` of an edge's tag states (TinkerPop 2, APOC).
    pub(crate) fn take_edge_type(&mut self, attribute: Option<&str>) -> Option<String> {
        let stated = attribute?;
        if self.properties.text("label") == Some(stated) {
            self.properties.remove("label");
        }
        Some(stated.to_owned())
    }
}

/// The label of a drawing, whose data go up to their end.
fn read_drawing<R: BufRead>(tokens: &mut Tokens<R>) -> Result<Option<String>, ReadError> {
    let mut label: Option<String> = None;
    let mut open = 1_usize;
    // How many tags are open around the label's own text, while it is read.
    let mut label_at = None;
    while open > 0 {
        match tokens.next_token()? {
            Token::Start(tag) => {
                open += 1;
                let name = tag.name.rsplit(':').next().unwrap_or_default();
                if label.is_none() && matches!(name, "NodeLabel" | "EdgeLabel" | "Label.Text") {
                    (label, label_at) = (Some(String::new()), Some(open));
                } else if label.is_none() && name == "Label" {
                    label = tag.attribute("Text").map(ToOwned::to_owned);
                }
            }
            Token::End => {
                if label_at == Some(open) {
                    label_at = None;
                    // One that is empty is none: the next may have text.
                    label = label.filter(|text| !text.trim_matches(is_blank).is_empty());
                }
                open -= 1;
            }
            Token::Text(text) if label_at == Some(open) => {
                let label = label.get_or_insert_default();
                if label.len() + text.len() > tokens.unit_bytes_max() {
                    return Err(malformed(
                        tokens.position(),
                        "the label of a drawing is too long".to_owned(),
                    ));
                }
                label.push_str(&text);
            }
            Token::Text(_) | Token::Eof => {}
        }
    }
    Ok(label.map(|text| text.trim_matches(is_blank).to_owned()))
}

fn label_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Fails if `text` has more than blanks.
pub(crate) fn require_blank<R: BufRead>(text: &str, tokens: &Tokens<R>) -> Result<(), ReadError> {
    if text.trim_matches(is_blank).is_empty() {
        return Ok(());
    }
    Err(malformed(tokens.position(), "text where tags are expected".to_owned()))
}

/// The error that `tag` is none of `parent`'s.
pub(crate) fn unexpected(tag: &Tag, parent: &str) -> ReadError {
    malformed(tag.position, format!("<{}> cannot stand in {parent}", tag.name))
}

/// The error that `what`, which begins with `tag`, has no counterpart here.
pub(crate) fn unsupported(tag: &Tag, what: &str) -> ReadError {
    ReadError::Unsupported { position: tag.position, what: what.to_owned() }
}
