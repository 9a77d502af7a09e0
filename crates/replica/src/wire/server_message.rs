//! `ServerMessage`: one message of the server, borrowed from its bytes.

use evergraph_graph::bytes::Decoded;

use crate::network_reader::NetworkReader;
use crate::pgoutput::relation::Oid;
use crate::wire::server_error::ServerError;

/// The fewest bytes of a column's description: an empty name and its numbers.
const COLUMN_BYTES_MIN: usize = 19;

/// A message of the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServerMessage<'a> {
    /// A step of the log-in.
    Authentication(Authentication<'a>),
    /// A setting of the session, now or changed.
    Parameter {
        /// The setting's name.
        name: &'a str,
        /// Its value.
        value: &'a str,
    },
    /// The server process, and what a request to cancel has to name.
    CancelKey {
        /// The process.
        process: i32,
        /// Its secret.
        secret: &'a [u8],
    },
    /// The server waits for a query.
    Ready(TransactionStatus),
    /// The columns of the rows that follow.
    Columns(Vec<ResultColumn>),
    /// A row of a query's result.
    Row(Row<'a>),
    /// A statement ended; its tag, such as `SELECT 3`.
    Complete(&'a str),
    /// There was no statement.
    EmptyQuery,
    /// A statement failed, or the connection ends.
    Failed(Box<ServerError>),
    /// Something to know.
    Notice(Box<ServerError>),
    /// Copy data follow.
    CopyOut,
    /// The server waits for copy data, which are never sent here.
    CopyIn,
    /// Both ends send copy data: a stream of replication.
    CopyBoth,
    /// A piece of copy data: a row of COPY, or a frame of replication.
    CopyData(&'a [u8]),
    /// The server sends no more copy data.
    CopyDone,
    /// Somebody notified a channel.
    Notification,
    /// The server does not know an option, or speaks an older minor version.
    NegotiateVersion,
}

/// A step of the log-in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Authentication<'a> {
    /// The log-in succeeded.
    Ok,
    /// The server wants the password as it is.
    ClearText,
    /// The server wants the password hashed with MD5 and this salt.
    Md5([u8; 4]),
    /// The server offers these mechanisms.
    Sasl(Vec<&'a str>),
    /// The mechanism's next message.
    SaslContinue(&'a [u8]),
    /// The mechanism's last message.
    SaslFinal(&'a [u8]),
    /// A way that is not supported, by its number.
    Other(i32),
}

/// What a query would do to a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TransactionStatus {
    /// None is open.
    Idle,
    /// One is open.
    Open,
    /// One is open and failed: all but a rollback is refused.
    Failed,
}

/// A column of a query's result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultColumn {
    /// Its name.
    pub name: Box<str>,
    /// Its type.
    pub type_id: Oid,
}

/// A row of a query's result; its bytes were checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row<'a> {
    columns: u16,
    bytes: &'a [u8],
}

impl<'a> Row<'a> {
    /// The texts of the columns; `None` is null.
    pub fn cells(self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let mut reader = NetworkReader::new(self.bytes);
        (0..self.columns).map(move |_| cell(&mut reader).expect("the row was checked when it was read"))
    }

    fn read(reader: &mut NetworkReader<'a>) -> Decoded<Self> {
        let columns = reader.u16()?;
        let bytes = reader.clone().rest();
        for _ in 0..columns {
            cell(reader)?;
        }
        Ok(Self { columns, bytes })
    }
}

fn cell<'a>(reader: &mut NetworkReader<'a>) -> Decoded<Option<&'a [u8]>> {
    let mut ahead = reader.clone();
    if ahead.i32()? == -1 {
        *reader = ahead;
        return Ok(None);
    }
    reader.counted().map(Some)
}

