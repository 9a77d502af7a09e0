//! Limits: a query of any steps, under small limits, ends with results or an error, in its time and within its memory.
//!
//! An input that begins with `g.` is the text of a query. Any other chooses steps from a grammar, a byte a choice: so the
//! fuzzer reaches queries that run, and not texts that don't parse.

use crate::target::{Memory, Target};
use evergraph::gremlin::query::Limits;
use evergraph::{Database, Item, Value};
use evergraph_graph::value::collection::List;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// The target. A query may hold its limit; a step may make one more batch, a longer list or a copy before it is counted,
/// and what lies on the heap is rounded up: the slack says by how much.
pub const TARGET: Target =
    Target { seeds, promise, memory: Memory { fixed: MEMORY_BYTES + MEMORY_SLACK_BYTES, per_byte: 1024 } };

/// What a query may hold.
const MEMORY_BYTES: usize = 8 << 20;
/// What the process may hold beside that.
const MEMORY_SLACK_BYTES: usize = 24 << 20;
/// How long a query may take.
const TIMEOUT: Duration = Duration::from_millis(100);
/// It ends within twice its time, and this: the machine may be busy, and one step must come to the end of what it does.
const TIME_SLACK: Duration = Duration::from_secs(4);
/// The stack that it has: as much as a thread has if nobody says more.
const STACK_BYTES: usize = 2 << 20;
/// Results above this are not ordered.
const USED_BYTES_MAX: usize = 1 << 18;
/// Steps of a query, those within others included.
const STEPS_MAX: usize = 24;

/// What a traverser is at, so that a step is chosen which has something to do there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Any,
    Vertex,
    Edge,
    Number,
    Text,
    List,
    Map,
}

use At::{Any, Edge, List as Lists, Map, Number, Text, Vertex};

/// What a query begins with, and what it is at then. `#` is a number.
const SOURCES: [(&str, At); 15] = [
    ("g.V()", Vertex),
    ("g.E()", Edge),
    ("g.V(1)", Vertex),
    ("g.inject(#)", Number),
    ("g.inject('a')", Text),
    ("g.inject('aaaaaaaa', 'b')", Text),
    ("g.inject([1, 2, 3])", Lists),
    ("g.inject(1..1000)", Lists),
    ("g.inject(1..1000).unfold()", Number),
    ("g.inject([a: 1, b: [2, 'c']])", Map),
    ("g.withSack(1).V()", Vertex),
    ("g.withSack([1]).inject(#)", Number),
    ("g.withSideEffect('x', [], addAll).V()", Vertex),
    ("g.withSideEffect('x', 1, mult).inject(#)", Number),
    ("g.withPath().V()", Vertex),
];

