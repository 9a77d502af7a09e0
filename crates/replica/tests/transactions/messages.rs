//! Messages of logical decoding, as PostgreSQL writes them.

/// A message that names its (sub)transaction within a streamed block, and nothing elsewhere.
fn message(letter: u8, xid: Option<u32>, rest: &[&[u8]]) -> Vec<u8> {
    let xid = xid.map(u32::to_be_bytes);
    [&[letter][..], xid.as_ref().map_or(&[][..], |xid| &xid[..]), rest.concat().as_slice()].concat()
}

/// The end of a commit record.
pub fn end(commit: u64) -> u64 {
    commit + 8
}

pub fn begin(xid: u32, commit: u64) -> Vec<u8> {
    message(b'B', None, &[&commit.to_be_bytes(), &[0; 8], &xid.to_be_bytes()])
}

pub fn commit(commit: u64) -> Vec<u8> {
    message(b'C', None, &[&[0], &commit.to_be_bytes(), &end(commit).to_be_bytes(), &[0; 8]])
}

pub fn stream_start(xid: u32, is_first: bool) -> Vec<u8> {
    message(b'S', Some(xid), &[&[u8::from(is_first)]])
}

pub fn stream_stop() -> Vec<u8> {
    vec![b'E']
}

pub fn stream_commit(xid: u32, at: u64) -> Vec<u8> {
    message(b'c', Some(xid), &[&commit(at)[1..]])
}

pub fn stream_abort(xid: u32, subtransaction: u32) -> Vec<u8> {
    message(b'A', Some(xid), &[&subtransaction.to_be_bytes()])
}

/// A table without columns, whose name tells which description this is.
pub fn relation(xid: Option<u32>, table: u32, name: &str) -> Vec<u8> {
    message(b'R', xid, &[&table.to_be_bytes(), b"public\0", name.as_bytes(), b"\0d\0\0"])
}

/// A row of one column.
pub fn insert(xid: Option<u32>, table: u32, text: &str) -> Vec<u8> {
    let length = (text.len() as u32).to_be_bytes();
    message(b'I', xid, &[&table.to_be_bytes(), b"N\0\x01t", &length, text.as_bytes()])
}

/// A message that changes no row: a type, an origin, a logical message.
pub fn beside(xid: Option<u32>, kind: u8) -> Vec<u8> {
    match kind % 3 {
        0 => message(b'Y', xid, &[b"\0\0\0\x09public\0mood\0"]),
        1 => message(b'O', None, &[&[0; 8], b"elsewhere\0"]),
        _ => message(b'M', xid, &[&[1], &[0; 8], b"note\0\0\0\0\x02hi"]),
    }
}
