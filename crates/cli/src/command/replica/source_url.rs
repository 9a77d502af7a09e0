//! `SourceUrl`: the URL of a PostgreSQL database, as a command takes it.
//!
//! It is checked when it is used, not by the command line's parser, whose messages would repeat a password in it.

use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::settings::ConnectionSettings;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// A URL as somebody said it. Nothing shows a password that may be in it.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceUrl(String);

impl SourceUrl {
    /// The source, which `cancel` stops.
    ///
    /// # Errors
    /// `invalid` if it is no such URL, has a password, or a parameter that is not supported.
    pub fn source(&self, cancel: &CancelFlag) -> Result<PostgresSource> {
        Ok(PostgresSource::new(ConnectionSettings::from_url(&self.0)?, cancel.clone()))
    }
}

impl FromStr for SourceUrl {
    type Err = Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&ConnectionSettings::without_password(&self.0))
    }
}

impl fmt::Debug for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_refused_and_not_shown() {
        for text in ["postgres://ann:secret@localhost/shop", "postgres://ann@localhost/shop?password=secret"]
        {
            let url: SourceUrl = text.parse().unwrap();
            let refused = url.source(&CancelFlag::default()).unwrap_err().to_string();
            assert!(refused.contains("PGPASSWORD") && !refused.contains("secret"), "{refused}");
            assert!(!format!("{url:?} {url}").contains("secret"));
        }
        let wrong: SourceUrl = "shop.eg".parse().unwrap();
        let refused = wrong.source(&CancelFlag::default()).unwrap_err().to_string();
        assert!(refused.contains("postgres://"), "{refused}");
    }
}
