//! Raw client: asks JetStream's API for what a log never does, by the text protocol of NATS.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// How long a server may take.
const TIME_MAX: Duration = Duration::from_secs(20);

/// The answer to a request.
pub fn ask(port: u16, subject: &str, json: &str) -> String {
    ask_within(TIME_MAX, port, subject, json).unwrap_or_else(|error| panic!("{subject}: {error}"))
}

/// The answer to a request, which may be lost: while servers elect who answers, nobody does.
pub fn ask_within(time: Duration, port: u16, subject: &str, json: &str) -> io::Result<String> {
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(time))?;
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let mut socket = socket;
    let mut line = String::new();
    reader.read_line(&mut line)?;
    assert!(line.starts_with("INFO"), "{line}");
    let length = json.len();
    write!(
        socket,
        "CONNECT {{\"verbose\":false,\"pedantic\":false}}\r\nSUB _INBOX.raw 1\r\nPUB {subject} _INBOX.raw {length}\r\n{json}\r\n"
    )?;
    loop {
        line.clear();
        assert_ne!(reader.read_line(&mut line)?, 0, "the server ended the connection");
        assert!(!line.starts_with("-ERR"), "{line}");
        if line.starts_with("PING") {
            socket.write_all(b"PONG\r\n")?;
        } else if line.starts_with("MSG") {
            let length = line.split_whitespace().last().unwrap().parse().unwrap();
            let mut payload = vec![0; length];
            reader.read_exact(&mut payload)?;
            return Ok(String::from_utf8(payload).unwrap());
        }
    }
}

/// The same, and it is done.
pub fn ask_surely(port: u16, subject: &str, json: &str) -> String {
    let answer = ask(port, subject, json);
    assert!(!answer.contains("\"error\""), "{subject}: {answer}");
    answer
}
