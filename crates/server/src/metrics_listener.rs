//! `MetricsListener`: metrics by HTTP of a program that serves nothing else, to programs on this machine.

use axum::Router;
use axum::http::header;
use axum::routing::get;
use evergraph_graph::error::{Error, ErrorKind, Result};
use prometheus_client::encoding::prometheus_text::CONTENT_TYPE;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// Answers `GET /metrics` until it is dropped.
///
/// Concurrency: one network thread, and one for each text that is being made.
#[derive(Debug)]
pub struct MetricsListener {
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl MetricsListener {
    /// Listens at `address`, which only this machine reaches: nobody logs in. Port 0 is any free one. `text` makes the
    /// metrics whenever somebody asks, in Prometheus' text format.
    ///
    /// # Errors
    /// `invalid` for an address that other machines reach; `io` if the address can't be listened on.
    pub fn start(address: SocketAddr, text: impl Fn() -> String + Send + Sync + 'static) -> Result<Self> {
        if !address.ip().is_loopback() {
            return Err(Error::invalid(format!(
                "metrics at {address} could be read by other machines, without a log-in: listen on 127.0.0.1 or [::1]"
            )));
        }
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Io, format!("listen for metrics at {address}: {error}")).because(error)
        };
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("metrics")
            .enable_all()
            .build()
            .map_err(failed)?;
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let text = Arc::new(text);
        let answer = move || {
            let text = Arc::clone(&text);
            async move {
                let made = tokio::task::spawn_blocking(move || text()).await.unwrap_or_default();
                ([(header::CONTENT_TYPE, CONTENT_TYPE)], made)
            }
        };
        let router = Router::new().route("/metrics", get(answer));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, runtime: Some(runtime) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsListener {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    #[test]
    fn the_text_is_made_for_whoever_asks_on_this_machine() {
        let listener =
            MetricsListener::start("127.0.0.1:0".parse().unwrap(), || "evergraph_a 1\n".to_owned()).unwrap();
        let mut stream = TcpStream::connect(listener.address()).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("evergraph_a 1\n"), "{answer}");
        let refused = MetricsListener::start("0.0.0.0:0".parse().unwrap(), String::new).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
    }
}
