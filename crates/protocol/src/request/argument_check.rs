//! Argument check: arguments by name, as either format has them, become an operation.

use std::fmt::Display;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use evergraph_graph::nearest::did_you_mean;
use evergraph_graph::transaction::Isolation;
use evergraph_graph::value::Value;
use evergraph_query::error::quoted;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::call::ArgumentKind;
use uuid::Uuid;

use crate::request::error::RequestError;
use crate::request::operation::{Alias, MaterializeProperties, Operation, QueryOptions, Session};

const OPERATIONS: [&str; 4] = ["authentication", "bytecode", "close", "eval"];
const PROCESSORS: [&str; 3] = ["", "session", "traversal"];

/// Bytes of the id of a session. Drivers send UUIDs.
const SESSION_BYTES_MAX: usize = 256;

/// Arguments that drivers send and that change nothing here: the order of results is kept whatever they say.
const UNUSED: [&str; 8] = [
    "accept",
    "aggregateTo",
    "force",
    "host",
    "maintainStateAfterException",
    "rebindings",
    "requestId",
    "sideEffect",
];

const USED: [&str; 16] = [
    "aliases",
    "batchSize",
    "bindings",
    "evaluationTimeout",
    "gremlin",
    "isolation",
    "language",
    "manageTransaction",
    "materializeProperties",
    "sasl",
    "saslMechanism",
    "scriptEvaluationTimeout",
    "session",
    "strict",
    "userAgent",
    "vertexKeys",
];

/// The value of an argument.
#[derive(Clone, Debug)]
pub(crate) enum RequestArgument {
    /// Bytecode, of the argument `gremlin` of a request to run it.
    Bytecode(Bytecode),
    /// Anything else.
    Argument(ArgumentKind),
}

/// A request whose arguments are not checked.
#[derive(Clone, Debug)]
pub(crate) struct UncheckedRequest {
    pub(crate) id: Uuid,
    pub(crate) op: Box<str>,
    pub(crate) processor: Box<str>,
    pub(crate) arguments: Vec<(Box<str>, RequestArgument)>,
}

/// Whether `gremlin` is bytecode in a request for `op`.
pub(crate) fn takes_bytecode(op: &str) -> bool {
    op == "bytecode"
}

impl UncheckedRequest {
    /// The operation that it asks for.
    ///
    /// # Errors
    /// 499 for an unknown operation, processor or argument, one that is missing, and one of a wrong type.
    pub(crate) fn check(mut self) -> Result<Operation, RequestError> {
        self.check_names()?;
        Ok(match &*self.op {
            "bytecode" => {
                let bytecode = match self.take("gremlin") {
                    Some(RequestArgument::Bytecode(bytecode)) => bytecode,
                    _ => return Err(self.wrong("the argument `gremlin` is missing: bytecode")),
                };
                Operation::Bytecode { bytecode, options: self.options()? }
            }
            "eval" => Operation::Eval {
                gremlin: self.text("gremlin")?.ok_or_else(|| self.missing("gremlin", "a string"))?,
                language: self.text("language")?,
                bindings: self.bindings()?,
                options: self.options()?,
            },
            "authentication" => {
                Operation::Authentication { sasl: self.sasl()?, mechanism: self.text("saslMechanism")? }
            }
            _ => Operation::Close {
                session: self.session_id()?.ok_or_else(|| self.missing("session", "a UUID or a string"))?,
            },
        })
    }

    fn check_names(&self) -> Result<(), RequestError> {
        let (op, processor) = (&*self.op, &*self.processor);
        if !OPERATIONS.contains(&op) {
            return Err(self.wrong(format!(
                "there is no operation {}{}: {} expected",
                quoted(op),
                did_you_mean(op, OPERATIONS),
                OPERATIONS.join(", ")
            )));
        }
        if !PROCESSORS.contains(&processor) {
            return Err(self.wrong(format!(
                "there is no processor {}{}: an empty one, session or traversal expected",
                quoted(processor),
                did_you_mean(processor, PROCESSORS)
            )));
        }
        let is_here = match processor {
            "" => op != "bytecode" && op != "close",
            "traversal" => op != "eval" && op != "close",
            _ => true,
        };
        if !is_here {
            let name = if processor.is_empty() { "the processor without a name" } else { processor };
            return Err(self.wrong(format!("{name} has no operation `{op}`")));
        }
        for (at, (name, _)) in self.arguments.iter().enumerate() {
            if !USED.contains(&&**name) && !UNUSED.contains(&&**name) {
                let guess = did_you_mean(name, USED);
                return Err(self.wrong(format!("there is no argument {}{guess}", quoted(name))));
            }
            if self.arguments[..at].iter().any(|(earlier, _)| earlier == name) {
                return Err(self.wrong(format!("the argument {} is there twice", quoted(name))));
            }
        }
        Ok(())
    }

