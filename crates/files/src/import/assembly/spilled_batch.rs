//! Spilled batch: the form of a batch of edges in a temporary file, where it waits for its vertices.
//!
//! ```text
//! rows:u32 lines:u64[rows] codes:u32, u32[codes]        names:u32, each a text
//! ids of sources, ids of targets
//! columns   0:u8, one list                              shared
//!           1:u8 lists:u32, each a list                 by name
//! list      columns:u32, each a key, the code of its type and an optional column
//! ```

use crate::import::assembly::batch::{Batch, Columns, Ends, Names};
use crate::import::assembly::id_column::IdColumn;
use crate::import::field::cell::CellColumn;
use crate::import::staging::spill::{Spill, put_count, put_optional, take_optional};
use evergraph_graph::bytes::{Decoded, Reader, put_bytes};
use evergraph_graph::value::ValueType;
use evergraph_storage::checkpoint::arrays::{put_array, take_array};

const SHARED: u8 = 0;
const BY_NAME: u8 = 1;

impl Spill for Batch<Ends> {
    fn rows(&self) -> usize {
        self.lines.len()
    }

    fn heap_bytes(&self) -> u64 {
        self.edge_bytes()
    }

    fn put(&self, out: &mut Vec<u8>) {
        let Self { lines, ids: Ends { sources, targets }, names: Names { names, codes }, columns } = self;
        put_count(out, lines.len());
        put_array(out, lines);
        put_count(out, codes.len());
        put_array(out, codes);
        put_count(out, names.len());
        names.iter().for_each(|name| put_bytes(out, name.as_bytes()));
        sources.put(out);
        targets.put(out);
        match columns {
            Columns::Shared(columns) => {
                out.push(SHARED);
                put_list(out, columns);
            }
            Columns::ByName(names) => {
                out.push(BY_NAME);
                put_count(out, names.len());
                names.iter().for_each(|columns| put_list(out, columns));
            }
        }
    }

    fn take(reader: &mut Reader<'_>) -> Decoded<Self> {
        let rows = reader.u32()? as usize;
        let lines = take_array(reader, rows)?.into();
        let codes = reader.u32()? as usize;
        let codes = take_array(reader, codes)?.into();
        let names = (0..reader.u32()?).map(|_| Ok(reader.text()?.to_owned())).collect::<Decoded<_>>()?;
        let ids = Ends { sources: IdColumn::take(reader)?, targets: IdColumn::take(reader)? };
        let columns = match reader.u8()? {
            SHARED => Columns::Shared(take_list(reader, rows)?),
            _ => {
                let lists = (0..reader.u32()?).map(|_| take_list(reader, rows));
                Columns::ByName(lists.collect::<Decoded<_>>()?)
            }
        };
        Ok(Self { lines, ids, names: Names { names, codes }, columns })
    }
}

fn put_list(out: &mut Vec<u8>, columns: &[(String, CellColumn)]) {
    put_count(out, columns.len());
    for (key, CellColumn { value_type, column }) in columns {
        put_bytes(out, key.as_bytes());
        out.push(value_type.code());
        put_optional(out, column.as_ref());
    }
}

/// Columns of `rows` rows at most.
fn take_list(reader: &mut Reader<'_>, rows: usize) -> Decoded<Vec<(String, CellColumn)>> {
    let column = |reader: &mut Reader<'_>| {
        let key = reader.text()?.to_owned();
        let code = reader.u8()?;
        let value_type = ValueType::from_code(code)
            .ok_or_else(|| reader.error(format!("a value type expected, found {code}")))?;
        Ok((key, CellColumn { value_type, column: take_optional(reader, |length| length <= rows)? }))
    };
    (0..reader.u32()?).map(|_| column(reader)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::id_type::IdKind;
    use evergraph_graph::packed_column::PackedColumn;
    use evergraph_graph::value::Value;

    fn ids(kind: IdKind, values: &[Value]) -> IdColumn {
        let mut ids = IdColumn::new(kind);
        values.iter().for_each(|id| ids.push_value(id));
        ids
    }

    fn cells(values: &[Option<Value>]) -> CellColumn {
        let column = PackedColumn::from_values(values.iter().map(Option::as_ref));
        CellColumn {
            value_type: column.as_ref().map_or(ValueType::Any, |column| column.value_type()),
            column,
        }
    }

    #[test]
    fn batches_of_every_kind_of_ids_and_columns_come_back_as_they_were() {
        let texts = ids(IdKind::Strings, &[Value::from(""), Value::from("é")]);
        let numbers = ids(IdKind::Integers, &[Value::I64(-7), Value::I64(7)]);
        let values = ids(IdKind::Values, &[Value::I32(7), Value::from("7")]);
        let (one, nothing) = (cells(&[Some(Value::F64(0.5))]), cells(&[None, None]));
        let names = Names { names: vec!["a".to_owned(), "b".to_owned()], codes: vec![1, 0] };
        let by_name = Columns::ByName(vec![vec![("w".to_owned(), one.clone())], Vec::new()]);
        let shared = Columns::Shared(vec![
            ("w".to_owned(), cells(&[None, Some(Value::from("x"))])),
            ("n".to_owned(), nothing),
        ]);
        for (sources, targets, names, columns) in
            [(texts, numbers, Names::one("e"), shared), (values.clone(), values, names, by_name)]
        {
            let batch = Batch { lines: vec![3, 1 << 40], ids: Ends { sources, targets }, names, columns };
            let mut form = Vec::new();
            batch.put(&mut form);
            let mut reader = Reader::new(&form);
            let back = Batch::<Ends>::take(&mut reader).unwrap();
            assert!(reader.is_empty());
            assert_eq!(format!("{back:?}"), format!("{batch:?}"));
            assert!(
                (0..form.len()).all(|length| Batch::<Ends>::take(&mut Reader::new(&form[..length])).is_err())
            );
        }
    }
}
