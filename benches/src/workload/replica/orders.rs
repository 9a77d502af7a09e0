//! Orders: a shop like TPC-C's, half of whose orders are copied, the other half inserted while the replica follows; then questions
//! about fresh orders while new ones come.
//!
//! ```text
//! customer   vertices                                    an order of a customer, with 5 to 15 lines, is one transaction
//! item       vertices; a few are bought most
//! orders     vertices, Order -PLACED_BY-> Customer
//! line       vertices, Line -PART_OF-> Order; and edges, Customer -BOUGHT-> Item: the row has its order's customer
//! ```
//!
//! Two hops: who bought what a customer bought; the lines of the orders of a customer. PageRank and WCC run on Customer -BOUGHT->
//! Item. Beside stand SQL at the source, indexed; *reload*: the same rows by COPY, a static array of them, the same question
//! on that; and Neo4j, embedded, with Customer -BOUGHT-> Item alone, which is written to as often.
//!
//! Source: GART (USENIX ATC 2023), section 6.1 and table 2, TPC-C. Differs: there the CUSTOMER-ITEM graph joins two tables; a mapping
//! here reads one row, which names its customer.

use crate::goals::baseline::{RELOAD, SQL, STATIC, WITHOUT};
use crate::plan::{Work, expect};
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::pool::pool;
use crate::workload::replica::neo4j::worker::{NEO4J, Neo4j};
use crate::workload::replica::pacer::Pacer;
use crate::workload::replica::question::{Question, Rows};
use crate::workload::replica::readers::catch_up;
use crate::workload::replica::reload::{comparable, copy_numbers, expect_same, median_time};
use crate::workload::replica::source_server::run;
use crate::workload::replica::{Bench, OURS, open};
use crate::workload::writer_thread::beside_writer;
use evergraph::generate::random::Random;
use evergraph::{Database, Snapshot, Value};
use evergraph_algorithms::csr::StaticCsr;
use evergraph_analysis::lists::Lists;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{PieceBuffer, Projection, Topology as _, Visit};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_graph::view::{Freeze as _, GraphView as _};
use evergraph_measure::figure::Unit;
use evergraph_measure::kernel::{Answer, Kernel};
use evergraph_replica::follow::options::ReplicaMapping;
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::source::postgres::connection::Connection;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PURPOSE: u64 = 473;
/// The database at the source; slot and publication are called the same.
const NAME: &str = "orders";
/// Orders of a transaction that inserts the second half.
const ORDERS_OF_A_TRANSACTION: u32 = 20;
/// Time between two orders while questions are measured: a hundred a second, eleven rows each.
const INTERVAL: Duration = Duration::from_millis(10);
/// The writer has been at work for so long when the first question is asked.
const HEAD_START: Duration = Duration::from_millis(200);
/// Customers that each question is asked about.
const CUSTOMERS: usize = 20;
/// Lines of an order, on average.
const LINES_OF_AN_ORDER: usize = 10;
const KERNELS: [Kernel; 2] = [Kernel::PageRank, Kernel::Wcc];
/// Where a search would begin: none of the kernels is one.
const SOURCE: u32 = 0;

const MAPPING: &str = r#"
[[table]]
table = "customer"
label = "Customer"

[[table]]
table = "item"
label = "Item"

[[table]]
table = "orders"
label = "Order"
edge = [{ type = "PLACED_BY", column = "customer", space = "Customer" }]

[[table]]
table = "line"
label = "Line"
edge = [{ type = "PART_OF", column = "order", space = "Order" }]

[[table]]
table = "line"
type = "BOUGHT"
start = { column = "customer", space = "Customer" }
end = { column = "item", space = "Item" }
properties = []
"#;

const ALSO_BOUGHT: &str = "g.V().has('Customer', 'id', customer).out('BOUGHT').in('BOUGHT').dedup().count()";
const ALSO_BOUGHT_SQL: &str =
    "SELECT count(DISTINCT other.customer) FROM line own JOIN line other ON other.item = own.item
    WHERE own.customer = {customer}";
const LINES: &str = "g.V().has('Customer', 'id', customer).in('PLACED_BY').order().by('id').project('order', 'lines', 'quantity')
    .by('id').by(__.in('PART_OF').count()).by(__.in('PART_OF').values('quantity').sum())";
