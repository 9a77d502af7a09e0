//! Writes requests, in either format, for clients.

use evergraph_graph::transaction::Isolation;
use evergraph_graph::value::Value;
use evergraph_query::gremlin::bindings::{Binding, Bindings};
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::call::{Argument, ArgumentKind};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::EncodeError;
use crate::format::Format;
use crate::graph_binary::argument_write as binary;
use crate::graph_binary::value_write::{write_count, write_string, write_value};
use crate::graphson::argument_write as json;
use crate::graphson::result_write::JsonWriter;
use crate::request::operation::{Alias, Operation, QueryOptions, Request};
use crate::request::read::VERSION;

/// The value of an argument that is written.
enum Content<'a> {
    Bytecode(&'a Bytecode),
    Argument(ArgumentKind),
}

impl Request {
    /// The request as a binary message: a MIME type and the request in that format.
    ///
    /// # Errors
    /// If the format has no form for an argument, such as a variable without a value.
    pub fn to_message(&self, format: Format) -> Result<Vec<u8>, EncodeError> {
        let mut message = format.message_head();
        message.append(&mut self.to_body(format)?);
        Ok(message)
    }

    /// The request without a MIME type; in GraphSON, a text message.
    ///
    /// # Errors
    /// As [`Request::to_message`].
    pub fn to_body(&self, format: Format) -> Result<Vec<u8>, EncodeError> {
        let arguments = self.operation.arguments()?;
        match format {
            Format::GraphBinary => {
                let mut out = vec![VERSION];
                out.extend(self.id.as_bytes());
                write_string(&mut out, self.operation.name())?;
                write_string(&mut out, self.operation.processor())?;
                write_count(&mut out, arguments.len())?;
                for (name, content) in &arguments {
                    write_value(&mut out, &Value::from(*name))?;
                    match content {
                        Content::Bytecode(bytecode) => binary::write_bytecode(&mut out, bytecode)?,
                        Content::Argument(argument) => binary::write_argument(&mut out, argument)?,
                    }
                }
                Ok(out)
            }
            Format::GraphSon => {
                let mut writer = JsonWriter::default();
                writer.json.push_str("{\"requestId\":");
                writer.plain_value(&Value::Uuid(self.id))?;
                for (key, text) in [("op", self.operation.name()), ("processor", self.operation.processor())]
                {
                    writer.key(key);
                    writer.plain_text(text);
                }
                writer.key("args");
                write_members(&mut writer, &arguments)?;
                writer.json.push('}');
                Ok(writer.json.into_bytes())
            }
        }
    }

    /// The arguments as the members of one object: the body of a POST, which [`Request::read_http`] reads. Its id is left out.
    ///
    /// # Errors
    /// As [`Request::to_message`].
    pub fn to_http_body(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = JsonWriter::default();
        write_members(&mut writer, &self.operation.arguments()?)?;
        Ok(writer.json.into_bytes())
    }
}

fn write_members(
    writer: &mut JsonWriter,
    arguments: &[(&'static str, Content<'_>)],
) -> Result<(), EncodeError> {
    writer.json.push('{');
    for (name, content) in arguments {
        writer.key(name);
        match content {
            Content::Bytecode(bytecode) => json::write_bytecode(writer, bytecode)?,
            Content::Argument(argument) => json::write_argument(writer, argument)?,
        }
    }
    writer.json.push('}');
    Ok(())
}

impl Operation {
    fn arguments(&self) -> Result<Vec<(&'static str, Content<'_>)>, EncodeError> {
        let mut arguments = Vec::new();
        match self {
            Self::Bytecode { bytecode, options } => {
                arguments.push(("gremlin", Content::Bytecode(bytecode)));
                options.append_to(&mut arguments);
            }
            Self::Eval { gremlin, language, bindings, options } => {
                push(&mut arguments, "gremlin", Some(&**gremlin));
                push(&mut arguments, "language", language.as_deref());
                if let Some(bindings) = map_of(bindings)? {
                    arguments.push(("bindings", Content::Argument(bindings)));
                }
                options.append_to(&mut arguments);
            }
            Self::Authentication { sasl, mechanism } => {
                push(&mut arguments, "sasl", Some(STANDARD.encode(sasl)));
                push(&mut arguments, "saslMechanism", mechanism.as_deref());
            }
            Self::Close { session } => push(&mut arguments, "session", Some(&**session)),
        }
        Ok(arguments)
    }
}

impl QueryOptions {
    fn append_to(&self, arguments: &mut Vec<(&'static str, Content<'_>)>) {
        if !self.aliases.is_empty() {
            let text = |text: &str| Argument::from(ArgumentKind::from(Value::from(text)));
            let entries = self.aliases.iter().map(|Alias { alias, name }| (text(alias), text(name)));
            arguments.push(("aliases", Content::Argument(ArgumentKind::Map(entries.collect()))));
        }
        let timeout = self.evaluation_timeout_ms.map(|timeout| i64::try_from(timeout).unwrap_or(i64::MAX));
        push(arguments, "evaluationTimeout", timeout);
        push(arguments, "batchSize", self.batch_size.map(|size| i32::try_from(size).unwrap_or(i32::MAX)));
        push(arguments, "materializeProperties", self.materialize_properties.map(|parts| parts.name()));
        push(arguments, "userAgent", self.user_agent.as_deref());
        push(arguments, "isolation", self.isolation.map(Isolation::name));
        push(arguments, "strict", self.strict.then_some(true));
        push(arguments, "vertexKeys", self.vertex_keys.then_some(true));
        if let Some(session) = &self.session {
            push(arguments, "session", Some(&*session.id));
            if session.manages_transactions {
                push(arguments, "manageTransaction", Some(true));
            }
        }
    }
}

fn push<'a>(
    arguments: &mut Vec<(&'static str, Content<'a>)>,
    name: &'static str,
    value: Option<impl Into<Value>>,
) {
    arguments.extend(value.map(|value| (name, Content::Argument(ArgumentKind::from(value.into())))));
}

/// The variables as a map; `None` if there are none.
fn map_of(bindings: &Bindings) -> Result<Option<ArgumentKind>, EncodeError> {
    let mut entries = Vec::new();
    for name in bindings.names() {
        let Some(Binding::Value(value)) = bindings.get(name) else {
            return Err(EncodeError::Unsupported { reason: format!("the variable `{name}` has no value") });
        };
        entries.push((ArgumentKind::from(Value::from(name)).into(), value.clone().into()));
    }
    Ok((!entries.is_empty()).then_some(ArgumentKind::Map(entries)))
}
