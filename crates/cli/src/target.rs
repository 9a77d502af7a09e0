//! Target: what a command takes in place of a database: a folder, or the URL of a server.
//!
//! ```text
//! social.eg                               a folder
//! cluster:shop/node-1                     a folder, too: of a cluster's node, which runs in this process
//! ws://localhost/social                   a server on this machine
//! wss://ann@graph.example:8182/social     a server with users and TLS
//! ```
//!
//! A URL is checked when it is used, not by the command line's parser, whose messages would repeat a password in it.

use clap::builder::{TypedValueParser, ValueParserFactory};
use clap::error::{ContextKind, ContextValue};
use evergraph_client::url::ServerUrl;
use evergraph_graph::error::Result;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What a command takes in place of a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// A folder.
    Folder(PathBuf),
    /// A server, by a URL that is not checked.
    Server(UncheckedUrl),
}

/// A URL as somebody said it.
#[derive(Clone, PartialEq, Eq)]
pub struct UncheckedUrl(String);

impl UncheckedUrl {
    /// The URL.
    ///
    /// # Errors
    /// `invalid` if it is none, or has a password.
    pub fn check(&self) -> Result<ServerUrl> {
        self.0.parse()
    }

    /// The text, which may hold a password: not to be shown.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for UncheckedUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&ServerUrl::without_password(&self.0))
    }
}

impl Target {
    fn of(text: &OsStr) -> Self {
        match text.to_str().filter(|text| ServerUrl::is_url(text)) {
            Some(url) => Self::Server(UncheckedUrl(url.to_owned())),
            None => Self::Folder(text.into()),
        }
    }

    /// What a prompt calls it: the last part of the path, or the database of the URL or its host.
    #[must_use]
    pub fn short_name(&self) -> String {
        match self {
            Self::Folder(path) => last_part(path),
            Self::Server(url) => match url.check() {
                Ok(url) => url.database.unwrap_or(url.host),
                Err(_) => String::new(),
            },
        }
    }
}

fn last_part(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

impl ValueParserFactory for Target {
    type Parser = TargetParser;

    fn value_parser() -> TargetParser {
        TargetParser
    }
}

/// Reads a [`Target`]; takes any text.
#[derive(Clone, Copy, Debug)]
pub struct TargetParser;

impl TypedValueParser for TargetParser {
    type Value = Target;

    fn parse_ref(
        &self,
        _: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> std::result::Result<Target, clap::Error> {
        Ok(Target::of(value))
    }
}

/// Reads the folder of a database, of commands that work on nothing else. A URL is a
/// [`clap::error::ErrorKind::ValueValidation`] of the argument [`FOLDER`], which `usage` tells in our words.
#[derive(Clone, Copy, Debug)]
pub struct FolderParser;

/// How errors call an argument that [`FolderParser`] reads.
pub const FOLDER: &str = "the folder of a database";

impl TypedValueParser for FolderParser {
    type Value = PathBuf;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> std::result::Result<PathBuf, clap::Error> {
        match Target::of(value) {
            Target::Folder(path) => Ok(path),
            Target::Server(url) => {
                let mut error = clap::Error::new(clap::error::ErrorKind::ValueValidation).with_cmd(command);
                error.insert(ContextKind::InvalidArg, ContextValue::String(FOLDER.to_owned()));
                error.insert(ContextKind::InvalidValue, ContextValue::String(format!("{url:?}")));
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_scheme_and_everything_else_is_a_folder() {
        for folder in ["social.eg", "./a://b", "C:\\graphs", "ws:/x"] {
            assert_eq!(Target::of(folder.as_ref()), Target::Folder(folder.into()));
        }
        let target = Target::of("ws://ann@localhost/social".as_ref());
        assert!(matches!(target, Target::Server(_)));
        assert_eq!(target.short_name(), "social");
        assert_eq!(Target::of("ws://localhost".as_ref()).short_name(), "localhost");
        assert_eq!(Target::of("graphs/social.eg".as_ref()).short_name(), "social.eg");
    }

    #[test]
    fn a_password_in_a_url_is_not_shown() {
        let target = Target::of("ws://ann:secret@localhost".as_ref());
        assert!(!format!("{target:?}").contains("secret"));
    }
}
