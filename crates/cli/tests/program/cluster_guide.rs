//! Guide: the commands of docs/guide/cluster.md, run as they stand there, from the members of etcd to the loss of a machine; and the fields
//! and metrics that it names, beside those of a node.
//!
//! Its machines are ports of the loopback here: what is installed and copied on them is left out. Without the program `etcd` the test
//! says that it was skipped; with `CI` set it fails.

use crate::cluster_nodes::serve;
use crate::etcd;
use crate::free_ports::free_ports;
use crate::guarded_process::GuardedProcess;
use crate::skips::skip;
use crate::support::{Folder, Ran, Served, eventually};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

const GUIDE: &str = include_str!("../../../../docs/guide/cluster.md");

/// Names of the machines, which have a member of etcd and a node each.
const MACHINES: [&str; 3] = ["a", "b", "c"];

/// Ports of a machine, as the guide has them.
const PORTS: [u16; 3] = [2379, 2380, 7400];

/// Fields of a status that docs/guide/command_line.md has: they are about its process.
const OF_PROCESS: [&str; 6] =
    ["running", "other_process", "seconds_since_written", "pid", "url", "written_at"];

/// The text below a heading, up to the next one.
fn section(heading: &str) -> &'static str {
    let (_, text) = GUIDE.split_once(&format!("\n{heading}\n")).expect("a heading");
    text.split("\n##").next().unwrap_or(text)
}

/// Blocks for the shell in a section.
fn blocks(heading: &str) -> Vec<&'static str> {
    section(heading).split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap()).collect()
}

/// First cells of the rows of the table that `head` begins, without its line of dashes.
fn first_cells(head: &str) -> impl Iterator<Item = &'static str> {
    let (_, table) = GUIDE.split_once(&format!("\n{head}\n")).expect("a table");
    table.lines().take_while(|line| line.starts_with('|')).skip(1).map(|row| row.split('|').nth(1).unwrap())
}