    fn options(&mut self) -> Result<QueryOptions, RequestError> {
        let timeout = self.number("evaluationTimeout", 0)?;
        let older_timeout = self.number("scriptEvaluationTimeout", 0)?;
        let batch_size = self.number("batchSize", 1)?;
        Ok(QueryOptions {
            aliases: self.aliases()?,
            evaluation_timeout_ms: timeout.or(older_timeout),
            batch_size: batch_size.map(|size| usize::try_from(size).unwrap_or(usize::MAX)),
            materialize_properties: self.materialize_properties()?,
            user_agent: self.text("userAgent")?,
            session: self.session()?,
            isolation: self.isolation()?,
            strict: self.truth("strict")?.unwrap_or(false),
            vertex_keys: self.truth("vertexKeys")?.unwrap_or(false),
        })
    }

    fn session(&mut self) -> Result<Option<Session>, RequestError> {
        let manages_transactions = self.truth("manageTransaction")?.unwrap_or(false);
        if &*self.processor != "session" {
            return Ok(None);
        }
        let id = self.session_id()?.ok_or_else(|| self.missing("session", "a UUID or a string"))?;
        Ok(Some(Session { id, manages_transactions }))
    }

    fn session_id(&mut self) -> Result<Option<Box<str>>, RequestError> {
        match self.argument("session")? {
            None => Ok(None),
            Some(ArgumentKind::Scalar(Value::String(id))) if id.len() > SESSION_BYTES_MAX => {
                let text = format!(
                    "the argument `session`: at most {SESSION_BYTES_MAX} bytes expected, found {}",
                    id.len()
                );
                Err(self.wrong(text))
            }
            Some(ArgumentKind::Scalar(Value::String(id))) if !id.is_empty() => Ok(Some(id)),
            Some(ArgumentKind::Scalar(Value::Uuid(id))) => Ok(Some(id.to_string().into())),
            Some(other) => Err(self.ill_typed("session", "a UUID or a string that is not empty", &other)),
        }
    }

    fn aliases(&mut self) -> Result<Vec<Alias>, RequestError> {
        let expected = "a map of strings";
        let Some(argument) = self.argument("aliases")? else { return Ok(Vec::new()) };
        let ArgumentKind::Map(entries) = argument else {
            return Err(self.ill_typed("aliases", expected, &argument));
        };
        let entry = |(alias, name)| match (alias, name) {
            (ArgumentKind::Scalar(Value::String(alias)), ArgumentKind::Scalar(Value::String(name))) => {
                Ok(Alias { alias, name })
            }
            (ArgumentKind::Scalar(Value::String(_)), other) | (other, _) => {
                Err(self.ill_typed("aliases", expected, &other))
            }
        };
        entries.into_iter().map(|(alias, name)| entry((alias.kind, name.kind))).collect()
    }

    fn bindings(&mut self) -> Result<Bindings, RequestError> {
        let mut bindings = Bindings::new();
        let expected = "a map with strings as keys";
        match self.argument("bindings")? {
            None => {}
            Some(ArgumentKind::Map(entries)) => {
                for (key, value) in entries {
                    let ArgumentKind::Scalar(Value::String(name)) = key.kind else {
                        return Err(self.ill_typed("bindings", expected, &key.kind));
                    };
                    bindings.bind_argument(name, value.kind);
                }
            }
            Some(other) => return Err(self.ill_typed("bindings", expected, &other)),
        }
        Ok(bindings)
    }

    fn materialize_properties(&mut self) -> Result<Option<MaterializeProperties>, RequestError> {
        let Some(name) = self.text("materializeProperties")? else { return Ok(None) };
        MaterializeProperties::from_name(&name).map(Some).ok_or_else(|| {
            let found = quoted(&name);
            self.wrong(format!("the argument `materializeProperties`: all or tokens expected, found {found}"))
        })
    }

