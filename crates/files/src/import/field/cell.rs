//! Cell: parses the text of one field as its column declares, and gathers values into columns.
//!
//! | declared | text |
//! |---|---|
//! | any scalar type | as [`Value::parse`] reads it |
//! | `date{epoch:seconds}`, `datetime{epoch:milliseconds}`, ... | a number of that unit since 1970 |
//! | `type[]` | elements behind one another, `;` between them; or in brackets: `[1,2]` |
//! | `type[][]`, `type[][][]`, ... | elements in brackets inside brackets: `[[1,2],[3]]` |
//! | `map` | a struct or map in braces: `{name: value}`, `{key=value}` |
//! | any type `{form:graphson}` | the value in GraphSON 3, of that type; `any` is of every type |
//! | a number of unstated type | a `long`, or a `double` from the first fraction on |
//!
//! Where the strict form of a scalar doesn't fit, those of other systems are tried ([`lenient`]). An
//! empty text is no value, whatever its type and whether it was quoted. Blanks around a text count in
//! strings and chars only.

use crate::import::field::epoch::{EpochUnit, read_epoch};
use crate::import::field::integer::{IntegerError, parse_i64};
use crate::import::field::lenient;
use crate::import::field::literal::{read_list, read_map};
use evergraph_formats::graphson::value_read::read_value;
use evergraph_formats::json::read::JsonReader;
use evergraph_graph::packed_column::{PackedColumn, PackedColumnBuilder, PackedData};
use evergraph_graph::value::collection::List;
use evergraph_graph::value::shortened::Shortened;
use evergraph_graph::value::{Value, ValueType};
use std::fmt;

/// What the fields of one column hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellType {
    /// Values of one type.
    Scalar(ValueType),
    /// A list of values of one type, and what stands between them where no brackets are.
    Array(ValueType, u8),
    /// Lists inside one another, so many, around values of one type.
    Nested(ValueType, u8),
    /// A struct or a map.
    Map,
    /// Values of one type, or of `any`, in GraphSON 3.
    GraphSon(ValueType),
    /// A date or datetime as a count since the beginning of 1970, UTC.
    Epoch(ValueType, EpochUnit),
    /// Numbers without a stated type: whole numbers are `long`; a fraction makes the whole column
    /// `double`.
    Number,
}

impl CellType {
    /// The type of the property that such a column becomes (`Number`: as long as it has no fraction).
    #[must_use]
    pub fn value_type(self) -> ValueType {
        match self {
            Self::Scalar(value_type) | Self::GraphSon(value_type) | Self::Epoch(value_type, _) => value_type,
            Self::Array(..) | Self::Nested(..) => ValueType::List,
            Self::Map => ValueType::Map,
            Self::Number => ValueType::I64,
        }
    }
}

impl fmt::Display for CellType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(value_type) => write!(f, "{value_type}"),
            Self::Array(value_type, _) => write!(f, "{value_type}[]"),
            Self::Nested(value_type, depth) => write!(f, "{value_type}{}", "[]".repeat(usize::from(*depth))),
            Self::Map => f.write_str("map"),
            Self::GraphSon(value_type) => write!(f, "{value_type}{{form:graphson}}"),
            Self::Epoch(value_type, unit) => write!(f, "{value_type}{{epoch:{}}}", unit.name()),
            Self::Number => f.write_str("number"),
        }
    }
}

/// The fields of one column in one block, read.
#[derive(Debug)]
pub struct Cells {
    cell_type: CellType,
    /// Whether a column of numbers has become one of `double`s.
    has_fraction: bool,
    /// The first number that keeps it from becoming one.
    inexact: Option<i64>,
    column: PackedColumnBuilder,
}

/// A column of one block.
#[derive(Clone, PartialEq, Debug)]
pub struct CellColumn {
    /// The type of its values.
    pub value_type: ValueType,
    /// The values; `None` if no row has one.
    pub column: Option<PackedColumn>,
}

impl Cells {
    /// No fields yet.
    #[must_use]
    pub fn new(cell_type: CellType) -> Self {
        Self { cell_type, has_fraction: false, inexact: None, column: PackedColumnBuilder::default() }
    }

    /// Reads `text` into the next row. After an error the row is there, without a value.
    ///
    /// # Errors
    /// Why the text is not of the column's type.
    pub fn push(&mut self, text: &[u8]) -> Result<(), String> {
        let result = self.read(text);
        if result.is_err() {
            self.column.push_nothing();
        }
        result
    }