impl<'a> ServerMessage<'a> {
    /// Reads the message of this letter and body.
    ///
    /// # Errors
    /// If there is no such message, or the body is not one.
    pub fn read(letter: u8, body: &'a [u8]) -> Decoded<Self> {
        if letter == b'd' {
            return Ok(Self::CopyData(body));
        }
        let mut reader = NetworkReader::new(body);
        let message = match letter {
            b'D' => Self::Row(Row::read(&mut reader)?),
            b'R' => Self::Authentication(authentication(&mut reader)?),
            b'S' => Self::Parameter { name: reader.text()?, value: reader.text()? },
            b'K' => Self::CancelKey { process: reader.i32()?, secret: reader.rest() },
            b'Z' => Self::Ready(match reader.u8()? {
                b'I' => TransactionStatus::Idle,
                b'T' => TransactionStatus::Open,
                b'E' => TransactionStatus::Failed,
                status => return Err(reader.error(format!("a status (I, T, E) expected, found {status:#x}"))),
            }),
            b'T' => Self::Columns(columns(&mut reader)?),
            b'C' => Self::Complete(reader.text()?),
            b'I' => Self::EmptyQuery,
            b'E' => Self::Failed(Box::new(ServerError::read(reader.rest())?)),
            b'N' => Self::Notice(Box::new(ServerError::read(reader.rest())?)),
            b'H' | b'G' | b'W' => {
                let _format = reader.u8()?;
                let columns = usize::from(reader.u16()?);
                reader.take(columns * 2)?;
                match letter {
                    b'H' => Self::CopyOut,
                    b'G' => Self::CopyIn,
                    _ => Self::CopyBoth,
                }
            }
            b'c' => Self::CopyDone,
            b'A' => {
                reader.rest();
                Self::Notification
            }
            b'v' => {
                reader.rest();
                Self::NegotiateVersion
            }
            _ => return Err(reader.error("a message of protocol 3 expected")),
        };
        reader.finish()?;
        Ok(message)
    }
}

fn authentication<'a>(reader: &mut NetworkReader<'a>) -> Decoded<Authentication<'a>> {
    Ok(match reader.i32()? {
        0 => Authentication::Ok,
        3 => Authentication::ClearText,
        5 => {
            let salt = reader.take(4)?;
            Authentication::Md5(salt.try_into().expect("four bytes were taken"))
        }
        10 => {
            let mut mechanisms = Vec::new();
            loop {
                match reader.text()? {
                    "" => break Authentication::Sasl(mechanisms),
                    mechanism => mechanisms.push(mechanism),
                }
            }
        }
        11 => Authentication::SaslContinue(reader.rest()),
        12 => Authentication::SaslFinal(reader.rest()),
        other => {
            reader.rest();
            Authentication::Other(other)
        }
    })
}

fn columns(reader: &mut NetworkReader<'_>) -> Decoded<Vec<ResultColumn>> {
    let count = usize::from(reader.u16()?);
    if count > reader.remaining() / COLUMN_BYTES_MIN {
        return Err(reader.error(format!("{count} columns announced, {} bytes left", reader.remaining())));
    }
    let mut columns = Vec::with_capacity(count);
    for _ in 0..count {
        let name = reader.text()?.into();
        reader.take(6)?; // the table and the column in it
        let type_id = reader.u32()?;
        reader.take(8)?; // the type's length and modifier, the format
        columns.push(ResultColumn { name, type_id });
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_hold_texts_and_nulls() {
        let body = b"\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\0";
        let Ok(ServerMessage::Row(row)) = ServerMessage::read(b'D', body) else { panic!("a row") };
        assert_eq!(row.cells().collect::<Vec<_>>(), [Some(&b"ab"[..]), None, Some(b"")]);
        for end in 0..body.len() {
            assert!(ServerMessage::read(b'D', &body[..end]).is_err());
        }
        assert!(ServerMessage::read(b'D', b"\0\x01\xff\xff\xff\xfe").is_err());
    }

    proptest! {
        #[test]
        fn random_bytes_give_a_message_or_an_error(
            letter in prop::sample::select(b"RSKZTDCIENHGWdcAv?".to_vec()),
            body in prop::collection::vec(prop_oneof![0..13_u8, any::<u8>()], 0..60),
        ) {
            match ServerMessage::read(letter, &body) {
                Ok(ServerMessage::Row(row)) => prop_assert!(row.cells().count() <= body.len()),
                Ok(_) => {}
                Err(error) => prop_assert!(error.offset <= body.len()),
            }
        }
    }
}