const LINES_SQL: &str = r#"SELECT o.id, count(*), sum(l.quantity) FROM orders o JOIN line l ON l."order" = o.id
    WHERE o.customer = {customer} GROUP BY o.id ORDER BY o.id"#;

/// The shop at its source and its replica.
struct Shop<'b> {
    bench: &'b Bench,
    database: Database,
    replica: Replica,
    next_order: u32,
    seed: u64,
    neo4j: Option<Neo4j>,
}

/// Measures questions and kernels.
///
/// # Errors
/// `corrupt` if an answer is not SQL's or the static array's; those of server and replica.
pub fn measure(work: &mut Work<'_>, bench: &mut Bench) -> Result<()> {
    run(&mut bench.connection, &format!("CREATE DATABASE {NAME}"))?;
    let (orders, seed) = (bench.plan.orders, work.plan.seed);
    let mut connection = bench.server.connect_to(NAME)?;
    run(&mut connection, &tables(bench))?;
    run(&mut connection, &insert(bench, seed, 0, orders / 2))?;
    run(&mut connection, "ANALYZE")?;
    let database = open(&bench.folder.join("orders.eg"))?;
    let mapping = ReplicaMapping { name: "orders.toml".to_owned(), text: MAPPING.to_owned() };
    let replica = bench.replicate((NAME, NAME), &database, mapping)?;
    let began = Instant::now();
    for first in (orders / 2..orders).step_by(ORDERS_OF_A_TRANSACTION as usize) {
        run(&mut connection, &insert(bench, seed, first, orders.min(first + ORDERS_OF_A_TRANSACTION)))?;
    }
    catch_up(&replica)?;
    let inserting = began.elapsed().as_secs_f64();
    run(&mut connection, "ANALYZE")?;
    let neo4j = start_neo4j(work, bench)?;
    let mut shop = Shop { bench, database, replica, next_order: orders, seed, neo4j };
    let statistics = shop.database.statistics()?;
    work.note(format!(
        "orders: {} customers, {} items, {orders} orders, {} lines, half of them inserted while the replica followed, {:.1} s",
        bench.plan.customers,
        bench.plan.items,
        statistics.edges_count().saturating_sub(u64::from(orders)) / 2,
        inserting
    ));
    let questions = questions(bench, seed);
    shop.compare_neo4j(&questions[0], &mut connection)?;
    for question in questions {
        shop.ask(work, &question, &mut connection)?;
    }
    shop.run_kernels(work)?;
    work.note("orders: answers are compared with SQL's and the static array's whenever the writer rests; SQL has indexes on customers of orders and lines, on orders and items of lines");
    work.note("orders: reload reads the columns customer and item by COPY, makes a static array and asks that, on one thread");
    if let Some(neo4j) = &shop.neo4j {
        work.note(format!("orders: {NEO4J} inserted {} edges while it was measured", neo4j.written));
        neo4j.note_repeated(work, "orders");
    }
    let Shop { database, replica, .. } = shop;
    drop(connection);
    bench.unfollow(NAME, replica, database)
}

fn tables(bench: &Bench) -> String {
    let (customers, items) = (bench.plan.customers, bench.plan.items);
    format!(
        r#"CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL, credit int NOT NULL);
         CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL, price int NOT NULL);
         CREATE TABLE orders (id int PRIMARY KEY, customer int NOT NULL REFERENCES customer);
         CREATE TABLE line ("order" int NOT NULL REFERENCES orders, number int NOT NULL, customer int NOT NULL REFERENCES customer,
             item int NOT NULL REFERENCES item, quantity int NOT NULL, PRIMARY KEY ("order", number));
         CREATE INDEX ON orders (customer); CREATE INDEX ON line (customer); CREATE INDEX ON line (item);
         INSERT INTO customer SELECT n, 'customer ' || n, 100 FROM generate_series(0, {customers} - 1) n;
         INSERT INTO item SELECT n, 'item ' || n, 1 + n % 100 FROM generate_series(0, {items} - 1) n"#
    )
}

