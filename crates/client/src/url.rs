//! `ServerUrl`: where a server is, and which of its databases is meant.
//!
//! ```text
//! wss://ann@graph.example:8182/social        ws, http: plain        wss, https: TLS
//!       user     host     port database
//! ```
//!
//! User, port and database may be left out. Port 8182 is the default of every scheme. Without a database, and with the path
//! `/gremlin` that drivers use, the server's own `g` is meant. There is no password in a URL: other users of the machine
//! see command lines, and logs keep URLs.

use evergraph_graph::error::{Error, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::fmt;
use std::str::FromStr;

/// The port of servers.
pub const DEFAULT_PORT: u16 = 8182;
/// The path that Gremlin drivers connect to.
const GREMLIN_PATH: &str = "gremlin";
/// Characters that a part of a URL may not have as they are.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Where a server is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ServerUrl {
    /// Whether the connection is encrypted.
    pub has_tls: bool,
    /// A name or an address; one of IPv6 without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Who logs in.
    pub user: Option<String>,
    /// The database's name; `None` for the one that the server calls `g`.
    pub database: Option<String>,
}

impl ServerUrl {
    /// Whether `text` is meant to be a URL, and not a path.
    #[must_use]
    pub fn is_url(text: &str) -> bool {
        text.split_once("://").is_some_and(|(scheme, _)| {
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+')
        })
    }

    /// `text` without what may be a password in it.
    #[must_use]
    pub fn without_password(text: &str) -> String {
        let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
        let Some((user, host)) = rest.rsplit_once('@') else { return text.to_owned() };
        let user = user.split_once(':').map_or(user, |(user, _)| user);
        format!("{scheme}://{user}@{host}")
    }

