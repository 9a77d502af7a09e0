//! DIMACS: a graph read line by line comes back from its own file.

use crate::target::{Memory, Target};
use evergraph_formats::dimacs::{Arc, DimacsLine, DimacsWriter, Problem, parse_line};
use evergraph_formats::error::LineError;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 16, per_byte: 64 } };

fn seeds() -> Vec<Vec<u8>> {
    ["c a comment\np sp 3 2\na 1 2 57\na 3 3 -9223372036854775808\n", "\n p sp 0 0 \n", "p sp 2 9\na 1 2 1"]
        .map(|text| text.as_bytes().to_vec())
        .to_vec()
}

fn promise(input: &[u8]) {
    let Some((problem, arcs)) = read(input) else { return };
    let announced = Problem { arcs_count: arcs.len() as u64, ..problem };
    let mut writer = DimacsWriter::new(Vec::new(), announced).expect("memory takes bytes");
    for arc in &arcs {
        writer.write_arc(*arc).expect("an arc that was read can be written");
    }
    let written = writer.finish().expect("all arcs are written");
    assert_eq!(read(&written), Some((announced, arcs)));
    assert_eq!(problem.check_arcs(announced.arcs_count).is_ok(), problem == announced);
}

/// The lines up to the first that is refused; `None` if none of them says how large the graph is.
fn read(text: &[u8]) -> Option<(Problem, Vec<Arc>)> {
    let (mut problem, mut arcs) = (None, Vec::new());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match parse_line(line, problem) {
            Ok(DimacsLine::Comment) => {}
            Ok(DimacsLine::Problem(found)) => assert!(problem.replace(found).is_none(), "a second problem"),
            Ok(DimacsLine::Arc(arc)) => arcs.push(arc),
            Err(LineError { column, reason }) => {
                assert!((1..=line.len() as u64 + 1).contains(&column) && !reason.is_empty(), "{column}");
                break;
            }
        }
    }
    Some((problem?, arcs))
}
