//! `Request` and `Operation`: what a client asks of a server.
//!
//! ```text
//! processor    op              arguments
//! traversal    bytecode        gremlin (bytecode), aliases, options of the query
//! (empty)      eval            gremlin (text), bindings, language, aliases, options of the query
//! session      bytecode, eval  the same, and session
//! session      close           session
//! any          authentication  sasl, saslMechanism
//! options of the query         evaluationTimeout, batchSize, materializeProperties, userAgent
//!                              isolation, strict, vertexKeys    of Evergraph's own clients
//! ```
//!
//! Source: TinkerPop 3.8, "Provider Documentation", OpProcessors Arguments.

use evergraph_graph::transaction::Isolation;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::bytecode::Bytecode;
use uuid::Uuid;

/// A request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Its id, which every response to it repeats.
    pub id: Uuid,
    /// What it asks for.
    pub operation: Operation,
}

/// What a request asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Run bytecode; its results are traversers with bulk.
    Bytecode {
        /// The bytecode. Its calls are not checked.
        bytecode: Bytecode,
        /// Where and how it runs.
        options: QueryOptions,
    },
    /// Run a text; its results are bare values.
    Eval {
        /// The text.
        gremlin: Box<str>,
        /// The language that the client says the text is in, such as `gremlin-groovy`.
        language: Option<Box<str>>,
        /// Its variables.
        bindings: Bindings,
        /// Where and how it runs.
        options: QueryOptions,
    },
    /// Log in.
    Authentication {
        /// What the mechanism sends, decoded from base64; of PLAIN: NUL, user, NUL, password.
        sasl: Vec<u8>,
        /// The mechanism, `PLAIN` by default.
        mechanism: Option<Box<str>>,
    },
    /// End a session. What is open in it is rolled back.
    Close {
        /// The session.
        session: Box<str>,
    },
}

/// Where and how a query runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QueryOptions {
    /// Which of the server's sources the query's sources are.
    pub aliases: Vec<Alias>,
    /// Milliseconds after which the query is stopped; 0 for no limit. `None`: the server's default.
    pub evaluation_timeout_ms: Option<u64>,
    /// Results in a frame, at least 1. `None`: the server's default.
    pub batch_size: Option<usize>,
    /// Which parts of elements are sent. `None`: the server's default.
    pub materialize_properties: Option<MaterializeProperties>,
    /// The driver that sent it, for logs.
    pub user_agent: Option<Box<str>>,
    /// The session that it runs in. `None`: in a transaction of its own.
    pub session: Option<Session>,
    /// The isolation level of the transaction that it begins. `None`: the database's default. Of Evergraph's own clients.
    pub isolation: Option<Isolation>,
    /// Whether a name that the graph does not have is an error. Of Evergraph's own clients.
    pub strict: bool,
    /// Whether frames have the unique keys of the vertices in them, in the attribute `vertexKeys`. Of Evergraph's own
    /// clients.
    pub vertex_keys: bool,
}

impl QueryOptions {
    /// Bytes on the heap that they take.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let alias = |alias: &Alias| size_of::<Alias>() + alias.alias.len() + alias.name.len();
        let agent = self.user_agent.as_ref().map_or(0, |agent| agent.len());
        let session = self.session.as_ref().map_or(0, |session| session.id.len());
        self.aliases.iter().map(alias).sum::<usize>() + agent + session
    }
}

/// Another name of a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alias {
    /// The name in the query, usually `g`.
    pub alias: Box<str>,
    /// The name that the server knows.
    pub name: Box<str>,
}

/// Which parts of elements are sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MaterializeProperties {
    /// Id and label.
    Tokens,
    /// Id, label and properties.
    #[default]
    All,
}

impl MaterializeProperties {
    /// Its name in requests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::All => "all",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Tokens, Self::All].into_iter().find(|parts| parts.name() == name)
    }
}

/// A session, as a client describes it in each of its requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// Its id: a UUID, or any other text.
    pub id: Box<str>,
    /// Whether each request is a transaction of its own.
    pub manages_transactions: bool,
}

impl Operation {
    /// Its name in requests.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Bytecode { .. } => "bytecode",
            Self::Eval { .. } => "eval",
            Self::Authentication { .. } => "authentication",
            Self::Close { .. } => "close",
        }
    }

    /// Bytes on the heap that it takes: the query with its variables and options, or what a log-in sends.
    ///
    /// Cost: one visit to everything inside.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Bytecode { bytecode, options } => bytecode.query().heap_bytes() + options.heap_bytes(),
            Self::Eval { gremlin, language, bindings, options } => {
                let language = language.as_ref().map_or(0, |language| language.len());
                gremlin.len() + language + bindings.heap_bytes() + options.heap_bytes()
            }
            Self::Authentication { sasl, mechanism } => {
                sasl.len() + mechanism.as_ref().map_or(0, |mechanism| mechanism.len())
            }
            Self::Close { session } => session.len(),
        }
    }

    /// The processor that it is for.
    #[must_use]
    pub const fn processor(&self) -> &'static str {
        match self {
            Self::Bytecode { options, .. } | Self::Eval { options, .. } if options.session.is_some() => {
                "session"
            }
            Self::Bytecode { .. } => "traversal",
            Self::Eval { .. } | Self::Authentication { .. } => "",
            Self::Close { .. } => "session",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_a_client_can_make_long_is_counted() {
        let long = || Box::<str>::from("x".repeat(1000));
        let options = QueryOptions {
            aliases: vec![Alias { alias: long(), name: long() }],
            user_agent: Some(long()),
            session: Some(Session { id: long(), manages_transactions: false }),
            ..QueryOptions::default()
        };
        let (gremlin, language, bindings) = (long(), Some(long()), Bindings::new());
        let eval = Operation::Eval { gremlin, language, bindings, options };
        assert!((6000..7000).contains(&eval.heap_bytes()), "{}", eval.heap_bytes());
        let login = Operation::Authentication { sasl: vec![0; 1000], mechanism: Some(long()) };
        assert_eq!(login.heap_bytes(), 2000);
    }
}