/// The orders from `first` up to `end`, with their lines: one transaction.
fn insert(bench: &Bench, seed: u64, first: u32, end: u32) -> String {
    let (customers, items) = (bench.plan.customers, bench.plan.items);
    // 31 bits that follow from a number and a seed.
    let random = |of: &str, stream: u64| {
        format!("(hashint8extended({of}, {}) & 2147483647)", (seed + stream) & 0xffff)
    };
    let customer = format!("({} % {customers})::int", random("o::bigint", 1));
    let count = format!("5 + ({} % 11)::int", random("o::bigint", 2));
    let item =
        format!("floor({items} * power({}::float8 / 2147483648, 2))::int", random("o::bigint * 16 + k", 3));
    format!(
        r#"BEGIN;
         INSERT INTO orders SELECT o, {customer} FROM generate_series({first}, {end} - 1) o;
         INSERT INTO line SELECT o, k, {customer}, {item}, 1 + k % 10
             FROM generate_series({first}, {end} - 1) o, generate_series(1, {count}) k;
         COMMIT"#
    )
}

fn questions(bench: &Bench, seed: u64) -> [Question; 2] {
    let mut random = Random::new(seed, PURPOSE, 0);
    let mut customers = || -> Vec<Vec<(&'static str, Value)>> {
        let mut draw = || i64::try_from(random.below(u64::from(bench.plan.customers))).unwrap_or(0);
        (0..CUSTOMERS).map(|_| vec![("customer", Value::from(draw()))]).collect()
    };
    [
        Question {
            name: "also_bought",
            title: "customers who bought what a customer bought",
            gremlin: ALSO_BOUGHT,
            sql: ALSO_BOUGHT_SQL,
            parameters: customers(),
        },
        Question {
            name: "lines",
            title: "lines of the orders of a customer",
            gremlin: LINES,
            sql: LINES_SQL,
            parameters: customers(),
        },
    ]
}

/// Neo4j with who bought what, if it is there.
fn start_neo4j(work: &mut Work<'_>, bench: &Bench) -> Result<Option<Neo4j>> {
    let Some(built) = Neo4j::built(work, bench, "orders") else { return Ok(None) };
    let pairs = bought(bench)?;
    let neo4j =
        Neo4j::start(built, &bench.folder.join("neo4j"), bench.plan.customers + bench.plan.items, &pairs)?;
    work.note(format!(
        "orders: {NEO4J} has who bought what of the beginning, without properties, and inserts these edges again, {LINES_OF_AN_ORDER} a transaction, a hundred transactions a second; PageRank and WCC over its API; {}",
        neo4j.settings
    ));
    Ok(Some(neo4j))
}

fn customer_of(asked: &[(&str, Value)]) -> Result<u32> {
    let number = asked[0].1.as_i64().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| Error::invalid("a customer has a small number"))
}

