//! Stream: the operations of all files, in the order of time.
//!
//! ```text
//! createTime|dependencyTime|one|other|properties ...     a link, with its time and properties
//!   Write6, 7     the properties are the loan's
//!   Write15       one is the target: account, loan
//!   ReadWrite1-3  behind the properties: startTime|endTime and what the check needs
//! Write3          createTime|dependencyTime|id|properties ...
//! Write17         deleteTime|dependencyTime|account
//! ```
//!
//! Files of other writes (new persons, companies, owners) have a header only.

use evergraph::Value;
use evergraph::graph::value::ValueType;
use evergraph::graph::value::datetime::DateTime;
use evergraph_tests::data::read_text;
use std::path::Path;

/// Columns of the checks, which are no properties.
const CHECKS: [&str; 6] =
    ["startTime", "endTime", "truncation_limit", "truncation_order", "amount_threshold", "ratio_threshold"];

/// A vertex as the streams name it; ids go to 4.9e18.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Identity {
    // First, since most comparisons of two end with it.
    pub id: i64,
    pub label: &'static str,
}

/// Names and values, in the order of the file.
pub type Properties = Vec<(String, Value)>;

/// An edge to add, with its ends if they aren't there yet.
#[derive(Clone, Debug)]
pub struct Link {
    pub source: Identity,
    pub edge_type: &'static str,
    pub target: Identity,
    pub time: i64,
    /// The amount, in hundredths, as the file has it.
    pub cents: Option<i128>,
    pub properties: Properties,
}

/// From when to when a check looks at edges, both excluded; in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    start: i64,
    end: i64,
}

impl Window {
    pub fn has(self, time: i64) -> bool {
        self.start < time && time < self.end
    }
}

/// What must not be true once a link is there; only edges in the window count.
///
/// Source: FinBench specification, read-write queries 1 to 3 with complex reads 4, 7 and 11.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// Target, a third account and source close a cycle of transfers.
    Cycle,
    /// Source or target got more than `percent` of what it sent, where it sent something; amounts up to
    /// `cents_min` don't count.
    FastOut { cents_min: i128, percent: i128 },
    /// Those for whom source vouches, and those for whom they vouch, and so on, have loans of more.
    Chain { cents_max: i128 },
}

/// What an operation does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Makes a vertex be there with properties.
    Put(Identity, Properties),
    /// Adds an edge.
    Add(Link),
    /// Both: a loan, and who applied for it.
    Apply(Properties, Link),
    /// Deletes a vertex and its edges.
    Delete(Identity),
    /// Adds an edge unless one of its ends is blocked or a check finds something, which blocks both.
    Checked(Link, Check, Window),
}

/// One line of a stream.
#[derive(Clone, Debug)]
pub struct Operation {
    pub time: i64,
    /// The number that FinBench gives its kind: `Write12`, `ReadWrite3`.
    pub kind: String,
    pub action: Action,
}

/// Where the fields of a link go.
fn ends(kind: &str) -> Option<(&'static str, &'static str, &'static str)> {
    Some(match kind {
        "Write6" => ("Person", "APPLY", "Loan"),
        "Write7" => ("Company", "APPLY", "Loan"),
        "Write8" => ("Person", "INVEST", "Company"),
        "Write9" => ("Company", "INVEST", "Company"),
        "Write10" | "ReadWrite3" => ("Person", "GUARANTEE", "Person"),
        "Write11" => ("Company", "GUARANTEE", "Company"),
        "Write12" | "ReadWrite1" | "ReadWrite2" => ("Account", "TRANSFER", "Account"),
        "Write13" => ("Account", "WITHDRAW", "Account"),
        "Write14" => ("Account", "REPAY", "Loan"),
        "Write15" => ("Loan", "DEPOSIT", "Account"),
        "Write16" => ("Medium", "SIGN_IN", "Account"),
        _ => return None,
    })
}