    fn isolation(&mut self) -> Result<Option<Isolation>, RequestError> {
        let Some(name) = self.text("isolation")? else { return Ok(None) };
        let known =
            [Isolation::Snapshot, Isolation::Serializable].into_iter().find(|known| known.name() == &*name);
        known.map(Some).ok_or_else(|| {
            let found = quoted(&name);
            self.wrong(format!("the argument `isolation`: snapshot or serializable expected, found {found}"))
        })
    }

    /// What the mechanism sends: base64, or the bytes themselves.
    fn sasl(&mut self) -> Result<Vec<u8>, RequestError> {
        match self.argument("sasl")? {
            Some(ArgumentKind::Scalar(Value::String(text))) => STANDARD
                .decode(text.as_bytes())
                // What was found is a password.
                .map_err(|_| self.wrong("the argument `sasl`: base64 expected, found something else")),
            Some(ArgumentKind::Scalar(Value::Bytes(bytes))) => Ok(bytes.into_vec()),
            Some(_) => Err(self.wrong("the argument `sasl`: a string expected, found something else")),
            None => Err(self.missing("sasl", "a string in base64")),
        }
    }

    fn text(&mut self, name: &str) -> Result<Option<Box<str>>, RequestError> {
        match self.argument(name)? {
            None => Ok(None),
            Some(ArgumentKind::Scalar(Value::String(text))) => Ok(Some(text)),
            Some(other) => Err(self.ill_typed(name, "a string", &other)),
        }
    }

    fn truth(&mut self, name: &str) -> Result<Option<bool>, RequestError> {
        match self.argument(name)? {
            None => Ok(None),
            Some(ArgumentKind::Scalar(Value::Bool(truth))) => Ok(Some(truth)),
            Some(other) => Err(self.ill_typed(name, "true or false", &other)),
        }
    }

    fn number(&mut self, name: &str, least: u64) -> Result<Option<u64>, RequestError> {
        let Some(argument) = self.argument(name)? else { return Ok(None) };
        let number = match &argument {
            ArgumentKind::Scalar(value) => value.as_i64().and_then(|number| u64::try_from(number).ok()),
            _ => None,
        };
        match number.filter(|number| *number >= least) {
            Some(number) => Ok(Some(number)),
            None => Err(self.ill_typed(name, format_args!("an integer of at least {least}"), &argument)),
        }
    }

    /// Takes the argument `name`; a null counts as absent.
    fn argument(&mut self, name: &str) -> Result<Option<ArgumentKind>, RequestError> {
        match self.take(name) {
            None | Some(RequestArgument::Argument(ArgumentKind::Null)) => Ok(None),
            Some(RequestArgument::Argument(argument)) => Ok(Some(argument)),
            Some(RequestArgument::Bytecode(_)) => {
                Err(self.wrong(format!("the argument `{name}`: a value expected, found bytecode")))
            }
        }
    }

    fn take(&mut self, name: &str) -> Option<RequestArgument> {
        let at = self.arguments.iter().position(|(known, _)| **known == *name)?;
        Some(self.arguments.swap_remove(at).1)
    }

    fn missing(&self, name: &str, expected: &str) -> RequestError {
        self.wrong(format!("the argument `{name}` is missing: {expected} expected"))
    }

    fn ill_typed(&self, name: &str, expected: impl Display, found: &ArgumentKind) -> RequestError {
        let found = match found {
            ArgumentKind::Null => "null".to_owned(),
            ArgumentKind::Scalar(Value::String(_)) => "a string".to_owned(),
            ArgumentKind::Scalar(value) if value.as_f64().is_some() => quoted(&value.to_string()),
            ArgumentKind::Scalar(value) => format!("a value of type {}", value.value_type()),
            ArgumentKind::List(_) => "a list".to_owned(),
            ArgumentKind::Set(_) => "a set".to_owned(),
            ArgumentKind::Map(_) => "a map".to_owned(),
            _ => "a part of a query".to_owned(),
        };
        self.wrong(format!("the argument `{name}`: {expected} expected, found {found}"))
    }

    fn wrong(&self, message: impl Into<String>) -> RequestError {
        RequestError::arguments(self.id, message)
    }
}
