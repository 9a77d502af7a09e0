//! Writes results in GraphBinary 1.0.
//!
//! ```text
//! vertex           id  label  properties
//! edge             id  label  in id  in label  out id  out label  parent (null)  properties
//! vertex property  id  label  value  parent (null)  properties
//! property         key  value  parent (null)
//! properties       a list, or null if they are not sent
//! path             list of sets of labels, list of objects
//! tree             count (4)  { key  tree without type and flag }
//! graph            count (4)  { vertex }  count (4)  { edge }, without type and flag
//!                  their lists of properties, and those in these, have neither; vertex properties neither;
//!                  null stands for the labels of ends
//! traverser        bulk (8)  value
//! ```
//!
//! Labels and keys are strings without type and flag, everything else has both.
//!
//! Source: TinkerPop 3.8, "GraphBinary", version 1.0; of graphs and trees its `GraphSerializer`, `TreeSerializer`.

use evergraph_graph::id::VertexId;
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::Map;
use evergraph_query::value::element_id::edge_id_text;

use crate::error::EncodeError;
use crate::graph_binary::type_code;
use crate::graph_binary::value_write::{
    write_count, write_header, write_null, write_string, write_value, write_word,
};
use crate::result::result_writer::{
    Collection, EdgeView, ElementContext, PropertyList, ResultWriter, VertexPropertyView, Word,
};

/// Writes results behind what is there.
#[derive(Debug, Default)]
pub(crate) struct BinaryWriter {
    pub(crate) out: Vec<u8>,
}

impl BinaryWriter {
    fn vertex_property_content(
        &mut self,
        property: VertexPropertyView<'_>,
        context: ElementContext,
    ) -> Result<(), EncodeError> {
        let VertexPropertyView { id, key, value, properties } = property;
        self.text(id)?;
        write_string(&mut self.out, key)?;
        write_value(&mut self.out, value)?;
        write_null(&mut self.out);
        match properties {
            Some(properties) => self.meta_properties(properties, context),
            None => {
                self.no_properties(context);
                Ok(())
            }
        }
    }

    fn meta_properties(&mut self, properties: &Map, context: ElementContext) -> Result<(), EncodeError> {
        if context == ElementContext::Value {
            write_header(&mut self.out, type_code::LIST);
        }
        let named = || properties.as_slice().iter().filter_map(|(key, value)| Some((key.as_str()?, value)));
        write_count(&mut self.out, named().count())?;
        named().try_for_each(|(key, value)| self.property(key, value))
    }

    fn vertex_id(&mut self, vertex: VertexId) -> Result<(), EncodeError> {
        self.value(&Value::I64(i64::from(vertex.0)))
    }
}

/// Writes `count` where [`write_count`] wrote another.
pub(crate) fn patch_count(out: &mut [u8], offset: usize, count: usize) -> Result<(), EncodeError> {
    let count = i32::try_from(count).map_err(|_| EncodeError::TooLarge { limit: i32::MAX as usize })?;
    out[offset..offset + 4].copy_from_slice(&count.to_be_bytes());
    Ok(())
}

impl ResultWriter for BinaryWriter {
    fn size(&self) -> usize {
        self.out.len()
    }

    fn truncate(&mut self, size: usize) {
        self.out.truncate(size);
    }

    fn null(&mut self) {
        write_null(&mut self.out);
    }

    fn value(&mut self, value: &Value) -> Result<(), EncodeError> {
        write_value(&mut self.out, value)
    }

    fn text(&mut self, text: &str) -> Result<(), EncodeError> {
        write_header(&mut self.out, type_code::STRING);
        write_string(&mut self.out, text)
    }

    fn word(&mut self, word: Word) -> Result<(), EncodeError> {
        match word {
            Word::T(word) => write_word(&mut self.out, type_code::T, word),
            Word::Direction(word) => write_word(&mut self.out, type_code::DIRECTION, word),
        }
    }

    fn begin(&mut self, collection: Collection, count: usize) -> Result<(), EncodeError> {
        let code = match collection {
            Collection::List => type_code::LIST,
            Collection::Set => type_code::SET,
            Collection::Map => type_code::MAP,
        };
        write_header(&mut self.out, code);
        write_count(&mut self.out, count)
    }

