//! Requests by HTTP, in plain JSON and as parameters of an URL: bytes are a request or an error with the status to answer.

use crate::target::{Memory, Target};
use evergraph_protocol::request::operation::{Operation, Request};
use evergraph_protocol::request::read::RequestLimits;
use evergraph_protocol::response::status::Status;
use uuid::Uuid;

/// The target. A digit and a comma become an argument.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 1024 } };

fn seeds() -> Vec<Vec<u8>> {
    [
        r#"{"gremlin": "g.V().has('at', n).count()", "bindings": {"n": 2, "m": [1, {"k": null}], "x": 0.5},
            "aliases": {"g": "social"}, "language": "gremlin-groovy", "requestId": "41d2e28a-20a4-4ab0-b379-d810dede3786"}"#,
        r#"{"requestId": {"@type": "g:UUID", "@value": "41d2e28a-20a4-4ab0-b379-d810dede3786"}, "op": "eval",
            "gremlin": "g.inject(a)", "bindings": {"@type": "g:Map", "@value": ["a", {"@type": "g:Int64", "@value": 7}]},
            "evaluationTimeout": 500, "batchSize": 64, "materializeProperties": "tokens", "userAgent": "a client"}"#,
        "gremlin=g.V(a)&bindings.a=1&aliases.g=g_social&language=gremlin&evaluationTimeout=500",
        "requestId=41d2e28a-20a4-4ab0-b379-d810dede3786&gremlin=g.V()&gremlin=g.E()&batchSize=-1",
    ]
    .map(Vec::from)
    .to_vec()
}

fn promise(input: &[u8]) {
    let new_id = Uuid::from_u128(7);
    let text = String::from_utf8_lossy(input);
    let parameters = text.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    for read in [
        Request::read_http(input, new_id, &RequestLimits::default()),
        Request::from_parameters(parameters, new_id),
    ] {
        match read {
            Ok(request) => {
                assert!(
                    matches!(&request.operation, Operation::Eval { options, .. } if options.session.is_none())
                );
                assert_eq!(request.clone().check_http(), Ok(request));
            }
            Err(error) => {
                assert!(!error.message.is_empty());
                let answers = [
                    Status::MalformedRequest,
                    Status::InvalidRequestArguments,
                    Status::ServerErrorEvaluation,
                ];
                assert!(answers.contains(&error.status), "{error:?}");
            }
        }
    }
}
