//! HTTP requests to a member, for what a log never asks: metrics, users, alarms. By etcd's gateway, in JSON.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// How long a member may take.
const TIME_MAX: Duration = Duration::from_secs(20);

/// The body of what a member answers to a GET; `None` if nobody answers.
pub fn get(port: u16, path: &str) -> Option<String> {
    exchange(port, &format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n"))
}

/// The body of what a member answers to a POST of JSON.
pub fn post(port: u16, path: &str, json: &str) -> String {
    let length = json.len();
    let head = format!(
        "POST {path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    exchange(port, &(head + json)).expect("the member answers")
}

fn exchange(port: u16, request: &str) -> Option<String> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).ok()?;
    socket.set_read_timeout(Some(TIME_MAX)).ok()?;
    socket.write_all(request.as_bytes()).ok()?;
    let mut response = String::new();
    socket.read_to_string(&mut response).ok()?;
    let (head, body) = response.split_once("\r\n\r\n")?;
    let is_fine = head.lines().next().is_some_and(|line| line.contains(" 200 "));
    assert!(is_fine, "{request}: {response}");
    Some(body.to_owned())
}
