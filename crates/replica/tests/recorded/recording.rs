//! A recorded session: what a client asked a PostgreSQL server, and every byte that the server said.
//!
//! ```text
//! # a remark
//! > IDENTIFY_SYSTEM      the client asked for this
//! < 52000000080000...    the server's bytes, in hexadecimal
//! .                      the client ended the stream of replication
//! ```

use crate::describer::Describer;
use evergraph_replica::pgoutput::decoder::Decoder;
use evergraph_replica::wire::replication_frame::ReplicationFrame;
use evergraph_replica::wire::session::{Event, Session};
use evergraph_replica::wire::startup::{Binding, ClearText, Purpose, Startup};

/// A step of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    Asked(String),
    Ended,
    Received(Vec<u8>),
}

/// Reads a recording.
pub fn parse(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match (line.strip_prefix("> "), line.strip_prefix("< "), steps.last_mut()) {
            (Some(sql), ..) => steps.push(Step::Asked(sql.to_owned())),
            (_, Some(hex), Some(Step::Received(bytes))) => bytes.extend(from_hex(hex)),
            (_, Some(hex), _) => steps.push(Step::Received(from_hex(hex))),
            _ => {
                assert_eq!(line, ".");
                steps.push(Step::Ended);
            }
        }
    }
    steps
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// A session that begins as the recorded one did.
pub fn session() -> Session {
    Session::begin(Startup {
        user: "postgres".into(),
        password: None,
        database: "postgres".into(),
        application_name: "recording".into(),
        options: None,
        purpose: Purpose::Replication,
        clear_text: ClearText::Refused,
        channel_binding: Binding::None,
    })
    .unwrap()
}

/// Feeds a session with the steps, the server's bytes in pieces of `piece_bytes`, and writes down what it says, a line each.
pub fn replay(steps: &[Step], piece_bytes: usize) -> Vec<String> {
    let (mut session, mut describer, mut decoder) = (session(), Describer::default(), Decoder::new());
    let (mut lines, mut is_stream) = (Vec::new(), false);
    for step in steps {
        match step {
            Step::Asked(sql) => {
                is_stream = sql.starts_with("START_REPLICATION");
                session.query(sql).unwrap();
            }
            Step::Ended => session.end_frames().unwrap(),
            Step::Received(bytes) => {
                for piece in bytes.chunks(piece_bytes) {
                    session.push(piece);
                    while let Some(event) = session.next_event().unwrap() {
                        lines.extend(line(&event, is_stream, &mut describer, &mut decoder));
                    }
                }
            }
        }
    }
    lines
}

/// An event in a line; `None` for what differs from run to run.
fn line(
    event: &Event<'_>,
    is_stream: bool,
    describer: &mut Describer,
    decoder: &mut Decoder,
) -> Option<String> {
    Some(match event {
        Event::Ready(status) => format!("ready: {status:?}"),
        Event::Columns(columns) => {
            let names: Vec<_> =
                columns.iter().map(|column| format!("{}:{}", column.name, column.type_id)).collect();
            format!("columns: {}", names.join(" "))
        }
        Event::Row(row) => format!("row of {}", row.cells().count()),
        Event::Complete(tag) => format!("complete: {tag}"),
        Event::Failed(error) => format!("failed: {error}"),
        Event::Notice(notice) => format!("notice: {notice}"),
        Event::CopyBegin => "copy begins".to_owned(),
        Event::CopyEnd => "copy ends".to_owned(),
        Event::CopyData(bytes) if is_stream => match ReplicationFrame::read(bytes).unwrap() {
            ReplicationFrame::Keepalive(_) => return None,
            ReplicationFrame::Data(data) => describer.line(&decoder.decode(data.message).unwrap())?,
        },
        Event::CopyData(row) => format!("copied: {}", String::from_utf8_lossy(row).trim_end()),
    })
}
