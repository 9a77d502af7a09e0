//! Functions of texts, lists, numbers and dates, with what they take from labels, traversals and properties.

use crate::modern::modern;
use crate::{answers, gremlin};

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(answers(&modern(), text), expected, "{text}");
}

#[track_caller]
fn check_refused(text: &str, message: &str) {
    let error = gremlin(&modern(), text, 1024).map(|items| items.len()).unwrap_err().to_string();
    assert!(error.contains(message), "{text}: {error}");
}

#[test]
fn texts_are_made_of_properties_labels_and_traversals() {
    check("g.V().format('%{name} is %{age}')", &["josh is 32", "marko is 29", "peter is 35", "vadas is 27"]);
    check(
        "g.V().hasLabel('software').format('%{name}: %{_}, %{_}').by(in().count()).by('lang')",
        &["lop: 3, java", "ripple: 1, java"],
    );
    check(
        "g.V().as('a').out('knows').values('name').concat(' of ', null).concat(select('a').values('name'))",
        &["josh of marko", "vadas of marko"],
    );
    // A child that begins with inject() has the traverser itself first.
    check("g.inject('a', 'b').concat(__.inject('c'))", &["aa", "bb"]);
    check(
        "g.V().values('name').order().fold().toUpper(Scope.local).conjoin('-')",
        &["JOSH-LOP-MARKO-PETER-RIPPLE-VADAS"],
    );
    check_refused("g.inject([1]).trim()", "The trim() step can only take string as argument");
}

#[test]
fn formulas_see_labels_and_modulators_by_turns() {
    check("g.V().as('a').out('knows').as('b').math('a + b').by('age')", &["56.0", "61.0"]);
    check(
        "g.V().as('a').out('created').as('b').math('b + a').by(__.in('created').count()).by('age')",
        &["32.0", "33.0", "35.0", "38.0"],
    );
    check_refused(
        "g.V().math('_ + 1').by('name')",
        "The variable _ for math() step must resolve to a Number",
    );
    check_refused("g.V().math('1 +')", "expects a number or a name");
}

#[test]
fn lists_meet_what_a_traversal_gives_for_each() {
    let names = "g.V().hasLabel('person').order().by('name').map(out().values('name').order().fold())";
    check(&format!("{names}.intersect(__.constant('lop').fold()).count(Scope.local)"), &["1", "1", "1", "0"]);
    check("g.inject([1, 2], [2, 3]).any(gt(2))", &["[2, 3]"]);
    check("g.inject([1, 2], [2, 3]).none(gt(2))", &["[1, 2]"]);
    check("g.inject([1, 2], [2, 3], 5).all(gt(1))", &["[2, 3]"]);
    check_refused("g.V().fold().combine(__.V())", "combine step must yield an iterable type, encountered");
}

#[test]
fn types_and_patterns_filter() {
    check("g.V().has('name', TextP.regex('^.o')).values('name')", &["josh", "lop"]);
    check("g.V().has('name', TextP.notRegex('[aeo]')).values('name')", &[]);
    check("g.V().hasLabel('software').values().is(P.typeOf(GType.STRING)).count()", &["4"]);
    check("g.V().values('age').is(P.typeOf('Long')).count()", &["0"]);
    check_refused("g.V().has('name', TextP.regex('('))", "unclosed group");
    check_refused("g.V().values('age').is(P.typeOf('nothing'))", "no type is called `nothing`");
}

#[test]
fn chance_keeps_as_many_as_were_asked_for() {
    check("g.V().coin(1).count()", &["6"]);
    check("g.V().coin(0.0).count()", &["0"]);
    check("g.E().sample(2).by('weight').count()", &["2"]);
    check("g.V().local(outE().sample(1).by('weight')).count()", &["3"]);
    // Without an age nobody has a weight.
    check("g.V().sample(10).by('age').count()", &["4"]);
    check_refused("g.V().sample(1).by('age').by(T.id)", "Sample step can only have one by modulator");
}

#[test]
fn a_tree_has_what_paths_share_once() {
    check("g.V().has('name', 'marko').out().out().tree().by('name').count(Scope.local)", &["1"]);
    check("g.V().out().tree('a').select('a').count(Scope.local)", &["3"; 6]);
    check_refused("g.V().hasLabel('software').fail('no software')", "no software");
    check("g.V().hasLabel('hardware').fail('no hardware')", &[]);
}
