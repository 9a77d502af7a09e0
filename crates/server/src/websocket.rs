//! WebSocket: carries the messages of one connection, both ways.

use crate::client_socket::DepartureWatch;
use crate::connection::Connection;
use crate::end_reason::EndReason;
use crate::message_meter::RequestPlace;
use crate::outbox::{Frame, FrameKind};
use crate::security::login_gate::WaitingRequest;
use crate::server_phase::ServerPhase;
use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// A message that is longer is read on a thread of its own, so that it delays no other connection.
const SHORT_MESSAGE_BYTES: usize = 64 << 10;

/// How long a client may take to read the close frame.
const CLOSE_TIME: Duration = Duration::from_secs(1);

/// Carries messages until the client or the server ends the connection, and then ends its requests.
pub async fn serve(
    socket: WebSocket,
    connection: Arc<Connection>,
    departure: DepartureWatch,
    requests_max: usize,
    mut phase: watch::Receiver<ServerPhase>,
) {
    let (mut sink, mut stream) = socket.split();
    let ended = {
        let reading = read(&mut stream, &connection, &departure, requests_max, phase.clone());
        let writing = write(&mut sink, &connection);
        tokio::select! {
            ended = reading => ended,
            () = closing(&mut phase) => Some(going_away()),
            // It has sent all that there was to send.
            () = writing => connection.end_reason().map(EndReason::close_frame),
            ended = overdue(&connection) => Some(ended.close_frame()),
        }
    };
    connection.close();
    if let Some(frame) = ended {
        let _ = tokio::time::timeout(CLOSE_TIME, async {
            sink.send(Message::Close(Some(frame))).await?;
            // The client answers with a close frame of its own.
            while let Some(Ok(_)) = stream.next().await {}
            Ok::<(), axum::Error>(())
        })
        .await;
    }
}

/// Reads requests; returns how the server closes the connection, `None` if the client is gone.
async fn read(
    stream: &mut SplitStream<WebSocket>,
    connection: &Arc<Connection>,
    departure: &DepartureWatch,
    requests_max: usize,
    phase: watch::Receiver<ServerPhase>,
) -> Option<CloseFrame> {
    let places = Arc::new(Semaphore::new(requests_max));
    let messages = connection.messages();
    loop {
        let permit = tokio::select! {
            biased;
            permit = place_of_request(connection, &places) => permit,
            // While nothing is read, nobody meets the end of the stream.
            () = departure.left() => return None,
        };
        let (bytes, kind, message, admitted) = match connection.next_released() {
            Some((WaitingRequest { message, kind, memory }, admission)) => {
                (Bytes::from(message), kind, memory, Some(admission))
            }
            None => match next_message(stream, connection).await? {
                Ok((bytes, kind)) => (bytes, kind, messages.received_message(), None),
                Err(close) => return Some(close),
            },
        };
        let is_serving = *phase.borrow() == ServerPhase::Serving;
        let receiving = Arc::clone(connection);
        let length = bytes.len();
        let place = RequestPlace { permit, message };
        let receive = move || match is_serving {
            true => receiving.receive(&bytes, kind, place, admitted),
            false => receiving.refuse(&bytes, kind),
        };
        if length <= SHORT_MESSAGE_BYTES {
            receive();
        } else {
            // In order: the next message is read when this one was.
            let _decoder = messages.decoder().await;
            tokio::task::spawn_blocking(receive).await.ok()?;
        }
    }
}

/// Waits until another request may be read; its place, which who has not logged in does not need: it runs nothing.
async fn place_of_request(connection: &Connection, places: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    connection.may_read().await;
    match connection.is_logged_in() {
        true => Some(Arc::clone(places).acquire_owned().await.expect("nobody closes the semaphore")),
        false => None,
    }
}

/// The next message of the client; how the server closes the connection if there is none, and `None` if the client is gone.
async fn next_message(
    stream: &mut SplitStream<WebSocket>,
    connection: &Connection,
) -> Option<Result<(Bytes, FrameKind), CloseFrame>> {
    let messages = connection.messages();
    loop {
        match stream.next().await? {
            Ok(Message::Binary(bytes)) => return Some(Ok((bytes, FrameKind::Binary))),
            Ok(Message::Text(text)) => return Some(Ok((Bytes::from(text), FrameKind::Text))),
            Ok(Message::Close(_)) => return None,
            // Pings are answered below.
            Ok(Message::Ping(bytes) | Message::Pong(bytes)) => {
                messages.received_control(bytes.len());
                connection.touch();
            }
            Err(_) if messages.is_refused() => {
                let reason = "too much memory is taken by messages: try again later";
                return Some(Err(CloseFrame { code: close_code::AGAIN, reason: reason.into() }));
            }
            Err(error) => {
                let reason = format!("{error}").chars().take(100).collect::<String>();
                let is_too_long = reason.contains("too long") || reason.contains("Space limit");
                let code = if is_too_long { close_code::SIZE } else { close_code::PROTOCOL };
                return Some(Err(CloseFrame { code, reason: reason.into() }));
            }
        }
    }
}

/// Writes answers until nobody reads them.
async fn write(sink: &mut SplitSink<WebSocket, Message>, connection: &Arc<Connection>) {
    let outbox = connection.outbox();
    while let Some(Frame { bytes, kind }) = outbox.next().await {
        let length = bytes.len();
        let message = match kind {
            FrameKind::Binary => Message::Binary(bytes.into()),
            FrameKind::Text => {
                Message::Text(String::from_utf8(bytes).expect("answers as text are written as text").into())
            }
            FrameKind::Body(_) => unreachable!("the parts of bodies have outboxes of their own"),
        };
        if sink.send(message).await.is_err() {
            return;
        }
        outbox.sent(length);
    }
}

async fn closing(phase: &mut watch::Receiver<ServerPhase>) {
    // The server is gone if it can't say so any more.
    let _ = phase.wait_for(|phase| *phase == ServerPhase::Closing).await;
}

/// Why the server ends the connection, if its client does not read the rest in time.
async fn overdue(connection: &Connection) -> EndReason {
    let reason = connection.ended().await;
    tokio::time::sleep(CLOSE_TIME).await;
    reason
}

fn going_away() -> CloseFrame {
    CloseFrame { code: close_code::AWAY, reason: "the server stops".into() }
}
