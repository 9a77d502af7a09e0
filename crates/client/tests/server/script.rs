//! Script: a server that does what a test says, connection by connection.

use evergraph_client::url::ServerUrl;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::Request;
use evergraph_protocol::request::read::RequestLimits;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::frame::encode_response;
use evergraph_protocol::response::status::Status;
use std::net::{TcpListener, TcpStream};
use std::thread;
use tungstenite::{Message, WebSocket};
use uuid::Uuid;

/// A server that runs `script` for each connection.
pub fn serve_script(script: impl Fn(TcpStream) + Send + Sync + 'static) -> ServerUrl {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap()).parse().unwrap();
    thread::spawn(move || {
        thread::scope(|scope| {
            let script = &script;
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                scope.spawn(move || script(stream));
            }
        });
    });
    url
}

/// The same with WebSockets, whose first request is answered as by a server: so a client connects. `script` gets the id
/// of the second one.
pub fn serve_answers(script: impl Fn(&mut WebSocket<TcpStream>, Uuid) + Send + Sync + 'static) -> ServerUrl {
    serve_script(move |stream| {
        let Ok(mut socket) = tungstenite::accept(stream) else { return };
        let Some(first) = next_id(&mut socket) else { return };
        let _ = socket.send(answer(first, Status::NoContent));
        let Some(second) = next_id(&mut socket) else { return };
        script(&mut socket, second);
    })
}

/// The id of the next request.
pub fn next_id(socket: &mut WebSocket<TcpStream>) -> Option<Uuid> {
    loop {
        match socket.read().ok()? {
            Message::Binary(bytes) => {
                return Some(Request::read_message(&bytes, &RequestLimits::default()).unwrap().1.id);
            }
            _ => continue,
        }
    }
}

/// An answer without results.
pub fn answer(id: Uuid, status: Status) -> Message {
    encode_response(Format::GraphBinary, Some(id), status, None, &Attributes::new()).into_message()
}

/// Bytes as a message.
pub trait IntoMessage {
    fn into_message(self) -> Message;
}

impl IntoMessage for Vec<u8> {
    fn into_message(self) -> Message {
        Message::Binary(self.into())
    }
}
