//! Bytes of pgoutput, as PostgreSQL writes them.

/// A column of a row in a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Field {
    /// Null.
    Null,
    /// Left alone, and stored outside of the row.
    Unchanged,
    /// Its text.
    Text(String),
}

/// A column of a table: name, number and modifier of its type, whether it belongs to the identity.
pub type ColumnBytes<'a> = (&'a str, u32, i32, bool);

pub fn relation(oid: u32, name: &str, identity: u8, columns: &[ColumnBytes<'_>]) -> Vec<u8> {
    let mut bytes = vec![b'R'];
    bytes.extend(oid.to_be_bytes());
    bytes.extend(b"public\0");
    bytes.extend(name.as_bytes());
    bytes.extend([0, identity]);
    bytes.extend(u16::try_from(columns.len()).unwrap().to_be_bytes());
    for (name, type_id, modifier, is_key) in columns {
        bytes.push(u8::from(*is_key));
        bytes.extend(name.as_bytes());
        bytes.push(0);
        bytes.extend(type_id.to_be_bytes());
        bytes.extend(modifier.to_be_bytes());
    }
    bytes
}

pub fn insert(oid: u32, new: &[Field]) -> Vec<u8> {
    let mut bytes = head(b'I', oid);
    tuple(&mut bytes, b'N', new);
    bytes
}

/// `old`: the letter of the old row (K or O) and the row.
pub fn update(oid: u32, old: Option<(u8, &[Field])>, new: &[Field]) -> Vec<u8> {
    let mut bytes = head(b'U', oid);
    if let Some((letter, old)) = old {
        tuple(&mut bytes, letter, old);
    }
    tuple(&mut bytes, b'N', new);
    bytes
}

pub fn delete(oid: u32, letter: u8, old: &[Field]) -> Vec<u8> {
    let mut bytes = head(b'D', oid);
    tuple(&mut bytes, letter, old);
    bytes
}

pub fn truncate(oids: &[u32]) -> Vec<u8> {
    let mut bytes = vec![b'T'];
    bytes.extend(u32::try_from(oids.len()).unwrap().to_be_bytes());
    bytes.push(0);
    oids.iter().for_each(|oid| bytes.extend(oid.to_be_bytes()));
    bytes
}

fn head(letter: u8, oid: u32) -> Vec<u8> {
    let mut bytes = vec![letter];
    bytes.extend(oid.to_be_bytes());
    bytes
}

fn tuple(bytes: &mut Vec<u8>, letter: u8, fields: &[Field]) {
    bytes.push(letter);
    bytes.extend(u16::try_from(fields.len()).unwrap().to_be_bytes());
    for field in fields {
        match field {
            Field::Null => bytes.push(b'n'),
            Field::Unchanged => bytes.push(b'u'),
            Field::Text(text) => {
                bytes.push(b't');
                bytes.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
                bytes.extend(text.as_bytes());
            }
        }
    }
}
