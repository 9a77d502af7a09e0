//! Requests: every operation there and back, and wrong ones with the status that answers them.

use evergraph_graph::error::ErrorKind;
use evergraph_graph::transaction::Isolation;
use evergraph_graph::value::Value;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::error::RequestError;
use evergraph_protocol::request::operation::{
    Alias, MaterializeProperties, Operation, QueryOptions, Request, Session,
};
use evergraph_protocol::request::read::RequestLimits;
use evergraph_protocol::response::status::Status;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::call::{ArgumentKind, Call};
use uuid::Uuid;

const ID: &str = "41d2e28a-20a4-4ab0-b379-d810dede3786";

fn options() -> QueryOptions {
    QueryOptions {
        aliases: vec![Alias { alias: "g".into(), name: "social".into() }],
        evaluation_timeout_ms: Some(1_500),
        batch_size: Some(10),
        materialize_properties: Some(MaterializeProperties::Tokens),
        user_agent: Some("a test".into()),
        session: None,
        isolation: Some(Isolation::Serializable),
        strict: true,
        vertex_keys: true,
    }
}

fn operations() -> Vec<Operation> {
    let steps = vec![Call::new("V", []), Call::new("has", ["name".into(), 1_i64.into()].map(value))];
    let session = Some(Session { id: ID.into(), manages_transactions: true });
    let commit = vec![Call::new("tx", []), Call::new("commit", [])];
    let mut bindings = Bindings::new();
    bindings.bind("limit", 30_i32);
    bindings.bind_argument("nothing", ArgumentKind::Null);
    vec![
        Operation::Bytecode { bytecode: Bytecode::new(Vec::new(), steps), options: options() },
        Operation::Bytecode {
            bytecode: Bytecode::new(commit, Vec::new()),
            options: QueryOptions { session, ..QueryOptions::default() },
        },
        Operation::Eval {
            gremlin: "g.V().has('age', gt(limit))".into(),
            language: Some("gremlin-lang".into()),
            bindings,
            options: options(),
        },
        Operation::Authentication { sasl: b"\0stephen\0secret".to_vec(), mechanism: Some("PLAIN".into()) },
        Operation::Close { session: ID.into() },
    ]
}

fn value(value: Value) -> ArgumentKind {
    value.into()
}

#[test]
fn every_operation_is_read_back() {
    for operation in operations() {
        for format in Format::ALL {
            let request = Request { id: ID.parse().unwrap(), operation: operation.clone() };
            let message = request.to_message(*format).unwrap();
            let found = Request::read_message(&message, &RequestLimits::default());
            assert_eq!(found, Ok((*format, request.clone())));
            let body = request.to_body(*format).unwrap();
            for cut in 0..body.len() {
                let error = Request::read(*format, &body[..cut], &RequestLimits::default()).unwrap_err();
                assert_eq!(error.status, Status::MalformedRequest, "{format:?} {cut}: {error}");
            }
            for at in 0..body.len() {
                for change in [1, 0x20, 0x80, 0xff] {
                    let mut changed = body.clone();
                    changed[at] ^= change;
                    if let Err(error) = Request::read(*format, &changed, &RequestLimits::default()) {
                        assert!(!error.message.is_empty());
                    }
                }
            }
        }
    }
}

fn refused(json: &str) -> RequestError {
    Request::read(Format::GraphSon, json.as_bytes(), &RequestLimits::default()).expect_err(json)
}

fn request(op: &str, processor: &str, args: &str) -> String {
    format!(r#"{{"args": {args}, "requestId": "{ID}", "op": "{op}", "processor": "{processor}"}}"#)
}

#[test]
fn arguments_may_precede_the_operation_and_have_the_type_of_a_map() {
    let id = format!(r#"{{"@type": "g:UUID", "@value": "{ID}"}}"#);
    let json = format!(
        r#"{{"args": {{"@type": "g:Map", "@value": ["gremlin", {{"@type": "g:Bytecode", "@value": {{"step": [["V"]]}}}},
            "aliases", {{"@type": "g:Map", "@value": ["g", "g"]}}]}}, "processor": "traversal", "op": "bytecode",
            "requestId": {id}}}"#
    );
    let request = Request::read(Format::GraphSon, json.as_bytes(), &RequestLimits::default()).unwrap();
    assert_eq!(request.id, ID.parse::<Uuid>().unwrap());
    let Operation::Bytecode { bytecode, options } = request.operation else { panic!("bytecode") };
    assert_eq!(bytecode.query().to_string(), "g.V()");
    assert_eq!(options.aliases, [Alias { alias: "g".into(), name: "g".into() }]);
}

