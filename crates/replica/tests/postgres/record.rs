//! Records the session that `tests/recorded` replays without a server:
//!
//! ```sh
//! EVERGRAPH_RECORD=1 cargo test -p evergraph-replica --test postgres record
//! ```
//!
//! Without the variable, what is recorded must say the same as the recording that is kept.

use crate::recording::{Step, parse, replay, session};
use crate::server::{TestServer, connect, run_sql};
use evergraph_replica::source::postgres::connection::Connection;
use evergraph_replica::wire::session::{Event, Session};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes in a line of a recording.
const LINE_BYTES: usize = 60;

struct Recorder {
    session: Session,
    stream: TcpStream,
    steps: Vec<Step>,
}

impl Recorder {
    fn begin(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let mut recorder = Self { session: session(), stream, steps: Vec::new() };
        recorder.until(|event| matches!(event, Event::Ready(_)));
        recorder
    }

    fn ask(&mut self, sql: &str) {
        self.steps.push(Step::Asked(sql.to_owned()));
        self.session.query(sql).unwrap();
        let begins_stream = sql.starts_with("START_REPLICATION");
        self.until(|event| {
            matches!(event, Event::Ready(_)) || begins_stream && matches!(event, Event::CopyBegin)
        });
    }

    /// Ends the stream.
    fn end(&mut self) {
        self.steps.push(Step::Ended);
        self.session.end_frames().unwrap();
        self.until(|event| matches!(event, Event::Ready(_)));
    }