    /// Drops the rows for which `keep` is false.
    ///
    /// # Panics
    /// If `keep` has fewer entries than there are rows.
    pub fn retain(&mut self, keep: &[bool]) {
        let rows = self.column.len();
        let all = std::mem::take(&mut self.column).finish();
        (0..rows).filter(|row| keep[*row]).for_each(|row| self.column.copy(all.as_ref(), row..row + 1));
    }

    /// The column that was read.
    #[must_use]
    pub fn finish(self) -> CellColumn {
        let value_type = if self.has_fraction { ValueType::F64 } else { self.cell_type.value_type() };
        CellColumn { value_type, column: self.column.finish() }
    }

    fn read(&mut self, text: &[u8]) -> Result<(), String> {
        let keeps_blanks = matches!(
            self.cell_type,
            CellType::Scalar(ValueType::String | ValueType::Char) | CellType::Array(..)
        );
        let text = if keeps_blanks { text } else { text.trim_ascii() };
        if text.is_empty() {
            self.column.push_nothing();
            return Ok(());
        }
        match self.cell_type {
            CellType::Scalar(ValueType::I64) => match parse_i64(text) {
                Ok(number) => self.column.push_i64(number),
                Err(_) => self.column.push(Some(&read_scalar(text, ValueType::I64)?)),
            },
            CellType::Scalar(ValueType::F64) => self.column.push_f64(read_f64(text)?),
            CellType::Scalar(ValueType::String) => self.column.push_text(read_text(text)?),
            CellType::Scalar(value_type) => self.column.push(Some(&read_scalar(text, value_type)?)),
            CellType::Number => self.read_number(text)?,
            CellType::Epoch(value_type, unit) => {
                let value = read_epoch(text, value_type, unit)
                    .map_err(|why| format!("{} is not a valid {}: {why}", shortened(text), self.cell_type))?;
                self.column.push(Some(&value));
            }
            CellType::Array(value_type, _) if is_in_brackets(text) => {
                self.column.push(Some(&self.read_nested(text, value_type, 1)?));
            }
            CellType::Nested(value_type, depth) => {
                self.column.push(Some(&self.read_nested(text, value_type, depth)?));
            }
            CellType::Map => {
                let map = read_map(read_text(text)?)
                    .map_err(|why| format!("{} is not a valid map: {why}", shortened(text)))?;
                self.column.push(Some(&map));
            }
            CellType::GraphSon(value_type) => {
                let value = read_graphson(text, value_type)
                    .map_err(|why| format!("{} is not a valid {}: {why}", shortened(text), self.cell_type))?;
                self.column.push(Some(&value));
            }
            CellType::Array(value_type, delimiter) => {
                let elements: Result<Vec<Value>, String> = text
                    .split(|byte| *byte == delimiter)
                    .map(|element| read_scalar(element, value_type))
                    .collect();
                let list = List::new(elements?).expect("scalars are not deep");
                self.column.push(Some(&Value::List(list)));
            }
        }
        Ok(())
    }

    fn read_nested(&self, text: &[u8], value_type: ValueType, depth: u8) -> Result<Value, String> {
        let element = |element: &str| read_scalar(element.as_bytes(), value_type);
        read_list(read_text(text)?, depth.into(), &element)
            .map_err(|why| format!("{} is not a valid {}: {why}", shortened(text), self.cell_type))
    }

    fn read_number(&mut self, text: &[u8]) -> Result<(), String> {
        if !self.has_fraction {
            match parse_i64(text) {
                Ok(number) => {
                    if self.inexact.is_none() && to_float(number).is_err() {
                        self.inexact = Some(number);
                    }
                    self.column.push_i64(number);
                    return Ok(());
                }
                Err(IntegerError::Range) => {
                    return Err(format!("{} is not a valid long: outside its range", shortened(text)));
                }
                // The text is looked at first: nonsense must not turn the column.
                Err(IntegerError::Syntax) => drop(read_f64(text)?),
            }
            self.become_floats()?;
        }
        self.column.push_f64(read_f64(text)?);
        Ok(())
    }

    fn become_floats(&mut self) -> Result<(), String> {
        if let Some(number) = self.inexact {
            to_float(number)?;
        }
        let rows = self.column.len();
        let whole = std::mem::take(&mut self.column).finish();
        let floats = whole.map(|whole| to_floats(&whole).expect("no number is inexact"));
        self.column.copy(floats.as_ref(), 0..rows);
        self.has_fraction = true;
        Ok(())
    }
}