/// JavaScript's driver writes what it does not know as null.
#[test]
fn a_null_argument_counts_as_absent() {
    let json = request(
        "eval",
        "",
        r#"{"gremlin": "g.V()", "bindings": null, "language": "gremlin-groovy", "accept": "application/json",
            "aliases": {"g": "g"}, "batchSize": null}"#,
    );
    let request = Request::read(Format::GraphSon, json.as_bytes(), &RequestLimits::default()).unwrap();
    let Operation::Eval { bindings, options, .. } = request.operation else { panic!("eval") };
    assert_eq!((bindings, options.batch_size), (Bindings::new(), None));
}

#[test]
fn wrong_arguments_are_answered_with_499_and_say_what_was_expected() {
    for (json, message) in [
        (
            request("evl", "", "{}"),
            "there is no operation `evl`; did you mean `eval`?: authentication, bytecode, close, eval expected",
        ),
        (
            request("eval", "sesion", "{}"),
            "there is no processor `sesion`; did you mean `session`?: an empty one, session or traversal expected",
        ),
        (request("eval", "traversal", "{}"), "traversal has no operation `eval`"),
        (request("bytecode", "", "{}"), "the processor without a name has no operation `bytecode`"),
        (request("eval", "", "{}"), "the argument `gremlin` is missing: a string expected"),
        (request("eval", "", r#"{"gremlin": 7}"#), "the argument `gremlin`: a string expected, found `7`"),
        (
            request("eval", "", r#"{"gremlin": "g.V()", "batchsize": 1}"#),
            "there is no argument `batchsize`; did you mean `batchSize`?",
        ),
        (
            request("eval", "", r#"{"gremlin": "g.V()", "gremlin": "g.E()"}"#),
            "the argument `gremlin` is there twice",
        ),
        (
            request("eval", "", r#"{"gremlin": "g", "isolation": "loose"}"#),
            "the argument `isolation`: snapshot or serializable expected, found `loose`",
        ),
        (
            request("eval", "", r#"{"gremlin": "g", "strict": 1}"#),
            "the argument `strict`: true or false expected, found `1`",
        ),
        (
            request("eval", "", r#"{"gremlin": "g", "batchSize": 0}"#),
            "the argument `batchSize`: an integer of at least 1 expected, found `0`",
        ),
        (
            request("eval", "", r#"{"gremlin": "g", "evaluationTimeout": -1}"#),
            "the argument `evaluationTimeout`: an integer of at least 0 expected, found `-1`",
        ),
        (
            request("eval", "", r#"{"gremlin": "g", "evaluationTimeout": "1"}"#),
            "the argument `evaluationTimeout`: an integer of at least 0 expected, found a string",
        ),
        (
            request("eval", "", r#"{"gremlin": "g", "aliases": ["g"]}"#),
            "the argument `aliases`: a map of strings expected, found a list",
        ),
        (
            request("eval", "", r#"{"gremlin": "g", "aliases": {"g": null}}"#),
            "the argument `aliases`: a map of strings expected, found null",
        ),
        (
            request("eval", "", r#"{"gremlin": "g", "materializeProperties": "some"}"#),
            "the argument `materializeProperties`: all or tokens expected, found `some`",
        ),
        (
            request("eval", "", r#"{"gremlin": "g", "bindings": {"@type": "g:Map", "@value": [1, 2]}}"#),
            "the argument `bindings`: a map with strings as keys expected, found `1`",
        ),
        (
            request("eval", "session", r#"{"gremlin": "g"}"#),
            "the argument `session` is missing: a UUID or a string expected",
        ),
        (
            request("eval", "session", r#"{"gremlin": "g", "session": ""}"#),
            "the argument `session`: a UUID or a string that is not empty expected, found a string",
        ),
        (
            request("eval", "session", r#"{"gremlin": "g", "session": "a", "manageTransaction": 1}"#),
            "the argument `manageTransaction`: true or false expected, found `1`",
        ),
        (request("authentication", "", "{}"), "the argument `sasl` is missing: a string in base64 expected"),
        // A password is in none of these.
        (
            request("authentication", "", r#"{"sasl": "secret!"}"#),
            "the argument `sasl`: base64 expected, found something else",
        ),
        (
            request("authentication", "", r#"{"sasl": 1234}"#),
            "the argument `sasl`: a string expected, found something else",
        ),
        (request("close", "", "{}"), "the processor without a name has no operation `close`"),
    ] {
        let error = refused(&json);
        assert_eq!(error.message, message, "{json}");
        assert_eq!((error.status, error.id), (Status::InvalidRequestArguments, ID.parse().ok()), "{json}");
    }
}

#[test]
fn malformed_requests_are_answered_with_498_and_name_the_byte() {
    for (json, message) in [
        ("", "byte 0: expected an object, found the end"),
        ("{}", "byte 0: the request has no `requestId`"),
        (r#"{"requestId": "7"}"#, "byte 14: a UUID expected, found `7`"),
        (
            r#"{"requestId": {"@type": "g:Int32", "@value": 7}}"#,
            "byte 45: a UUID expected, found the type `g:Int32`",
        ),
        (r#"{"id": 7}"#, "byte 7: `id` is not part of a request"),
    ] {
        let error = refused(json);
        assert_eq!(
            (&*error.message, error.status, error.id),
            (message, Status::MalformedRequest, None),
            "{json}"
        );
    }
    let json = request("bytecode", "traversal", r#"{"gremlin": "g.V()"}"#);
    let error = refused(&json);
    assert_eq!(error.message, "byte 21: bytecode expected, @type g:Bytecode");
    assert_eq!((error.status, error.id), (Status::MalformedRequest, ID.parse().ok()));
    assert_eq!(refused(&request("eval", "", "[]")).message, "byte 9: expected an object, found `[`");
}

#[test]
fn bytecode_that_no_query_can_contain_is_answered_with_597_and_names_the_instruction() {
    let lambda = r#"{"gremlin": {"@type": "g:Bytecode", "@value": {"step": [["map", {"@type": "g:Lambda", "@value": {}}]]}}}"#;
    let error = refused(&request("bytecode", "traversal", lambda));
    let message = "step 1 (`map`), argument 1: lambdas are not supported: write the function in steps";
    assert_eq!((&*error.message, error.status), (message, Status::ServerErrorEvaluation));
}

#[test]
fn limits_of_size_depth_and_number_are_errors_of_their_own_kind() {
    let request = |argument: ArgumentKind| Request {
        id: Uuid::from_u128(7),
        operation: Operation::Bytecode {
            bytecode: Bytecode::new(Vec::new(), vec![Call::new("inject", [argument])]),
            options: QueryOptions::default(),
        },
    };
    let list = |count: usize| ArgumentKind::List(vec![ArgumentKind::Null.into(); count]);
    for format in Format::ALL {
        let body = request(list(100)).to_body(*format).unwrap();
        let read = |limits: RequestLimits| Request::read(*format, &body, &limits);
        assert!(read(RequestLimits::default()).is_ok());
        let few = RequestLimits { bytes_max: 10, ..RequestLimits::default() };
        let error = read(few).unwrap_err();
        assert_eq!((error.kind, error.status), (ErrorKind::Limit, Status::MalformedRequest));
        assert!(error.message.ends_with("bytes is above the limit of 10"), "{error}");
        let few = RequestLimits { values_max: 100, ..RequestLimits::default() };
        let error = read(few).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Limit);
        assert!(error.message.contains("more than 100 arguments, with those inside others"), "{error}");
        let shallow = RequestLimits { depth_max: 1, ..RequestLimits::default() };
        let error = read(shallow).unwrap_err();
        assert_eq!(error.message, "step 1 (`inject`), argument 1: nested more than 1 deep");
    }
}