    /// Records what the server says until it says this.
    fn until(&mut self, is_last: impl Fn(&Event<'_>) -> bool) {
        let began = Instant::now();
        self.stream.write_all(self.session.to_send()).unwrap();
        self.session.sent(self.session.to_send().len());
        let mut bytes = vec![0; 64 << 10];
        loop {
            while let Some(event) = self.session.next_event().unwrap() {
                if is_last(&event) {
                    return;
                }
            }
            let Ok(count) = self.stream.read(&mut bytes) else {
                assert!(began.elapsed() < Duration::from_secs(20), "the server does not say it");
                continue;
            };
            assert!(count > 0, "the server ended the connection");
            self.session.push(&bytes[..count]);
            self.steps.push(Step::Received(bytes[..count].to_vec()));
        }
    }
}

/// Writes a recording.
fn write(remark: &str, steps: &[Step]) -> String {
    let mut text = format!("# {remark}\n");
    for step in steps {
        match step {
            Step::Asked(sql) => writeln!(text, "> {sql}").unwrap(),
            Step::Ended => text.push_str(".\n"),
            Step::Received(bytes) => {
                for line in bytes.chunks(LINE_BYTES) {
                    text.push_str("< ");
                    for byte in line {
                        write!(text, "{byte:02x}").unwrap();
                    }
                    text.push('\n');
                }
            }
        }
    }
    text
}

#[test]
fn a_recorded_session_says_what_the_recording_says_that_is_kept() {
    let Some(server) = TestServer::own() else { return };
    let mut writer = connect(&server.settings("postgres"));
    run_sql(
        &mut writer,
        "CREATE TYPE mood AS ENUM ('sad', 'happy'); \
         CREATE TABLE item (id int PRIMARY KEY, name text, price numeric(8, 2), mood mood, at timestamptz, tags text[]); \
         ALTER TABLE item ALTER name SET STORAGE EXTERNAL; \
         CREATE TABLE line (item int, number int, PRIMARY KEY (item, number)); \
         CREATE TABLE whole (id int); ALTER TABLE whole REPLICA IDENTITY FULL; \
         CREATE PUBLICATION recorded FOR TABLE item, line, whole; \
         INSERT INTO line VALUES (0, 1), (0, 2)",
    );
    let mut recorder = Recorder::begin(server.port());
    recorder.ask("IDENTIFY_SYSTEM");
    recorder.ask("SELECT 1 AS one, NULL AS nothing; SELECT 1 / 0");
    recorder.ask("COPY (SELECT item, number, NULL FROM public.line ORDER BY number) TO STDOUT");
    recorder.ask("START_REPLICATION SLOT \"nowhere\" LOGICAL 0/0 (proto_version '2', publication_names '\"recorded\"')");
    recorder.ask("CREATE_REPLICATION_SLOT \"recorded\" LOGICAL pgoutput NOEXPORT_SNAPSHOT");
    for statement in [
        "INSERT INTO item VALUES (1, 'Tea', 2.50, 'happy', '2024-02-29 12:00+01', '{a,\"b c\"}'), (2, NULL, 'NaN', NULL, 'infinity', NULL)",
        "UPDATE item SET name = repeat('x', 2500) WHERE id = 1",
        "UPDATE item SET price = 3 WHERE id = 1",
        "UPDATE item SET id = 3 WHERE id = 1",
        "DELETE FROM item WHERE id = 3",
        "INSERT INTO whole VALUES (1); UPDATE whole SET id = 2; DELETE FROM whole",
        "SELECT pg_logical_emit_message(true, 'note', 'hello')",
        "ALTER TABLE item DROP mood; INSERT INTO item VALUES (4)",
        "TRUNCATE item, whole",
        "BEGIN; INSERT INTO line SELECT 1, n FROM generate_series(1, 400) n; SAVEPOINT s; \
         INSERT INTO line SELECT 2, n FROM generate_series(1, 400) n; ROLLBACK TO s; INSERT INTO line VALUES (3, 1); COMMIT",
        "BEGIN; INSERT INTO line SELECT 4, n FROM generate_series(1, 500) n; ROLLBACK",
    ] {
        run_sql(&mut writer, statement);
    }
    write_mixed_blocks(&mut writer, &mut connect(&server.settings("postgres")));
    run_sql(&mut writer, "SELECT pg_logical_emit_message(false, 'end', '')");
    recorder.ask(
        "START_REPLICATION SLOT \"recorded\" LOGICAL 0/0 (proto_version '2', streaming 'on', publication_names '\"recorded\"', messages 'true')",
    );
    recorder.until(
        |event| matches!(event, Event::CopyData(bytes) if bytes.windows(4).any(|part| part == b"end\0")),
    );
    recorder.end();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/postgres15.txt");
    if std::env::var_os("EVERGRAPH_RECORD").is_some() {
        let remark = "A session with PostgreSQL 15, made by tests/postgres/record.rs";
        std::fs::write(&path, write(remark, &recorder.steps)).unwrap();
    }
    let kept = parse(&std::fs::read_to_string(&path).unwrap());
    let said = |steps: &[Step]| without_rows_rolled_back(replay(steps, usize::MAX));
    assert_eq!(said(&recorder.steps), said(&kept));
}

/// Two transactions whose streamed blocks are mixed: items 5 and 6, whose statements take turns. The one that began last commits
/// first. 64 kB hold the rows of one statement and not of two: the server sends those of one, whole, in the middle of the next.
fn write_mixed_blocks(first: &mut Connection, second: &mut Connection) {
    run_sql(first, "BEGIN");
    run_sql(second, "BEGIN");
    for rows in ["generate_series(1, 400)", "generate_series(401, 800)"] {
        run_sql(first, &format!("INSERT INTO line SELECT 5, n FROM {rows} n"));
        run_sql(second, &format!("INSERT INTO line SELECT 6, n FROM {rows} n"));
    }
    run_sql(second, "COMMIT");
    run_sql(first, "COMMIT");
}

/// How many rows of what is rolled back a server sends before that depends on its minor version: 15.20 sends fewer than 15.18.
fn without_rows_rolled_back(said: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(said.len());
    for line in said {
        if line.starts_with("stream abort") {
            let stop = kept.pop_if(|last| last == "stream stop");
            let same = kept.last().and_then(|last| last.split_once(',')).map(|row| row.0.to_owned());
            while let Some(same) = &same
                && kept.pop_if(|last| last.starts_with(same)).is_some()
            {}
            kept.extend(stop);
        }
        kept.push(line);
    }
    kept
}