/// Steps: at what they take traversers, and at what they leave them, `Any` for the same. `@` is a traversal, `&` one that ends
/// where it began, `!` one that ends at a list, `#` a number, `$` a text, `~` a label.
const STEPS: [(At, &str, At); 124] = [
    (Vertex, "out()", Vertex),
    (Vertex, "both()", Vertex),
    (Vertex, "both()", Vertex),
    (Vertex, "outE()", Edge),
    (Vertex, "bothE()", Edge),
    (Edge, "inV()", Vertex),
    (Edge, "bothV()", Vertex),
    (Vertex, "V()", Vertex),
    (Any, "V()", Vertex),
    (Any, "E()", Edge),
    (Vertex, "id()", Number),
    (Vertex, "values('name')", Text),
    (Vertex, "values('n')", Number),
    (Vertex, "values('list')", Lists),
    (Vertex, "properties()", Any),
    (Vertex, "valueMap()", Map),
    (Vertex, "elementMap()", Map),
    (Edge, "elementMap()", Map),
    (Any, "fold()", Lists),
    (Any, "fold()", Lists),
    (Lists, "unfold()", Number),
    (Lists, "unfold()", Any),
    (Map, "unfold()", Any),
    (Any, "count()", Number),
    (Number, "sum()", Number),
    (Number, "max()", Number),
    (Number, "mean()", Number),
    (Any, "dedup()", Any),
    (Any, "dedup().by(@)", Any),
    (Any, "order()", Any),
    (Any, "order().by(@)", Any),
    (Any, "limit(#)", Any),
    (Any, "skip(#)", Any),
    (Any, "tail(#)", Any),
    (Any, "sample(#)", Any),
    (Any, "range(1, #)", Any),
    (Any, "as('~')", Any),
    (Any, "as('~')", Any),
    (Any, "select('~')", Any),
    (Any, "as('a').V().as('b').select('a', 'b')", Map),
    (Any, "select('x')", Lists),
    (Any, "select(all, 'a')", Lists),
    (Any, "path()", Lists),
    (Any, "path().by(@)", Lists),
    (Any, "tree()", Map),
    (Any, "tree('x').cap('x')", Map),
    (Any, "group()", Map),
    (Any, "group().by(@)", Map),
    (Any, "group().by(@).by(@)", Map),
    (Any, "groupCount()", Map),
    (Any, "group('x').by(@)", Any),
    (Any, "groupCount('x')", Any),
    (Any, "aggregate('x')", Any),
    (Any, "aggregate('x').by(@)", Any),
    (Any, "cap('x')", Lists),
    (Any, "repeat(&).times(#)", Any),
    (Any, "repeat(&).times(#)", Any),
    (Any, "repeat(&).times(#)", Any),
    (Any, "repeat(&).until(@)", Any),
    (Any, "repeat(&).emit().times(#)", Any),
    (Any, "emit().repeat(&).times(#)", Any),
    (Any, "until(@).repeat(&)", Any),
    (Any, "union(&, &)", Any),
    (Any, "union(&, &, &)", Any),
    (Any, "coalesce(&, &)", Any),
    (Any, "choose(@, &, &)", Any),
    (Any, "choose(@).option(#, &).option(none, &)", Any),
    (Any, "branch(@).option(any, &)", Any),
    (Any, "optional(&)", Any),
    (Any, "local(&)", Any),
    (Any, "map(&)", Any),
    (Any, "flatMap(&)", Any),
    (Any, "local(!)", Lists),
    (Any, "map(!)", Lists),
    (Any, "sideEffect(@)", Any),
    (Any, "where(@)", Any),
    (Any, "not(@)", Any),
    (Any, "and(@, @)", Any),
    (Any, "or(@, @)", Any),
    (Any, "project('a', 'b').by(@).by(@)", Map),
    (Any, "project('a', 'b').by().by()", Map),
    (Any, "project('a').by()", Map),
    (Text, "replace('$', '$')", Text),
    (Text, "replace('a', 'aaaaaaaaaaaaaaaa')", Text),
    (Text, "concat(&, &)", Text),
    (Text, "concat('$', '$')", Text),
    (Text, "split('$')", Lists),
    (Text, "split('')", Lists),
    (Lists, "conjoin('$')", Text),
    (Any, "format('%{_}$%{_}').by(@)", Text),
    (Any, "asString()", Text),
    (Text, "toUpper()", Text),
    (Text, "substring(1, #)", Text),
    (Lists, "product(!)", Lists),
    (Lists, "product(&)", Lists),
    (Lists, "combine(!)", Lists),
    (Lists, "combine(&)", Lists),
    (Lists, "merge(!)", Lists),
    (Lists, "intersect(!)", Lists),
    (Lists, "difference(!)", Lists),
    (Lists, "disjunct(!)", Lists),
    (Lists, "index()", Lists),
    (Any, "reverse()", Any),
    (Any, "constant(#)", Number),
    (Any, "constant('$')", Text),
    (Number, "inject(1..1000)", Any),
    (Any, "barrier()", Any),
    (Any, "sack()", Any),
    (Any, "sack(addAll).by(!)", Any),
    (Any, "sack(assign).by(!)", Any),
    (Any, "simplePath()", Any),
    (Any, "coin(0.5)", Any),
    (Any, "timeLimit(#)", Any),
    (Any, "sideEffect(__.drop())", Any),
    (Any, "profile()", Map),
    (Number, "is(gt(#))", Number),
    (Any, "where(within('x'))", Any),
    (Lists, "fold([], addAll)", Lists),
    (Number, "fold(1, mult)", Number),
    (Lists, "order(local)", Lists),
    (Lists, "dedup(local)", Lists),
    (Any, "addV('~').property('n', @)", Vertex),
    (Vertex, "addE('e').from(V().limit(2)).to(V().limit(2))", Edge),
    (Any, "mergeV([name: '$'])", Vertex),
];

