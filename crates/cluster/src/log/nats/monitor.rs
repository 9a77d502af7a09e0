//! Monitor: asks a server at its monitoring port how it is set up.

use crate::log::nats::api::ServerVariables;
use crate::log::nats::options::NatsMonitor;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Bytes of an answer, which has some thousand.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// Asks `monitor`. It takes as long as the network does: the caller has a time limit.
///
/// # Errors
/// What went wrong, for people.
pub(super) async fn variables(
    monitor: &NatsMonitor,
    tls: Option<&Arc<ClientConfig>>,
) -> Result<ServerVariables, String> {
    let asked = ask(monitor, tls).await;
    let answer = asked.map_err(|error| format!("ask {monitor}/varz: {error}"))?;
    parse(&answer).ok_or_else(|| format!("{monitor}/varz is not the monitoring port of a server of NATS"))
}

async fn ask(monitor: &NatsMonitor, tls: Option<&Arc<ClientConfig>>) -> io::Result<Vec<u8>> {
    let socket = TcpStream::connect((monitor.host(), monitor.port())).await?;
    match tls.filter(|_| monitor.is_tls()) {
        None => exchange(socket, monitor).await,
        Some(config) => {
            let name = ServerName::try_from(monitor.host().to_owned()).map_err(io::Error::other)?;
            exchange(TlsConnector::from(Arc::clone(config)).connect(name, socket).await?, monitor).await
        }
    }
}

/// By HTTP 1.0, which has no chunks, and ends with the connection.
async fn exchange<S>(mut socket: S, monitor: &NatsMonitor) -> io::Result<Vec<u8>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let request =
        format!("GET /varz HTTP/1.0\r\nHost: {}\r\nAccept: application/json\r\n\r\n", monitor.host());
    socket.write_all(request.as_bytes()).await?;
    socket.flush().await?;
    let mut answer = Vec::new();
    socket.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await?;
    Ok(answer)
}

fn parse(answer: &[u8]) -> Option<ServerVariables> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let is_fine = head.lines().next()?.split(' ').nth(1) == Some("200");
    serde_json::from_str(body).ok().filter(|_| is_fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_of_a_server_of_nats_is_taken() {
        let body = r#"{"server_name":"m0","version":"2.12.0","jetstream":{"config":{"sync_interval":5}}}"#;
        let found = parse(format!("HTTP/1.0 200 OK\r\nContent-Type: a\r\n\r\n{body}").as_bytes()).unwrap();
        let config = found.jetstream.config.unwrap();
        assert_eq!((found.server_name.as_str(), config.sync_always, config.sync_interval), ("m0", false, 5));
        for other in [
            format!("HTTP/1.0 404 Not Found\r\n\r\n{body}"),
            "HTTP/1.0 200 OK\r\n\r\n{}".to_owned(),
            "HTTP/1.0 200 OK\r\n\r\n".to_owned(),
            "INFO {\"server_id\":\"a\"}\r\n".to_owned(),
            String::new(),
        ] {
            assert!(parse(other.as_bytes()).is_none(), "{other}");
        }
    }
}