/// What a cell has between backticks.
fn code_of(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The three machines of the guide.
struct Machines {
    folder: Folder,
    /// Where etcd's program is.
    etcd: PathBuf,
    /// Ports of all machines, in the order of [`PORTS`].
    ports: Vec<u16>,
    members: [Option<GuardedProcess>; 3],
    nodes: [Option<Served>; 3],
}

impl Machines {
    /// With nothing on them; `None` where there is no etcd.
    fn new() -> Option<Self> {
        let Some(etcd) = etcd::program() else {
            skip(etcd::HOW_TO_INSTALL);
            return None;
        };
        let ports = free_ports(MACHINES.len() * PORTS.len());
        let (members, nodes) = ([None, None, None], [None, None, None]);
        Some(Self { folder: Folder::new(), etcd, ports, members, nodes })
    }

    /// A text of the guide with the addresses that its machines have here.
    fn here(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for machine in 0..MACHINES.len() {
            let host = format!("10.0.0.{}", machine + 1);
            for (at, port) in PORTS.iter().enumerate() {
                let here = self.ports[machine * PORTS.len() + at];
                text = text.replace(&format!("{host}:{port}"), &format!("127.0.0.1:{here}"));
            }
            text = text.replace(&host, "127.0.0.1");
        }
        text
    }

    /// Starts the member of etcd of a machine, with the file that the guide writes there.
    fn start_member(&mut self, machine: usize) {
        let (_, rest) = blocks("### 1. The log")[0].split_once("<<END\n").unwrap();
        let (file, _) = rest.split_once("\nEND\n").unwrap();
        let address = format!("10.0.0.{}", machine + 1);
        let file = self.here(&file.replace("$NAME", MACHINES[machine]).replace("$ADDRESS", &address));
        let settings = file.lines().map(|line| line.split_once('=').unwrap());
        let mut command = Command::new(&self.etcd);
        // As the unit of the package has it.
        let data = self.folder.path(&format!("etcd-{}", MACHINES[machine]));
        command.env_clear().envs(settings).env("ETCD_DATA_DIR", data);
        let log = self.folder.path(&format!("etcd-{}.log", MACHINES[machine]));
        self.members[machine] = Some(GuardedProcess::start(&mut command, &log));
    }

    /// Waits until the members of these machines serve.
    fn until_healthy(&self, machines: &[usize]) {
        eventually("members of etcd serve", || {
            machines.iter().all(|machine| etcd::is_healthy(self.ports[machine * PORTS.len()]))
        });
    }

    fn start_node(&mut self, machine: usize) {
        self.nodes[machine] = Some(serve(&self.folder, machine));
    }

    /// Runs a line of the guide at a machine, whose node has its folder there and serves at localhost.
    fn run(&self, machine: usize, line: &str) -> Ran {
        let node = self.nodes[machine].as_ref().expect("its node runs");
        self.folder.shell(&line.replace("ws://localhost", &node.url()).replace(" node-", " shop/node-"))
    }

    /// Runs a block of the guide line by line, each at the machines that its comment names, or else at `a`.
    fn run_lines(&self, block: &str) {
        for line in block.lines() {
            let comment = line.split_once("# on ").map_or("a", |(_, machines)| machines);
            for machine in comment.split(" or ") {
                let machine = MACHINES.iter().position(|name| *name == machine).expect("a machine");
                // What one node has committed, another has some milliseconds later.
                eventually(line, || {
                    let ran = self.run(machine, line);
                    ran.code == Some(0) && ran.out.lines().count() > 0
                });
            }
        }
    }
}

#[test]
fn the_commands_of_the_guide_lead_to_a_cluster_that_survives_the_loss_of_a_machine() {
    let Some(mut machines) = Machines::new() else { return };
    for machine in 0..MACHINES.len() {
        machines.start_member(machine);
    }
    machines.until_healthy(&[0, 1, 2]);

    let [_, create, serve_lines, queries] = blocks("### 2. The nodes")[..] else { panic!("four blocks") };
    let created = machines.folder.shell(&machines.here(create).replace("target/dist/", "")).succeeded();
    for (machine, line) in serve_lines.lines().enumerate() {
        // What the command prints is what the guide says.
        assert!(created.out.contains(&machines.here(line)), "{line}: {created:?}");
        assert!(line.ends_with(&format!("evergraph cluster serve node-{machine}")), "{line}");
        machines.start_node(machine);
    }
    assert_eq!(serve_lines.lines().count(), MACHINES.len());
    machines.run_lines(queries);
    let [_, read] = queries.lines().collect::<Vec<_>>()[..] else { panic!("a write and a read") };
    assert_eq!(machines.run(2, read).succeeded().out, "Ada\n");
    every_field_and_metric_is_in_the_guide(&machines);

    let [lose, on_a, come_back] = blocks("### 3. Lose one")[..] else { panic!("three blocks") };
    assert_eq!(lose, "sudo systemctl stop etcd; pkill -9 -x evergraph\n");
    machines.members[2] = None;
    machines.nodes[2].take().expect("it runs").end("-KILL");
    machines.run_lines(on_a);
    eventually("after some seconds the table says when node 2 was heard of last", || {
        let status = machines.run(0, on_a.lines().nth(1).unwrap()).succeeded().out;
        status.lines().any(|row| row.trim_start().starts_with("2  ") && row.contains(" ago "))
    });
    let gone = machines.folder.run(&["cluster", "status", "shop/node-2"]);
    assert!(
        gone.code == Some(1) && gone.out.contains("is gone") && gone.out.contains("as it was then"),
        "{gone:?}"
    );

    assert_eq!(come_back, "sudo systemctl start etcd; evergraph cluster serve node-2\n");
    machines.start_member(2);
    machines.start_node(2);
    machines.until_healthy(&[0, 1, 2]);
    eventually("it has what it has missed", || {
        let names: BTreeSet<String> =
            machines.run(2, read).succeeded().out.lines().map(str::to_owned).collect();
        names == ["Ada".to_owned(), "Mary".to_owned()].into()
    });
    for node in machines.nodes.into_iter().flatten() {
        let ended = node.end("-TERM");
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

/// And none that there is not.
fn every_field_and_metric_is_in_the_guide(machines: &Machines) {
    let status = ["cluster", "status", "shop/node-0"];
    eventually("it has told how it is", || machines.folder.run(&status).code == Some(0));
    let status = machines.folder.json(&status);
    let fields = status.as_object().unwrap().keys().map(String::as_str);
    let fields: BTreeSet<&str> = fields.filter(|field| !OF_PROCESS.contains(field)).collect();
    assert_eq!(first_cells("| field | meaning |").flat_map(code_of).collect::<BTreeSet<_>>(), fields);
    assert!(OF_PROCESS.iter().all(|field| !status[field].is_null() || *field == "other_process"), "{status}");

    let answer = machines.nodes[0].as_ref().unwrap().get("/metrics");
    let series = answer.lines().filter_map(|line| line.split_once('{')).map(|(name, _)| name);
    let series: BTreeSet<&str> = series.filter(|name| name.starts_with("evergraph_cluster_")).collect();
    let told = first_cells("| metric | |").flat_map(code_of);
    assert_eq!(told.map(|name| name.split('{').next().unwrap()).collect::<BTreeSet<_>>(), series);
}
