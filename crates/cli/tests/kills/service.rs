//! Service: `evergraph serve` as a process of its own, and clients of it.

use evergraph_client::client::Client;
use evergraph_client::options::ClientOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server. It is killed, with whoever traces it, when this is dropped.
pub struct Service {
    child: Child,
    address: String,
}

/// An answer by HTTP.
#[derive(Debug)]
pub struct HttpAnswer {
    pub status: u16,
    pub body: String,
}

impl HttpAnswer {
    /// The value of a metric's series, which begins with `series`.
    pub fn metric(&self, series: &str) -> f64 {
        let line = self.body.lines().find(|line| line.starts_with(series));
        let line = line.unwrap_or_else(|| panic!("no {series}: {}", self.body));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }
}

impl Service {
    /// Starts `command`, which serves at a free port, and waits until it says where it listens. `None` if it ends before.
    pub fn start(command: &mut Command) -> Option<Self> {
        // A group of its own: whoever runs under strace is killed with it.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        out.read_line(&mut first).unwrap();
        let address = first.split("://").nth(1).and_then(|rest| rest.split('/').next());
        let Some(address) = address.map(str::to_owned) else {
            child.wait().unwrap();
            return None;
        };
        Some(Self { child, address })
    }

    /// A client of the database that the alias `g` stands for.
    pub fn client(&self) -> Client {
        let url = format!("ws://{}", self.address).parse().unwrap();
        Client::connect(&url, ClientOptions::default()).unwrap()
    }

    /// Sends a request by HTTP. `None` if the server was killed before its answer was whole.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> Option<HttpAnswer> {
        let ask = || -> std::io::Result<Vec<u8>> {
            let mut stream = TcpStream::connect(&self.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(60)))?;
            let (address, length) = (&self.address, body.len());
            write!(
                stream,
                "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\
                 Content-Type: application/json\r\n\r\n{body}"
            )?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer)?;
            Ok(answer)
        };
        let answer = String::from_utf8(ask().ok()?).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().unwrap();
        Some(HttpAnswer { status, body: body.to_owned() })
    }

    /// The same of a server that nobody kills.
    pub fn get(&self, path: &str) -> HttpAnswer {
        self.ask("GET", path, "").expect("the server answers")
    }

    /// Kills it.
    pub fn kill_now(&self) {
        // It fails if they are gone already.
        Command::new("kill")
            .args(["-9", "--", &format!("-{}", self.child.id())])
            .stderr(Stdio::null())
            .status()
            .unwrap();
    }

    /// Kills it, and waits until it is gone.
    pub fn kill(&mut self) {
        self.kill_now();
        self.child.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
    }
}