impl Shop<'_> {
    /// Compares Neo4j's answers with SQL's and the static array's, before anybody writes; its JVM is warm afterwards.
    fn compare_neo4j(&mut self, question: &Question, connection: &mut Connection) -> Result<()> {
        let Some(neo4j) = &mut self.neo4j else { return Ok(()) };
        for (asked, expected) in question.parameters.iter().zip(answers(question, connection)?) {
            let (found, _) = neo4j.also_bought(&[customer_of(asked)?])?;
            expect(NEO4J, question.title, vec![vec![found.to_string()]], expected)?;
        }
        let reloaded = Reloaded::read(self.bench)?;
        KERNELS.into_iter().try_for_each(|kernel| neo4j.compare(kernel, SOURCE, &reloaded.run(kernel)?))
    }

    /// What `measure` gives while Neo4j is written to.
    fn beside_a_writer_of_neo4j<T>(&mut self, measure: impl FnOnce(&mut Neo4j) -> Result<T>) -> Result<T> {
        let neo4j = self.neo4j.as_mut().expect("it is in a race only where it is there");
        neo4j.beside_inserts(LINES_OF_AN_ORDER, INTERVAL, measure)
    }

    /// What `measure` gives while orders come.
    fn beside_a_writer<T>(&mut self, measure: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let mut connection = self.bench.server.connect_to(NAME)?;
        let (bench, seed, mut next) = (self.bench, self.seed, self.next_order);
        let write = |is_over: &AtomicBool| {
            let mut pacer = Pacer::start(INTERVAL);
            while !is_over.load(Ordering::Relaxed) {
                run(&mut connection, &insert(bench, seed, next, next + 1))?;
                next += 1;
                pacer.wait();
            }
            Ok(())
        };
        let measured = beside_writer(HEAD_START, write, || measure(self));
        // These orders are there, whatever became of the measurement.
        self.next_order = next;
        Ok(measured?.0)
    }

    fn ask(&mut self, work: &mut Work<'_>, question: &Question, connection: &mut Connection) -> Result<()> {
        let mut names = vec![OURS, WITHOUT, SQL];
        if question.name == "also_bought" {
            names.push(RELOAD);
            names.extend(self.neo4j.is_some().then_some(NEO4J));
        }
        let mut race = Race::new(names.iter().copied());
        let time = work.plan.run_time.min(self.bench.plan.run_time);
        for round in 0..self.bench.plan.rounds {
            let mut times = vec![0.0; names.len()];
            for place in order(round, names.len()) {
                times[place] = match place {
                    0 => self.beside_a_writer(|shop| {
                        question.time(time, |asked| question.by_gremlin(&shop.database, asked), None)
                    })?,
                    1 => {
                        catch_up(&self.replica)?;
                        let expected = answers(question, connection)?;
                        question.time(
                            time,
                            |asked| question.by_gremlin(&self.database, asked),
                            Some(&expected),
                        )?
                    }
                    2 => self.beside_a_writer(|_| {
                        question.time(time, |asked| question.by_sql(connection, asked), None)
                    })?,
                    3 => {
                        let expected = answers(question, connection)?;
                        for (asked, expected) in question.parameters.iter().zip(&expected).take(3) {
                            let found = Reloaded::read(self.bench)?.also_bought(customer_of(asked)?)?;
                            expect(RELOAD, question.title, &vec![vec![found.to_string()]], expected)?;
                        }
                        self.beside_a_writer(|shop| {
                            let began = Instant::now();
                            let first = customer_of(&question.parameters[0])?;
                            Reloaded::read(shop.bench)?.also_bought(first)?;
                            Ok(began.elapsed().as_secs_f64())
                        })?
                    }
                    _ => {
                        let customers: Result<Vec<u32>> =
                            question.parameters.iter().map(|asked| customer_of(asked)).collect();
                        let customers = customers?;
                        self.beside_a_writer_of_neo4j(|neo4j| {
                            let (mut times, began) = (Vec::new(), Instant::now());
                            while times.is_empty() || began.elapsed() < time {
                                times.push(neo4j.also_bought(&customers)?.1);
                            }
                            Ok(times.iter().sum::<f64>() / times.len() as f64)
                        })?
                    }
                };
            }
            race.note(&times);
        }
        let name = format!("replica.orders.{}", question.name);
        let heading = Heading::new(name, question.title, Unit::Seconds)
            .with("customers", question.parameters.len())
            .with("orders a second", 100);
        work.add_race(&heading, &race);
        Ok(())
    }

    /// Kernels on who bought what: ours while orders come, without, reloaded, and on a static array that is there.
    fn run_kernels(&mut self, work: &mut Work<'_>) -> Result<()> {
        let pool = pool(1)?;
        for kernel in KERNELS {
            let names = [OURS, WITHOUT, RELOAD, STATIC].into_iter();
            let names: Vec<_> = names.chain(self.neo4j.is_some().then_some(NEO4J)).collect();
            let mut race = Race::new(names.iter().copied());
            for round in 0..self.bench.plan.rounds {
                let mut times = vec![0.0; names.len()];
                for place in order(round, times.len()) {
                    times[place] = match place {
                        0 => self.beside_a_writer(|shop| {
                            pool.install(|| median_time(|| shop.run_kernel(kernel).map(drop)))
                        })?,
                        1 => {
                            catch_up(&self.replica)?;
                            pool.install(|| median_time(|| self.run_kernel(kernel).map(drop)))?
                        }
                        2 => self.beside_a_writer(|shop| {
                            pool.install(|| median_time(|| Reloaded::read(shop.bench)?.run(kernel).map(drop)))
                        })?,
                        3 => {
                            let reloaded = Reloaded::read(self.bench)?;
                            self.beside_a_writer(|_| {
                                pool.install(|| median_time(|| reloaded.run(kernel).map(drop)))
                            })?
                        }
                        _ => self.beside_a_writer_of_neo4j(|neo4j| neo4j.run(kernel, SOURCE))?,
                    };
                }
                race.note(&times);
            }
            catch_up(&self.replica)?;
            pool.install(|| -> Result<()> {
                let (answer, lists) = self.run_kernel(kernel)?;
                let ours = comparable(&answer, lists.vertices().iter());
                let reloaded = Reloaded::read(self.bench)?;
                let theirs = comparable(&reloaded.run(kernel)?, reloaded.lists.vertices().iter());
                expect_same(kernel, &ours, &theirs)
            })?;
            let title =
                format!("{}, 1 thread, who bought what, while 100 orders a second come", kernel.title());
            let name = format!("replica.orders.{}", kernel.name());
            work.add_race(&Heading::new(name, title, Unit::Seconds), &race);
        }
        Ok(())
    }

    /// The answer on a new snapshot, and the lists that have its vertices.
    fn run_kernel(&self, kernel: Kernel) -> Result<(Answer, Lists)> {
        let snapshot = self.database.snapshot();
        let lists = freeze(&snapshot)?;
        Ok((kernel.run(&lists, VertexId(SOURCE))?, lists))
    }
}

