//! Names that the graph doesn't have: a note beside the results, and an error in a query that is strict.

use evergraph::gremlin::graph::QueryTarget;
use evergraph::gremlin::note::Notes;
use evergraph::gremlin::query::Query;
use evergraph::protocol::graphson::bytecode_read;
use evergraph::query::gremlin::parser::ParseLimits;
use evergraph::{Database, ErrorKind, IndexOptions, ReadByName as _};

fn accounts() -> Database {
    let db = crate::database();
    db.gremlin("g.addV('Account').property('name', 'a').as('a').addV('Person').property('born', 1).addE('OWNS').to('a')")
        .run()
        .unwrap();
    db
}

/// What is noted of `query`.
fn noted<G: QueryTarget>(query: Query<'_, G>) -> Vec<String> {
    let notes = Notes::default();
    query.notes(&notes).run().unwrap();
    notes.take().iter().map(ToString::to_string).collect()
}

#[test]
fn a_misspelt_name_has_a_note_and_is_an_error_where_the_query_is_strict() {
    let db = accounts();
    for (text, said) in [
        (
            "g.V().hasLabel('Acount')",
            "line 1, column 16: no label is called `Acount`; did you mean `Account`?",
        ),
        ("g.V().out('OWNZ')", "line 1, column 11: no edge type is called `OWNZ`; did you mean `OWNS`?"),
        (
            "g.E().has('Person', 'x')",
            "line 1, column 11: no property is called `Person`; the graph has `name`, `born`",
        ),
        (
            "g.V().has('Account',\n 'naem', 'a')",
            "line 2, column 2: no property is called `naem`; did you mean `name`?",
        ),
        (
            "g.V().values('naem').fold()",
            "line 1, column 14: no property is called `naem`; did you mean `name`?",
        ),
    ] {
        assert_eq!(noted(db.gremlin(text)), [said], "{text}");
        let error = db.gremlin(text).strict(true).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{text}");
        assert!(error.to_string().starts_with(said) && error.to_string().ends_with('^'), "{text}: {error}");
        for begin in [
            "g.with('strict')",
            "g.with('strict', true)",
            "g.withStrategies(new OptionsStrategy(strict: true))",
        ] {
            let strict = text.replacen('g', begin, 1);
            assert_eq!(db.gremlin(&strict).run().unwrap_err().kind(), ErrorKind::Invalid, "{strict}");
        }
        let lenient = text.replacen('g', "g.with('strict', false)", 1);
        assert_eq!(db.gremlin(&lenient).run().map_err(|error| error.to_string()), Ok(()), "{lenient}");
    }
    let explained = db.gremlin("g.V().hasLabel('Acount')").explain().unwrap();
    let said = "line 1, column 16: no label is called `Acount`; did you mean `Account`?";
    assert_eq!(explained.notes, [said]);
    assert!(explained.to_string().ends_with(&format!("\nnote: {said}\n")), "{explained}");
    assert_eq!(db.gremlin("g.V().hasLabel('Acount')").profile().unwrap().notes, [said]);
}

#[test]
fn bytecode_has_notes_with_the_instruction() {
    let db = accounts();
    let json = br#"{"@type": "g:Bytecode", "@value": {"step": [["V"], ["hasLabel", "Acount"]]}}"#;
    let bytecode = bytecode_read::parse(json, &ParseLimits::default()).unwrap();
    let said = "step 2 (`hasLabel`), argument 1: no label is called `Acount`; did you mean `Account`?";
    assert_eq!(noted(db.ask(&bytecode)), [said]);
    assert_eq!(db.ask(&bytecode).strict(true).run().unwrap_err().to_string(), said);
}

#[test]
fn names_of_the_query_its_transaction_and_the_schema_are_known() {
    let db = accounts();
    db.create_index(&IndexOptions::on_label("Later", "key")).unwrap();
    for text in [
        "g.V().hasLabel('Account').in('OWNS').values('born')",
        "g.V().hasLabel('Later').values('key')",
        "g.addV('New').property('size', 1).V().hasLabel('New').has('size', 1)",
        "g.V().project('n').by('name').order().by('n')",
    ] {
        assert_eq!(noted(db.gremlin(text).strict(true)), Vec::<String>::new(), "{text}");
    }
    let mut transaction = db.begin();
    assert_eq!(noted(transaction.gremlin("g.V().hasLabel('Mine')")).len(), 1);
    transaction.add_vertex("Mine", &[("mark", 1.into())]).unwrap();
    assert_eq!(noted(transaction.gremlin("g.V().hasLabel('Mine').values('mark')")), Vec::<String>::new());
    assert_eq!(noted(db.snapshot().gremlin("g.V().hasLabel('Mine')")).len(), 1, "nobody else sees it");
    transaction.gremlin("g.V().hasLabel('Mine')").strict(true).run().unwrap();
}

#[test]
fn an_empty_graph_has_one_note_and_a_plain_query_none() {
    let db = crate::database();
    let said = "line 1, column 16: no label is called `Person`: the graph is empty";
    assert_eq!(noted(db.gremlin("g.V().hasLabel('Person').out('KNOWS').has('name', 'x')")), [said]);
    assert_eq!(noted(db.gremlin("g.V().count()")), Vec::<String>::new());
    assert_eq!(noted(db.gremlin("g.addV('Person').property('name', 'x')")), Vec::<String>::new());
}
