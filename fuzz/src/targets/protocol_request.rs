//! Requests of Gremlin drivers, in both formats: bytes are a request or an error with the status to answer; a request is
//! read back as it was written.

use crate::target::{Memory, Target};
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::{Alias, Operation, QueryOptions, Request, Session};
use evergraph_protocol::request::read::RequestLimits;
use evergraph_protocol::response::status::Status;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::call::Call;
use uuid::Uuid;

/// The target. A digit and a comma become an argument.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 1024 } };

fn seeds() -> Vec<Vec<u8>> {
    let options = QueryOptions {
        aliases: vec![Alias { alias: "g".into(), name: "social".into() }],
        evaluation_timeout_ms: Some(500),
        batch_size: Some(64),
        session: Some(Session { id: "a session".into(), manages_transactions: true }),
        ..QueryOptions::default()
    };
    let mut bindings = Bindings::new();
    bindings.bind("age", 30_i32);
    let steps = vec![Call::new("V", []), Call::new("count", [])];
    let eval =
        Operation::Eval { gremlin: "g.V()".into(), language: None, bindings, options: options.clone() };
    let operations = [
        Operation::Bytecode { bytecode: Bytecode::new(Vec::new(), steps), options },
        eval,
        Operation::Authentication { sasl: b"\0user\0password".to_vec(), mechanism: Some("PLAIN".into()) },
        Operation::Close { session: "a session".into() },
    ];
    let message = |operation: &Operation, format: Format| {
        let request = Request { id: Uuid::from_u128(7), operation: operation.clone() };
        request.to_message(format).expect("a driver could send it")
    };
    let both = |operation| Format::ALL.iter().map(move |format| message(operation, *format));
    operations.iter().flat_map(both).collect()
}

fn promise(input: &[u8]) {
    let limits = RequestLimits::default();
    let (format, request) = match Request::read_message(input, &limits) {
        Ok(found) => found,
        Err(error) => {
            assert!(!error.message.is_empty());
            let answers =
                [Status::MalformedRequest, Status::InvalidRequestArguments, Status::ServerErrorEvaluation];
            assert!(answers.contains(&error.status), "{error:?}");
            assert!(error.status == Status::MalformedRequest || error.id.is_some(), "{error:?}");
            return;
        }
    };
    // A duration of months and seconds may be an argument in JSON, and cannot be written.
    if let Ok(message) = request.to_message(format) {
        assert_eq!(Request::read_message(&message, &limits), Ok((format, request)));
    }
}
