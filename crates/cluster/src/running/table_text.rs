//! Table text: an engine's table of a node's file, as it is written.

use crate::log::server_access::{CleartextLogin, LogClientCertificate, LogTls};
use crate::running::document::quoted;
use std::fmt::{Display, Write as _};
use std::path::Path;
use std::time::Duration;

/// The text of an engine's table.
pub(super) struct TableText(String);

impl TableText {
    /// A table without keys.
    pub(super) fn new(engine: &str) -> Self {
        Self(format!("[{engine}]\n"))
    }

    /// A key and a value, as TOML has it.
    pub(super) fn put(&mut self, key: &str, value: impl Display) {
        let _ = writeln!(self.0, "{key} = {value}");
    }

    /// A key and a text.
    pub(super) fn put_text(&mut self, key: &str, text: &str) {
        self.put(key, quoted(text));
    }

    /// A key and the path of a file.
    pub(super) fn put_path(&mut self, key: &str, path: &Path) {
        self.put_text(key, &path.to_string_lossy());
    }

    /// A key and the URLs of servers.
    pub(super) fn put_urls(&mut self, key: &str, urls: &[impl Display]) {
        let urls: Vec<String> = urls.iter().map(|url| quoted(&url.to_string())).collect();
        self.put(key, format_args!("[{}]", urls.join(", ")));
    }

    /// Files of certificates, if there are any.
    pub(super) fn put_tls(&mut self, tls: Option<&LogTls>) {
        let Some(LogTls { root, client }) = tls else { return };
        self.put_path("root", root);
        if let Some(LogClientCertificate { certificate, key }) = client {
            self.put_path("certificate", certificate);
            self.put_path("key", key);
        }
    }

    /// Where a password may go, unless it is as by default.
    pub(super) fn put_cleartext(&mut self, cleartext: CleartextLogin) {
        if cleartext == CleartextLogin::Anywhere {
            self.put("allow-cleartext-password", true);
        }
    }

    /// The whole text, which ends with how long a request may take, unless it is as by default.
    pub(super) fn finish(mut self, time_limit: Option<Duration>) -> String {
        if let Some(time_limit) = time_limit {
            self.put("time-limit-ms", time_limit.as_millis());
        }
        self.0
    }
}