/// SQL's answers to all parameters.
fn answers(question: &Question, connection: &mut Connection) -> Result<Vec<Rows>> {
    question.parameters.iter().map(|asked| question.by_sql(connection, asked)).collect()
}

/// Customers and items, and who bought what.
fn freeze(snapshot: &Snapshot) -> Result<Lists> {
    let catalogue = snapshot.catalogue();
    let missing = || Error::new(ErrorKind::Corrupt, "the copy has no customers who bought items");
    let labels = ["Customer", "Item"].map(|name| catalogue.label(name));
    let labels: Option<Vec<_>> = labels.into_iter().collect();
    let edge_type = catalogue.edge_type("BOUGHT").ok_or_else(missing)?;
    let projection = Projection {
        labels: Some(labels.ok_or_else(missing)?),
        types: Some(vec![edge_type]),
        ..Projection::all(Direction::Both)
    };
    Ok(Lists::from(snapshot.freeze(&projection)?))
}

/// A static array of what COPY reads: customers first, items behind them.
struct Reloaded {
    lists: Lists,
}

/// Who bought what: customers first, items behind them.
fn bought(bench: &Bench) -> Result<Vec<(u32, u32)>> {
    let (settings, mut pairs) = (bench.server.settings_of(NAME), Vec::new());
    copy_numbers(&settings, "line", ["customer", "item"], |[customer, item]| {
        pairs.push((customer as u32, bench.plan.customers + item as u32));
    })?;
    Ok(pairs)
}

impl Reloaded {
    fn read(bench: &Bench) -> Result<Self> {
        let pairs = bought(bench)?;
        let vertices = VertexSet::full(bench.plan.customers + bench.plan.items);
        Ok(Self { lists: Lists::from(StaticCsr::new(vertices, &pairs, None, Direction::Both)?) })
    }

    fn run(&self, kernel: Kernel) -> Result<Answer> {
        kernel.run(&self.lists, VertexId(SOURCE))
    }

    /// How many bought what `customer` bought.
    fn also_bought(&self, customer: u32) -> Result<usize> {
        let neighbours = |vertex: u32, direction| -> Result<Vec<u32>> {
            let mut found = Vec::new();
            let end = vertex + 1;
            self.lists.visit(direction, vertex..end, &mut PieceBuffer::default(), |_, piece| {
                found.extend_from_slice(piece.neighbors);
                Visit::Continue
            })?;
            Ok(found)
        };
        let mut others = HashSet::new();
        for item in neighbours(customer, Direction::Out)? {
            others.extend(neighbours(item, Direction::In)?);
        }
        Ok(others.len())
    }
}