/// A column of whole numbers as one of `double`s.
///
/// # Errors
/// Names the first number that a `double` can't hold exactly.
pub fn to_floats(column: &PackedColumn) -> Result<PackedColumn, String> {
    let PackedData::Integers(numbers) = column.data() else { return Ok(column.clone()) };
    let floats: Vec<f64> = numbers.iter().map(|number| to_float(*number)).collect::<Result<_, _>>()?;
    let (rows, present) = (column.len(), column.present().into());
    PackedColumn::from_parts(ValueType::F64, rows, present, PackedData::Floats(floats.into()))
}

fn to_float(number: i64) -> Result<f64, String> {
    let float = number as f64;
    if float as i128 == i128::from(number) {
        return Ok(float);
    }
    Err(format!("{number} stands beside fractions and has no exact double: state the type"))
}

/// The beginning of `text` in quotes, for errors.
#[must_use]
pub fn shortened(text: &[u8]) -> Shortened {
    // Whatever is shown fits in the first bytes: no need to look at megabytes.
    let start = &text[..text.len().min(400)];
    Shortened::new(&String::from_utf8_lossy(start))
}

fn read_text(text: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(text).map_err(|error| {
        format!(
            "{} is not UTF-8 at byte {}; convert the file with iconv",
            shortened(text),
            error.valid_up_to() + 1
        )
    })
}

/// The scalar of `value_type` that `text` is, in the strict form or in that of another system ([`lenient`]).
/// Blanks around it count in strings and chars only.
///
/// # Errors
/// Why it is none.
pub fn read_scalar(text: &[u8], value_type: ValueType) -> Result<Value, String> {
    let text = match value_type {
        ValueType::String | ValueType::Char => text,
        _ => text.trim_ascii(),
    };
    let text = read_text(text)?;
    Value::parse(text, value_type)
        .or_else(|error| lenient::read(text, value_type).ok_or(error))
        .map_err(|error| error.to_string())
}

fn read_graphson(text: &[u8], value_type: ValueType) -> Result<Value, String> {
    let mut reader = JsonReader::new(text);
    let value = read_value(&mut reader).map_err(|error| error.to_string())?;
    reader.finish().map_err(|error| error.to_string())?;
    if value_type != ValueType::Any && value.value_type() != value_type {
        return Err(format!("it is of type {}", value.value_type()));
    }
    Ok(value)
}

fn is_in_brackets(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    text.starts_with(b"[") && text.ends_with(b"]")
}

