//! Cells: a column's word in a header, and the text of one field, read as the word says. What is read
//! comes back from the form in which an export writes it.
//!
//! Input: the word, a line break, the text.

use crate::samples;
use crate::target::{Memory, Target};
use evergraph::export::cell_form::CellForm;
use evergraph::export::column_profile::Facts;
use evergraph::import::csv::header::parse_type;
use evergraph::import::field::cell::{CellType, Cells};
use evergraph_graph::value::Value;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 256 } };

fn seeds() -> Vec<Vec<u8>> {
    let typed = samples::TEXTS.map(|(value_type, text)| format!("{value_type}\n{text}"));
    let forms = samples::values().into_iter().map(|value| {
        let (form, text) = written(&value);
        format!("{}\n{text}", form.type_word())
    });
    let others = [
        "date{epoch:seconds}\n1709208000",
        "datetime{epoch:nanoseconds}\n-1",
        "int[]\n1;2;3",
        "int[][]\n[[10,8],[6,7,8]]",
        "string[]\n['a b', \"c,d\", e]",
        "map\n{rating: 5.3, tags: ['a'], at: {x: 1}}",
        "map\n{audience1=52, audience53=42}",
        "duration\n2 days 03:04:05",
        "datetime\n2010-02-14T15:32:10.447+0000",
    ];
    typed.into_iter().chain(forms).chain(others.map(String::from)).map(String::into_bytes).collect()
}

fn promise(input: &[u8]) {
    let Some(end) = input.iter().position(|byte| *byte == b'\n') else { return };
    let Ok(word) = std::str::from_utf8(&input[..end]) else { return };
    let cell_type = match parse_type(word, b';') {
        Ok(cell_type) => cell_type,
        Err(why) => return assert!(!why.is_empty()),
    };
    let value = match read(cell_type, &input[end + 1..]) {
        Ok(Some(value)) => value,
        Ok(None) => return,
        Err(why) => return assert!(!why.is_empty()),
    };
    let (form, text) = written(&value);
    let again = parse_type(&form.type_word(), b';').expect("an export's word can stand in a header");
    assert_eq!(read(again, text.as_bytes()), Ok(Some(value)), "{form:?}, {text:?}");
}

fn read(cell_type: CellType, text: &[u8]) -> Result<Option<Value>, String> {
    let mut cells = Cells::new(cell_type);
    cells.push(text)?;
    Ok(cells.finish().column.and_then(|column| column.get(0)))
}

fn written(value: &Value) -> (CellForm, String) {
    let mut facts = Facts::default();
    facts.note(value);
    let (form, mut text) = (CellForm::of(&facts), String::new());
    form.write(&mut text, value);
    (form, text)
}
