//! Frames of a replication stream, which travel as copy data.
//!
//! ```text
//! server   w  start (8)  end of the log (8)  time (8)  message of pgoutput
//!          k  end of the log (8)  time (8)  whether an answer is wanted (1)
//! client   r  written (8)  flushed (8)  applied (8)  time (8)  whether an answer is wanted (1)
//! ```

use evergraph_graph::bytes::Decoded;

use crate::lsn::Lsn;
use crate::network_reader::NetworkReader;
use crate::postgres_time::PostgresTime;

/// A frame of the server, borrowed from its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplicationFrame<'a> {
    /// A message of logical decoding.
    Data(LogData<'a>),
    /// The server is alive.
    Keepalive(Keepalive),
}

/// A message of logical decoding, and where it lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogData<'a> {
    /// The position of what the message is about.
    pub start: Lsn,
    /// The end of the server's log when it sent the message.
    pub log_end: Lsn,
    /// When it sent it.
    pub sent_at: PostgresTime,
    /// The message.
    pub message: &'a [u8],
}

/// The server is alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keepalive {
    /// Up to here the server read its log: whatever concerned this stream was sent before.
    pub log_end: Lsn,
    /// When it sent this.
    pub sent_at: PostgresTime,
    /// Whether it ends the connection without an answer.
    pub wants_answer: bool,
}

/// What the client tells of its progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatusUpdate {
    /// Up to here the log was received.
    pub written: Lsn,
    /// Up to here it is safe here: the server may forget it.
    pub flushed: Lsn,
    /// Up to here it is visible here.
    pub applied: Lsn,
    /// When this is sent.
    pub sent_at: PostgresTime,
}

impl<'a> ReplicationFrame<'a> {
    /// Reads the frame in `bytes`.
    ///
    /// # Errors
    /// If the bytes are no frame.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Decoded<Self> {
        let mut reader = NetworkReader::new(bytes);
        match reader.u8()? {
            b'w' => Ok(Self::Data(LogData {
                start: Lsn::new(reader.u64()?),
                log_end: Lsn::new(reader.u64()?),
                sent_at: PostgresTime::new(reader.i64()?),
                message: reader.rest(),
            })),
            b'k' => {
                let log_end = Lsn::new(reader.u64()?);
                let sent_at = PostgresTime::new(reader.i64()?);
                let wants_answer = reader.u8()? != 0;
                reader.finish()?;
                Ok(Self::Keepalive(Keepalive { log_end, sent_at, wants_answer }))
            }
            letter => Err(reader.error(format!("a frame (w, k) expected, found {letter:#x}"))),
        }
    }
}

impl StatusUpdate {
    /// The frame's bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 34] {
        let mut bytes = [0; 34];
        bytes[0] = b'r';
        let positions = [self.written, self.flushed, self.applied].map(Lsn::get);
        let time = self.sent_at.microseconds().cast_unsigned();
        for (at, number) in positions.into_iter().chain([time]).enumerate() {
            bytes[1 + at * 8..9 + at * 8].copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_whole_or_not_at_all() {
        let data = b"w\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03I";
        let frame = LogData {
            start: Lsn::new(1),
            log_end: Lsn::new(2),
            sent_at: PostgresTime::new(3),
            message: b"I",
        };
        assert_eq!(ReplicationFrame::read(data), Ok(ReplicationFrame::Data(frame)));
        let alive = b"k\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\x01";
        let frame = Keepalive { log_end: Lsn::new(2), sent_at: PostgresTime::new(3), wants_answer: true };
        assert_eq!(ReplicationFrame::read(alive), Ok(ReplicationFrame::Keepalive(frame)));
        for end in 0..alive.len() {
            assert!(ReplicationFrame::read(&alive[..end]).is_err());
        }
        assert!(ReplicationFrame::read(&[&alive[..], b"x"].concat()).is_err());
        assert!(ReplicationFrame::read(b"x").is_err());
    }

    #[test]
    fn a_status_has_three_positions_and_a_time() {
        let update = StatusUpdate {
            written: Lsn::new(0x0102),
            flushed: Lsn::new(3),
            applied: Lsn::new(4),
            sent_at: PostgresTime::new(-1),
        };
        let expected =
            b"r\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04\xff\xff\xff\xff\xff\xff\xff\xff\0";
        assert_eq!(&update.to_bytes(), expected);
    }
}