const NUMBERS: [i64; 10] = [0, 1, 2, 3, 5, 10, 40, 1000, 100_000, 1 << 40];
const TEXTS: [&str; 6] = ["a", "", "ab", ", ", "%{_}", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"];
const LABELS: [&str; 4] = ["a", "b", "c", "x"];

fn seeds() -> Vec<Vec<u8>> {
    let queries = [
        "g.inject(1).repeat(__.union(__.identity(), __.identity())).times(40).aggregate('x').cap('x')",
        "g.inject(1).repeat(__.union(__.identity(), __.identity())).times(40).addV()",
        "g.inject(1).repeat(__.project('a').by()).times(100000).count()",
        "g.inject(1).repeat(__.project('a', 'b').by().by()).times(60).asString()",
        "g.V(0).repeat(__.both().limit(1)).times(1000).tree()",
        "g.inject('a').repeat(__.replace('a', 'aaaaaaaaaaaaaaaa')).times(20)",
        "g.inject('a').repeat(__.concat(__.identity(), __.identity())).times(40)",
        "g.inject([1, 2]).repeat(__.product(__.identity()).unfold().fold()).times(20)",
        "g.V().V().V().addV().property('n', __.V().fold().count(local))",
        "g.V().as('a').V().as('b').V().as('c').select('a', 'b', 'c').order().by(__.select('a'))",
        "g.V().repeat(__.both()).times(30).path()",
        "g.V().emit().repeat(__.V()).times(4).fold()",
        "g.V().match(__.as('a').both().as('b'), __.as('b').V().as('c'), __.as('c').V().as('d'))",
        "g.withSack([1]).inject(1).repeat(__.sack(addAll).by(__.sack())).times(60).sack()",
    ];
    let texts = queries.iter().map(|text| text.as_bytes().to_vec()).chain(at_once());
    // Every source with some steps.
    let chosen = (0..SOURCES.len() as u8).map(|at| {
        let next = |last: &mut u8| {
            *last = last.wrapping_mul(181).wrapping_add(59);
            Some(*last)
        };
        std::iter::successors(Some(at), |last| next(&mut { *last })).take(16).collect()
    });
    texts.chain(chosen).collect()
}

/// Queries that make far more of one batch than they hold before and after it: each item must be counted as it is made, since
/// the batch is only counted when it is whole.
fn at_once() -> impl Iterator<Item = Vec<u8>> {
    let of_text =
        |step: String| format!("g.inject('{}').as('t').V().V().select('t').{step}", "a".repeat(4096));
    let of_list = |step: &str| format!("g.inject(1..60000).as('t').V().V().select('t').{step}");
    let of_short = |step: String| format!("g.inject(1..6000).as('t').V().V().select('t').{step}");
    let texts = [
        of_text(format!("replace('a', '{}')", "b".repeat(1 << 16))),
        of_text("split('')".to_owned()),
        of_text(format!("format('{}')", "%{t}".repeat(768))),
        of_text(format!(
            "project('{}').by()",
            (0..512).map(|key| key.to_string()).collect::<Vec<_>>().join("', '")
        )),
        of_short(format!("conjoin('{}')", "c".repeat(512))),
        of_short("product(__.select('t'))".to_owned()),
    ];
    let lists = [
        "reverse()",
        "index()",
        "asString()",
        "order(local)",
        "dedup(local)",
        "limit(local, 59999)",
        "tail(local, 59999)",
        "sample(local, 59999)",
        "combine(__.select('t'))",
        "merge(__.select('t'))",
        "intersect(__.select('t'))",
        "map(__.reverse())",
        "flatMap(__.reverse())",
        "local(__.reverse())",
        "coalesce(__.reverse())",
        "map(__.unfold().fold())",
        "project('a').by(__.reverse())",
        "path().by(__.reverse())",
        "aggregate('x').by(__.reverse())",
        "sack(assign).by(__.reverse())",
        "sack(assign).by().sack(addAll).by()",
        "dedup().by(__.reverse())",
        "order().by(__.reverse())",
        "group().by(__.reverse())",
        "group().by(__.count(local)).by(__.reverse())",
        "group('x').by(__.reverse())",
        "tree().by(__.reverse())",
        "where(__.reverse())",
        "repeat(__.reverse()).times(2)",
        "addV('a').property('list', __.select('t'))",
    ];
    texts.into_iter().chain(lists.into_iter().map(of_list)).map(String::into_bytes)
}

/// The bytes that are left to choose by; zeros behind the last.
struct Choices<'a> {
    bytes: std::slice::Iter<'a, u8>,
    steps_left: usize,
}

