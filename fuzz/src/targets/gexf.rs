//! GEXF: a document's vertices and edges. What is read comes back from our own GraphML, and errors name a place of the file.

use crate::elements::{check_written, read_all};
use crate::target::{Memory, Target};
use evergraph_formats::element_source::SourceOptions;
use evergraph_formats::gexf::reader::GexfReader;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 4 << 20, per_byte: 1024 } };

const SEEDS: [&str; 3] = [
    r##"<?xml version="1.0"?><gexf xmlns="x" version="1.3" xmlns:viz="v"><meta><creator>c</creator></meta><graph defaultedgetype="undirected" timeformat="date">
<attributes class="node"><attribute id="0" title="n" type="integer"><default>7</default></attribute><attribute id="l" title="l" type="listdouble"/></attributes>
<nodes count="2"><node id="a" label="A" start="2012-01-12"><attvalues><attvalue for="0" value="1"/><attvalue for="l" value="[1, 2.5]"/></attvalues><viz:size value="9"/></node><node id="b"/></nodes>
<edges><edge id="e" source="a" target="b" weight="2" kind="k"/><edge source="a" target="a" type="directed"/></edges></graph></gexf>"##,
    r##"<gexf><graph><nodes><node id="a"><nodes><node id="b" pid="a"><spells><spell start="1"/></spells></node></nodes><edges><edge source="a" target="b"/></edges></node></nodes></graph></gexf>"##,
    r##"<g:gexf xmlns:g="x"><g:graph><g:attributes class="edge"><g:attribute id="w" title="W" type="liststring"/></g:attributes><g:edges><g:edge source="1" target="2"><g:attvalue id="w" value="['a', &quot;b&quot;]"/><g:attvalue for="w" value="a|b"/><g:attvalue for="x" value="null"/></g:edge></g:edges></g:graph></g:gexf>"##,
];

fn seeds() -> Vec<Vec<u8>> {
    SEEDS.map(|text| text.as_bytes().to_vec()).to_vec()
}

fn promise(input: &[u8]) {
    // Positions in UTF-16 are those of its UTF-8 form.
    let has_positions = !input.contains(&0) && !input.starts_with(&[0xfe]) && !input.starts_with(&[0xff]);
    let reader = GexfReader::new(input, SourceOptions::default());
    check_written(&read_all(reader, has_positions.then_some(input)));
}