/// The operations of every file in `folder`.
pub fn operations(folder: &Path) -> Vec<Operation> {
    let mut operations = Vec::new();
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort_unstable();
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(name) = name.strip_suffix(".csv.gz") else { continue };
        let kind = &name[name.find("ReadWrite").or_else(|| name.find("Write")).unwrap()..];
        let text = read_text(&path);
        let mut lines = text.lines().map(|line| line.split('|').collect::<Vec<_>>());
        let header = lines.next().unwrap();
        operations.extend(lines.map(|fields| operation(kind, &header, &fields)));
    }
    operations.sort_by_key(|operation| operation.time);
    operations
}

fn operation(kind: &str, header: &[&str], fields: &[&str]) -> Operation {
    assert_eq!(fields.len(), header.len(), "{kind}: {fields:?}");
    let number = |index: usize| fields[index].parse::<i64>().unwrap();
    let column = |name: &str| header.iter().position(|column| *column == name);
    let time = number(0);
    let properties = |from: usize| -> Properties {
        let columns = header.iter().zip(fields).skip(from).filter(|(name, _)| !CHECKS.contains(name));
        columns.map(|(name, text)| ((*name).to_owned(), value(name, text))).collect()
    };
    let action = match kind {
        "Write3" => Action::Put(Identity { label: "Medium", id: number(2) }, properties(3)),
        "Write17" => Action::Delete(Identity { label: "Account", id: number(2) }),
        _ => {
            let (source, edge_type, target) = ends(kind).unwrap_or_else(|| panic!("{kind} has rows"));
            let (first, second) = if kind == "Write15" { (3, 2) } else { (2, 3) };
            let is_loan = edge_type == "APPLY";
            let mut own = if is_loan { Vec::new() } else { properties(4) };
            own.push(("createTime".to_owned(), moment(time)));
            let link = Link {
                source: Identity { label: source, id: number(first) },
                edge_type,
                target: Identity { label: target, id: number(second) },
                time,
                cents: column("amount").map(|amount| cents_of_text(fields[amount])),
                properties: own,
            };
            let cents = |name| cents_of_text(fields[column(name).unwrap()]);
            let check = match kind {
                "ReadWrite1" => Some(Check::Cycle),
                "ReadWrite2" => Some(Check::FastOut {
                    cents_min: cents("amount_threshold"),
                    percent: cents("ratio_threshold"),
                }),
                "ReadWrite3" => Some(Check::Chain { cents_max: cents("amount_threshold") }),
                _ => None,
            };
            let limit = |name| number(column(name).unwrap());
            match check {
                Some(check) => {
                    let window = Window { start: limit("startTime"), end: limit("endTime") };
                    Action::Checked(link, check, window)
                }
                None if is_loan => Action::Apply(properties(4), link),
                None => Action::Add(link),
            }
        }
    };
    Operation { time, kind: kind.to_owned(), action }
}

fn value(name: &str, text: &str) -> Value {
    let value_type = match name {
        "amount" | "loanAmount" | "balance" => ValueType::Decimal,
        "ratio" | "interestRate" => ValueType::F64,
        "isBlocked" => ValueType::Bool,
        "lastLoginTime" => return moment(text.parse().unwrap()),
        // Numbers of orders begin with zeros: they are names.
        _ => return Value::from(text),
    };
    Value::parse(text, value_type).unwrap()
}

fn moment(milliseconds: i64) -> Value {
    Value::DateTime(DateTime::from_epoch_milliseconds(milliseconds).unwrap())
}

/// Hundredths, from digits with at most two behind the point.
fn cents_of_text(text: &str) -> i128 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    assert!(fraction.len() <= 2, "{text}");
    format!("{whole}{fraction:0<2}").parse().unwrap()
}

/// Hundredths, from what a database holds.
pub fn cents_of_value(value: &Value) -> i128 {
    let Value::Decimal(amount) = value else { panic!("{value:?} is no amount") };
    let (digits, scale) = amount.as_parts();
    let places = u32::try_from(2 - scale).unwrap_or_else(|_| panic!("{value} has more than cents"));
    i128::try_from(&*digits).unwrap() * 10_i128.pow(places)
}