fn read_f64(text: &[u8]) -> Result<f64, String> {
    // Up to 15 digits make an integer that a double holds exactly: no need for the long way.
    if text.len() <= 15
        && let Ok(number) = parse_i64(text)
    {
        return Ok(if number == 0 && text[0] == b'-' { -0.0 } else { number as f64 });
    }
    // A finite text that would round to infinity is an error: Value::parse words it.
    if let Some(number) = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok())
        && number.is_finite()
    {
        return Ok(number);
    }
    let value = read_scalar(text, ValueType::F64)?;
    Ok(value.as_f64().expect("a double was asked for"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cell_type: CellType, texts: &[&str]) -> Result<Vec<Option<Value>>, String> {
        let mut cells = Cells::new(cell_type);
        for text in texts {
            cells.push(text.as_bytes())?;
        }
        let column = cells.finish().column;
        Ok((0..texts.len()).map(|row| column.as_ref()?.get(row)).collect())
    }

    #[test]
    fn an_empty_text_is_no_value_of_any_type() {
        for cell_type in [
            CellType::Scalar(ValueType::String),
            CellType::Scalar(ValueType::I64),
            CellType::Array(ValueType::String, b';'),
            CellType::Epoch(ValueType::Date, EpochUnit::Seconds),
            CellType::Number,
        ] {
            assert_eq!(read(cell_type, &[""]), Ok(vec![None]), "{cell_type}");
        }
    }

    #[test]
    fn blanks_count_in_strings_and_nowhere_else() {
        let strings = read(CellType::Scalar(ValueType::String), &[" a "]).unwrap();
        assert_eq!(strings, [Some(Value::from(" a "))]);
        let numbers = read(CellType::Scalar(ValueType::I32), &[" 7 "]).unwrap();
        assert_eq!(numbers, [Some(Value::I32(7))]);
        let list = read(CellType::Array(ValueType::I16, b';'), &["1; 2"]).unwrap();
        let expected = List::new(vec![Value::I16(1), Value::I16(2)]).unwrap();
        assert_eq!(list, [Some(Value::List(expected))]);
    }

    #[test]
    fn counts_since_1970_become_dates_and_moments() {
        let birthday = read(CellType::Epoch(ValueType::Date, EpochUnit::Milliseconds), &["558921600000"]);
        assert_eq!(birthday.unwrap()[0].as_ref().unwrap().to_string(), "1987-09-18");
        assert_eq!(
            read(CellType::Epoch(ValueType::Date, EpochUnit::Seconds), &["86401"]),
            Err("\"86401\" is not a valid date{epoch:seconds}: it is not the beginning of a day".to_owned())
        );
    }

    #[test]
    fn lists_may_stand_in_brackets_and_maps_in_braces() {
        let array = CellType::Array(ValueType::I64, b';');
        assert_eq!(read(array, &["[1,2]"]), read(array, &["1;2"]));
        let nested = read(CellType::Nested(ValueType::I64, 2), &["[[1],[]]"]).unwrap();
        assert_eq!(nested[0].as_ref().unwrap().to_string(), "[[1], []]");
        assert_eq!(
            read(CellType::Nested(ValueType::I64, 2), &["[1]"]),
            Err("\"[1]\" is not a valid long[][]: expected '[' at byte 2".to_owned())
        );
        let map = read(CellType::Map, &["{a: 1}", "{}", ""]).unwrap();
        assert!(
            matches!(&map[0], Some(Value::Map(map)) if map.get(&Value::from("a")) == Some(&Value::I64(1)))
        );
        assert!(matches!(&map[1], Some(Value::Map(map)) if map.as_slice().is_empty()) && map[2].is_none());
    }

    #[test]
    fn other_systems_forms_of_a_scalar_are_read_and_nonsense_is_told_by_the_strict_one() {
        let interval = read(CellType::Scalar(ValueType::Duration), &["2 days", "P2D"]).unwrap();
        assert_eq!(interval[0], interval[1]);
        let error = read(CellType::Scalar(ValueType::Duration), &["2 dogs"]).unwrap_err();
        assert!(error.starts_with("\"2 dogs\" is not a valid duration: "), "{error}");
    }

    #[test]
    fn numbers_of_unstated_type_are_whole_until_a_fraction_comes() {
        assert_eq!(read(CellType::Number, &["1", "-2"]), Ok(vec![Some(Value::I64(1)), Some(Value::I64(-2))]));
        let mixed = read(CellType::Number, &["1", "", "2.5", "3"]).unwrap();
        assert_eq!(mixed, [Some(Value::F64(1.0)), None, Some(Value::F64(2.5)), Some(Value::F64(3.0))]);
        assert_eq!(
            read(CellType::Number, &["9007199254740993", "0.5"]),
            Err("9007199254740993 stands beside fractions and has no exact double: state the type".to_owned())
        );
        assert_eq!(
            read(CellType::Number, &["9223372036854775808"]),
            Err("\"9223372036854775808\" is not a valid long: outside its range".to_owned())
        );
        assert!(
            read(CellType::Number, &["1", "x"]).unwrap_err().starts_with("\"x\" is not a valid double: ")
        );
    }

    /// The rows before the fraction were lost once, and a skipped row tore the columns of a block apart.
    #[test]
    fn a_fraction_that_cannot_turn_its_column_leaves_the_other_rows() {
        let mut cells = Cells::new(CellType::Number);
        cells.push(b"9007199254740993").unwrap();
        cells.push(b"0.5").unwrap_err();
        cells.push(b"7").unwrap();
        let CellColumn { value_type, column } = cells.finish();
        let column = column.unwrap();
        let rows: Vec<_> = (0..column.len()).map(|row| column.get(row)).collect();
        assert_eq!(value_type, ValueType::I64);
        assert_eq!(rows, [Some(Value::I64(9_007_199_254_740_993)), None, Some(Value::I64(7))]);
    }

    #[test]
    fn a_text_of_another_type_is_named_with_the_type() {
        let error = read(CellType::Scalar(ValueType::I32), &["18x5"]).unwrap_err();
        assert_eq!(error, "\"18x5\" is not a valid int: expected digits with an optional sign");
        let mut cells = Cells::new(CellType::Scalar(ValueType::String));
        let error = cells.push(b"Jos\xe9").unwrap_err();
        assert_eq!(error, "\"Jos\u{fffd}\" is not UTF-8 at byte 4; convert the file with iconv");
        assert_eq!(cells.column.len(), 1, "the row is there all the same");
    }

    #[test]
    fn floats_read_as_the_standard_library_reads_them() {
        for text in
            ["0", "-0", "7", "-12", "0.1", "1e300", "123456789012345", "1234567890123456789", "5e-324"]
        {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(read_f64(text.as_bytes()).map(f64::to_bits), Ok(expected.to_bits()), "{text}");
        }
        assert!(read_f64(b"1e999").is_err());
    }
}