    fn end(&mut self) {}

    fn begin_traverser(&mut self, bulk: i64) {
        write_header(&mut self.out, type_code::TRAVERSER);
        self.out.extend(bulk.to_be_bytes());
    }

    fn end_traverser(&mut self) {}

    fn begin_path(&mut self) {
        write_header(&mut self.out, type_code::PATH);
    }

    fn path_objects(&mut self) {}

    fn end_path(&mut self) {}

    fn begin_tree(&mut self, count: usize, is_root: bool) -> Result<(), EncodeError> {
        if is_root {
            write_header(&mut self.out, type_code::TREE);
        }
        write_count(&mut self.out, count)
    }

    fn begin_branch(&mut self) {}

    fn branch_tree(&mut self) {}

    fn end_branch(&mut self) {}

    fn end_tree(&mut self) {}

    fn begin_graph(&mut self, vertices: usize) -> Result<(), EncodeError> {
        write_header(&mut self.out, type_code::GRAPH);
        write_count(&mut self.out, vertices)
    }

    fn graph_edges(&mut self, edges: usize) -> Result<(), EncodeError> {
        write_count(&mut self.out, edges)
    }

    fn end_graph(&mut self) {}

    fn begin_vertex(
        &mut self,
        vertex: VertexId,
        label: &str,
        context: ElementContext,
    ) -> Result<(), EncodeError> {
        if context == ElementContext::Value {
            write_header(&mut self.out, type_code::VERTEX);
        }
        self.vertex_id(vertex)?;
        write_string(&mut self.out, label)?;
        Ok(())
    }

    fn begin_edge(&mut self, edge: EdgeView<'_>, context: ElementContext) -> Result<(), EncodeError> {
        if context == ElementContext::Value {
            write_header(&mut self.out, type_code::EDGE);
        }
        self.text(&edge_id_text(edge.edge))?;
        write_string(&mut self.out, edge.label)?;
        for end in [edge.target, edge.source] {
            self.vertex_id(end.vertex)?;
            match context {
                ElementContext::Value => write_string(&mut self.out, end.label)?,
                ElementContext::Graph => write_null(&mut self.out),
            }
        }
        write_null(&mut self.out);
        Ok(())
    }

    fn end_element(&mut self) {}

    fn begin_properties(&mut self, context: ElementContext) -> PropertyList {
        if context == ElementContext::Value {
            write_header(&mut self.out, type_code::LIST);
        }
        let count_offset = self.out.len();
        self.out.extend([0; 4]);
        PropertyList { count_offset, ..PropertyList::default() }
    }

    fn property_of_vertex(
        &mut self,
        list: &mut PropertyList,
        property: VertexPropertyView<'_>,
        context: ElementContext,
    ) -> Result<(), EncodeError> {
        list.count += 1;
        match context {
            ElementContext::Value => self.vertex_property(property),
            ElementContext::Graph => self.vertex_property_content(property, context),
        }
    }

    fn property_of_edge(
        &mut self,
        list: &mut PropertyList,
        key: &str,
        value: &Value,
    ) -> Result<(), EncodeError> {
        list.count += 1;
        self.property(key, value)
    }

    fn end_properties(&mut self, list: PropertyList) -> Result<(), EncodeError> {
        patch_count(&mut self.out, list.count_offset, list.count)
    }

    fn no_properties(&mut self, context: ElementContext) {
        match context {
            ElementContext::Value => write_null(&mut self.out),
            ElementContext::Graph => self.out.extend([0; 4]),
        }
    }

    fn vertex_property(&mut self, property: VertexPropertyView<'_>) -> Result<(), EncodeError> {
        write_header(&mut self.out, type_code::VERTEX_PROPERTY);
        self.vertex_property_content(property, ElementContext::Value)
    }

    fn property(&mut self, key: &str, value: &Value) -> Result<(), EncodeError> {
        write_header(&mut self.out, type_code::PROPERTY);
        write_string(&mut self.out, key)?;
        write_value(&mut self.out, value)?;
        write_null(&mut self.out);
        Ok(())
    }
}