    /// Host and port, as the header `Host` has them.
    #[must_use]
    pub fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl FromStr for ServerUrl {
    type Err = Error;

    /// Reads a URL.
    ///
    /// # Errors
    /// `invalid`, without any part of a password.
    fn from_str(text: &str) -> Result<Self> {
        let shown = Self::without_password(text);
        let wrong = |why: &str| Error::invalid(format!("the URL {shown:?}: {why}"));
        let (scheme, rest) =
            text.split_once("://").ok_or_else(|| wrong("it does not begin with ws:// or wss://"))?;
        let has_tls = match &*scheme.to_ascii_lowercase() {
            "ws" | "http" => false,
            "wss" | "https" => true,
            _ => return Err(wrong("it does not begin with ws://, wss://, http:// or https://")),
        };
        if rest.contains(['?', '#']) {
            return Err(wrong("it has a `?` or `#`: name the database as its path, as in ws://HOST/social"));
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, place) = match authority.rsplit_once('@') {
            None => (None, authority),
            Some((user, _)) if user.contains(':') => {
                let why = "it has a password, which other users of this machine may see: put it into the variable \
                           EVERGRAPH_PASSWORD or into a file";
                return Err(wrong(why));
            }
            Some((user, place)) => (Some(decoded(user).ok_or_else(|| wrong("its user is no text"))?), place),
        };
        if user.as_deref() == Some("") {
            return Err(wrong("there is no user before the `@`"));
        }
        let (host, port) = split_port(place).map_err(wrong)?;
        let port = match port {
            None => DEFAULT_PORT,
            Some(port) => port
                .parse()
                .ok()
                .filter(|port| *port > 0)
                .ok_or_else(|| wrong("its port is not between 1 and 65535"))?,
        };
        let is_of_host = |char: char| char.is_ascii_alphanumeric() || "-._:".contains(char);
        if host.is_empty() || !host.chars().all(is_of_host) {
            return Err(wrong("it has no host, or one with characters that no host has"));
        }
        let path = path.strip_suffix('/').unwrap_or(path);
        if path.contains('/') {
            return Err(wrong("its path is not the name of one database, as in ws://HOST/social"));
        }
        let name = decoded(path).ok_or_else(|| wrong("its path is no text"))?;
        let database = (!name.is_empty() && name != GREMLIN_PATH).then_some(name);
        Ok(Self { has_tls, host: host.to_owned(), port, user, database })
    }
}

fn decoded(part: &str) -> Option<String> {
    let text = percent_decode_str(part).decode_utf8().ok()?;
    (!text.chars().any(char::is_control)).then(|| text.into_owned())
}

/// Host and port of `HOST:PORT`, `[ADDRESS]:PORT` or either without a port.
fn split_port(place: &str) -> std::result::Result<(&str, Option<&str>), &'static str> {
    if let Some(rest) = place.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or("its `[` is not closed")?;
        return match after.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if after.is_empty() => Ok((host, None)),
            None => Err("what stands behind its `]` is no port"),
        };
    }
    match place.split_once(':') {
        Some((_, port)) if port.contains(':') => {
            Err("an address of IPv6 stands in brackets, as in ws://[::1]")
        }
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((place, None)),
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", if self.has_tls { "wss" } else { "ws" })?;
        if let Some(user) = &self.user {
            write!(f, "{}@", utf8_percent_encode(user, ENCODED))?;
        }
        let path = self.database.as_deref().unwrap_or(GREMLIN_PATH);
        write!(f, "{}/{}", self.authority(), utf8_percent_encode(path, ENCODED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> ServerUrl {
        text.parse().unwrap()
    }

    fn refused(text: &str) -> String {
        text.parse::<ServerUrl>().unwrap_err().to_string()
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let url = read("ws://localhost");
        assert_eq!((url.has_tls, &*url.host, url.port), (false, "localhost", 8182));
        assert_eq!((url.user, url.database), (None, None));
        let url = read("WSS://ann%40home@graph.example:9000/my%20graph");
        assert_eq!((url.has_tls, &*url.host, url.port), (true, "graph.example", 9000));
        assert_eq!((url.user.as_deref(), url.database.as_deref()), (Some("ann@home"), Some("my graph")));
        assert_eq!(read("https://[::1]:1/"), read("wss://[::1]:1/gremlin"));
        assert_eq!(read("http://h/social/").database.as_deref(), Some("social"));
    }

    #[test]
    fn a_url_is_shown_as_it_is_read() {
        for text in ["ws://localhost:8182/gremlin", "wss://ann%40home@[::1]:9000/my%20graph"] {
            assert_eq!(read(text).to_string(), text);
        }
    }

    #[test]
    fn a_password_is_refused_and_never_repeated() {
        for text in ["ws://ann:secret@h", "ws://ann:se@cret@h/x", "ftp://ann:secret@h", "ws://ann:secret@h?x"]
        {
            let told = refused(text);
            assert!(!told.contains("secret") && !told.contains("se@") && told.contains("ann@h"), "{told}");
        }
        assert!(refused("ws://ann:secret@h").contains("EVERGRAPH_PASSWORD"));
    }

    #[test]
    fn what_is_no_url_of_a_server_is_refused_by_what_is_wrong() {
        for (text, why) in [
            ("social.eg", "does not begin"),
            ("ftp://h", "does not begin"),
            ("ws://", "no host"),
            ("ws://a b", "no host"),
            ("ws://h:0", "port"),
            ("ws://h:65536", "port"),
            ("ws://::1", "brackets"),
            ("ws://[::1", "not closed"),
            ("ws://[::1]x", "no port"),
            ("ws://@h", "no user"),
            ("ws://h/a/b", "one database"),
            ("ws://h?database=a", "as its path"),
            ("ws://h/%ff", "no text"),
            ("ws://h/a%0ab", "no text"),
        ] {
            assert!(refused(text).contains(why), "{}", refused(text));
        }
        assert!(ServerUrl::is_url("ws://h") && ServerUrl::is_url("ftp://h"));
        assert!(
            !ServerUrl::is_url("social.eg") && !ServerUrl::is_url("./a://b") && !ServerUrl::is_url("://b")
        );
    }

    fn urls() -> impl Strategy<Value = ServerUrl> {
        let host =
            prop_oneof!["[a-z0-9][a-z0-9.-]{0,20}", Just("::1".to_owned()), Just("2001:db8::7".to_owned())];
        let name = |text: &'static str| prop::option::of(text);
        // A database of the name of the drivers' path is written as its alias.
        let database = name("[^\\p{Cc}]{1,20}")
            .prop_filter("a path of its own", |name| name.as_deref() != Some(GREMLIN_PATH));
        (any::<bool>(), host, 1..=u16::MAX, name("[^\\p{Cc}]{1,20}"), database).prop_map(
            |(has_tls, host, port, user, database)| ServerUrl { has_tls, host, port, user, database },
        )
    }

    proptest! {
        #[test]
        fn every_url_is_read_as_it_was_written(url in urls()) {
            let text = url.to_string();
            prop_assert_eq!(text.parse::<ServerUrl>().unwrap(), url, "{}", text);
        }

        #[test]
        fn hostile_text_is_refused_or_means_one_place_and_never_shows_a_password(
            scheme in prop_oneof![Just("ws"), Just("wss"), Just("HTTP"), Just(""), Just("x")],
            rest in prop_oneof!["\\PC{0,40}", "[a-z:@/%\\[\\]?#.0-9]{0,40}", ".{0,40}"],
        ) {
            let text = format!("{scheme}://{rest}");
            match text.parse::<ServerUrl>() {
                Ok(url) => prop_assert_eq!(url.to_string().parse::<ServerUrl>().unwrap(), url),
                Err(error) => prop_assert_eq!(error.kind(), evergraph_graph::error::ErrorKind::Invalid),
            }
            let with_password = format!("{scheme}://ann:SECRET@{rest}");
            prop_assert!(with_password.parse::<ServerUrl>().map_or_else(
                |error| !error.to_string().contains("SECRET"),
                |url| !url.to_string().contains("SECRET"),
            ));
        }
    }
}
