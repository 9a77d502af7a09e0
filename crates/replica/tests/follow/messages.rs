//! Messages of logical decoding, as PostgreSQL writes them.

/// A message that names its (sub)transaction within a streamed block, and nothing elsewhere.
fn message(letter: u8, xid: Option<u32>, rest: &[&[u8]]) -> Vec<u8> {
    let xid = xid.map_or(Vec::new(), |xid| xid.to_be_bytes().to_vec());
    [&[letter][..], &xid, &rest.concat()].concat()
}

pub fn begin(xid: u32, end: u64) -> Vec<u8> {
    message(b'B', None, &[&(end - 8).to_be_bytes(), &[0; 8], &xid.to_be_bytes()])
}

/// The commit whose record ends at `end`.
pub fn commit(end: u64) -> Vec<u8> {
    message(b'C', None, &[&[0], &(end - 8).to_be_bytes(), &end.to_be_bytes(), &[0; 8]])
}

pub fn stream_start(xid: u32, is_first: bool) -> Vec<u8> {
    message(b'S', Some(xid), &[&[u8::from(is_first)]])
}

pub fn stream_stop() -> Vec<u8> {
    vec![b'E']
}

pub fn stream_commit(xid: u32, end: u64) -> Vec<u8> {
    message(b'c', Some(xid), &[&commit(end)[1..]])
}

pub fn stream_abort(xid: u32) -> Vec<u8> {
    message(b'A', Some(xid), &[&xid.to_be_bytes()])
}

/// A table of the schema `public`: columns with their types, the first one is the key.
pub fn relation(xid: Option<u32>, table: u32, name: &str, columns: &[(&str, u32)]) -> Vec<u8> {
    let count = (columns.len() as u16).to_be_bytes();
    let mut described = Vec::new();
    for (place, (column, type_id)) in columns.iter().enumerate() {
        described.push(u8::from(place == 0));
        described.extend(column.as_bytes());
        described.push(0);
        described.extend(type_id.to_be_bytes());
        described.extend((-1_i32).to_be_bytes());
    }
    let head = [&table.to_be_bytes()[..], b"public\0", name.as_bytes(), b"\0d", &count].concat();
    message(b'R', xid, &[&head, &described])
}

/// A row: texts, `None` for null.
fn tuple(cells: &[Option<String>]) -> Vec<u8> {
    let mut bytes = (cells.len() as u16).to_be_bytes().to_vec();
    for cell in cells {
        match cell {
            None => bytes.push(b'n'),
            Some(text) => {
                bytes.push(b't');
                bytes.extend((text.len() as u32).to_be_bytes());
                bytes.extend(text.as_bytes());
            }
        }
    }
    bytes
}

pub fn insert(xid: Option<u32>, table: u32, row: &[Option<String>]) -> Vec<u8> {
    message(b'I', xid, &[&table.to_be_bytes(), b"N", &tuple(row)])
}

/// An update; `old_key` if it changed the key.
pub fn update(xid: Option<u32>, table: u32, old_key: Option<i32>, row: &[Option<String>]) -> Vec<u8> {
    let old = old_key.map_or(Vec::new(), |key| [&b"K"[..], &key_tuple(key, row.len())].concat());
    message(b'U', xid, &[&table.to_be_bytes(), &old, b"N", &tuple(row)])
}

pub fn delete(xid: Option<u32>, table: u32, key: i32, columns: usize) -> Vec<u8> {
    message(b'D', xid, &[&table.to_be_bytes(), b"K", &key_tuple(key, columns)])
}

pub fn truncate(xid: Option<u32>, table: u32) -> Vec<u8> {
    message(b'T', xid, &[&1_u32.to_be_bytes(), &[0], &table.to_be_bytes()])
}

/// The key, and null for all else.
fn key_tuple(key: i32, columns: usize) -> Vec<u8> {
    let mut cells = vec![None; columns];
    cells[0] = Some(key.to_string());
    tuple(&cells)
}