impl Choices<'_> {
    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.bytes.next().copied().unwrap_or(0)) % all.len()]
    }

    /// `pattern` with something in its holes, for a traverser that is `at` something.
    fn fill(&mut self, pattern: &str, at: At, depth: usize, text: &mut String) {
        for letter in pattern.chars() {
            match letter {
                '@' => self.nested(at, Any, depth + 1, text),
                '&' => self.nested(at, at, depth + 1, text),
                '!' => self.nested(at, Lists, depth + 1, text),
                '#' => drop(write!(text, "{}", self.of(&NUMBERS))),
                '$' => text.push_str(self.of(&TEXTS)),
                '~' => text.push_str(self.of(&LABELS)),
                other => text.push(other),
            }
        }
    }

    /// A traversal within another: a step or some, that ends at `end`.
    fn nested(&mut self, mut at: At, end: At, depth: usize, text: &mut String) {
        text.push_str("__");
        let steps = if depth < 6 { 1 + usize::from(self.of(&[0_u8, 0, 0, 1, 2])) } else { 0 };
        let before = text.len();
        (0..steps).for_each(|_| at = self.step(at, depth, text));
        if at != end {
            text.push_str(match end {
                Any => "",
                Vertex => ".V()",
                Edge => ".E()",
                Number => ".count()",
                Text => ".asString()",
                Lists => ".fold()",
                Map => ".project('a').by()",
            });
        }
        if text.len() == before {
            text.push_str(".identity()");
        }
    }

    /// A step for what is `at` something; at what it is then.
    fn step(&mut self, at: At, depth: usize, text: &mut String) -> At {
        if self.steps_left == 0 || self.bytes.len() == 0 {
            return at;
        }
        self.steps_left -= 1;
        let fits: Vec<&(At, &str, At)> = STEPS.iter().filter(|step| step.0 == at || step.0 == Any).collect();
        let (_, pattern, to) = *self.of(&fits);
        text.push('.');
        self.fill(pattern, at, depth, text);
        if to == Any { at } else { to }
    }

    fn query(&mut self) -> String {
        let mut text = String::new();
        let (source, mut at) = self.of(&SOURCES);
        self.fill(source, Any, 0, &mut text);
        while self.steps_left > 0 && self.bytes.len() > 0 {
            at = self.step(at, 0, &mut text);
        }
        text
    }
}

/// The query that an input is.
#[must_use]
pub fn query_of(input: &[u8]) -> Option<String> {
    if input.starts_with(b"g.") {
        return String::from_utf8(input.to_vec()).ok();
    }
    Some(Choices { bytes: input.iter(), steps_left: STEPS_MAX }.query())
}

/// Forty vertices in a ring with chords, with numbers, texts and lists; made once.
fn database() -> &'static Database {
    static DATABASE: OnceLock<Database> = OnceLock::new();
    DATABASE.get_or_init(|| {
        let db = Database::in_memory().expect("a database in memory opens");
        db.transact(|tx| {
            let mut all = Vec::new();
            for at in 0..40_i64 {
                let list = List::new(vec![Value::I64(at), "a".into()]).expect("a list of scalars isn't deep");
                let name = Value::from(format!("v{at}"));
                all.push(
                    tx.add_vertex("a", &[("n", Value::I64(at)), ("name", name), ("list", list.into())])?,
                );
            }
            for at in 0..all.len() {
                for step in [1, 3, 7] {
                    tx.add_edge(
                        all[at],
                        "e",
                        all[(at + step) % all.len()],
                        &[("n", Value::I64(step as i64))],
                    )?;
                }
            }
            Ok(())
        })
        .expect("the graph can be written");
        db
    })
}

fn promise(input: &[u8]) {
    let Some(text) = query_of(input) else { return };
    let database = database();
    let ended = thread::scope(|scope| {
        let run = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || run(database, &text));
        run.expect("a thread can be had").join()
    });
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

/// Runs the query in a transaction that is given up, and does with its results what anybody may.
fn run(database: &Database, text: &str) {
    let limits = Limits {
        timeout: TIMEOUT,
        memory_bytes: MEMORY_BYTES as u64,
        batch_rows: 256,
        threads: 2,
        ..Limits::default()
    };
    let mut transaction = database.begin();
    let begun = Instant::now();
    let ended = transaction.gremlin(text).limits(limits).items();
    let took = begun.elapsed();
    assert!(took <= 2 * TIMEOUT + TIME_SLACK, "{took:?} for {text}");
    match ended {
        Ok(items) => used(items),
        Err(error) => assert!(!error.to_string().is_empty(), "{text}"),
    }
}

/// What can be done with results: to compare, hash and print them, each of which follows their nesting.
fn used(items: Vec<Item>) {
    struct Nowhere;
    impl std::fmt::Write for Nowhere {
        fn write_str(&mut self, _text: &str) -> std::fmt::Result {
            Ok(())
        }
    }
    // To order large collections takes copies of them, which no limit is told of: that is not the query's memory.
    for item in items.iter().filter(|item| item.heap_bytes() < USED_BYTES_MAX).take(100) {
        write!(Nowhere, "{item:?}").expect("nowhere takes everything");
        assert!(item == &item.clone(), "an item is the same as its copy");
        let _ = HashSet::from([item]).contains(item);
        let _ = evergraph_query::value::relation::compare(item, item);
    }
}
