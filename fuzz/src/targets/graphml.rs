//! GraphML: a document's vertices and edges. What is read comes back from our own document, and errors
//! name a place of it.

use crate::elements::{check_written, read_all};
use crate::samples;
use crate::target::{Memory, Target};
use evergraph::export::options::ExportFormat;
use evergraph_formats::graphml::options::GraphmlOptions;
use evergraph_formats::graphml::reader::GraphmlReader;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 512 } };

const OTHERS: [&str; 6] = [
    r#"<?xml version="1.0"?><graphml><key id="w" for="edge" attr.name="weight" attr.type="double"><default>1</default></key>
<graph edgedefault="undirected"><node id="a"/><node id="b"><data key="w">x</data></node><edge source="a" target="b"/></graph></graphml>"#,
    r#"<graphml><key id="labelV" for="node" attr.name="labelV" attr.type="string"/><key id="n" for="all" attr.name="n" attr.type="int"/>
<graph><node id="1"><data key="labelV">P&#x41;&amp;<![CDATA[<x>]]></data><data key="n"> 7 </data></node><!-- c --></graph></graphml>"#,
    r#"<graphml><key id="d" for="node" yfiles.type="nodegraphics"/><key id="v" for="edge" attr.type="vector_double"/><graph edgedefault="directed">
<node id="g"><data key="d"><y:S><y:NodeLabel>x</y:NodeLabel></y:S></data><port name="p"/><graph><node id="a"/></graph></node><edge source="g" target="a" sourceport="p"><data key="v">1, 0x1.8p+1</data></edge></graph></graphml>"#,
    r#"<graphml><key id="labels" for="node"/><key id="t" for="node" attr.list="string"/><graph><node id="1" labels=":A"><data key="t">["x"]</data></node><edge source="1" target="1" label="K"/></graph></graphml>"#,
    r#"<graphml><key id="n" for="graph"/><key id="n" for="node" attr.type="int"/><key id="n" for="edge" attr.type="python_object"/><graph><data key="n">g</data><node id="1"><data key="n">3000000000</data></node></graph></graphml>"#,
    "<graphml xmlns=\"x\"><desc>d</desc><graph id='G' edgedefault='directed'><edge id='e' source='1' target='1' directed='false'/></graph></graphml>",
];

fn seeds() -> Vec<Vec<u8>> {
    let exported = samples::exported(ExportFormat::GraphMl).into_iter().map(|(_, text)| text);
    let wide = OTHERS[5].encode_utf16().flat_map(u16::to_be_bytes);
    let wide: Vec<u8> = [0xfe, 0xff].into_iter().chain(wide).collect();
    exported.chain(OTHERS.map(|text| text.as_bytes().to_vec())).chain([wide]).collect()
}

fn promise(input: &[u8]) {
    // Positions in UTF-16 are those of its UTF-8 form.
    let has_positions = !input.contains(&0) && !input.starts_with(&[0xfe]) && !input.starts_with(&[0xff]);
    let reader = GraphmlReader::new(input, GraphmlOptions::default());
    check_written(&read_all(reader, has_positions.then_some(input)));
}
