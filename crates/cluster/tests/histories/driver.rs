//! Driver: the crate's log in memory, with the packer, the reader and the connection of each node, in place of a history's
//! own log.
//!
//! ```text
//! coordinator ──send──> packer ──append──> MemoryLog ──> reader ──apply──> node
//!                          └──── pass: time goes on, answers come ────┘
//! ```
//!
//! Time stands still but for [`World::pass`]. The faults of the log are the model's: delays in place of messages under way in
//! any order, and appends that are refused, lost, unanswered, late or doubled. Positions have no gaps, since the judge counts
//! messages; `tests/shared_log` has logs with gaps.

use crate::chance::Chance;
use crate::node::{NODES, SALT, limits, position};
use crate::world::World;
use evergraph_cluster::certification::certifier::Certifier;
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::log::memory::{LogFaults, MemoryLog, MemoryLogClient, OpenStreams};
use evergraph_cluster::log::packer::{Packer, PackerLimits};
use evergraph_cluster::log::reader::{LogReader, ReadError, ReadEvent, ReadMessage};
use evergraph_cluster::log::shared_log::{LogAnswer, SharedLog};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::body::{Record, RecordBody};
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::seeded::OneIn;
use std::time::Duration;

/// Few, so that records wait for answers.
const MESSAGES_MAX: usize = 3;

/// Milliseconds that pass between two events, at most; and when nobody hears anything for a while.
const PASS_MS: usize = 150;
const SILENCE_MS: usize = 600;

/// The log, and how each node reaches it.
pub struct Driver {
    log: MemoryLog,
    now: Duration,
    links: Vec<Link>,
    /// The first message that was lost.
    lost_from: Option<LogPosition>,
    witness: Option<Witness>,
}

/// What a node has between itself and the log.
struct Link {
    client: MemoryLogClient,
    packer: Packer,
    reader: LogReader,
    has_alarmed: bool,
}

/// A node that reads the log from its beginning, after a loss, and says what it read.
struct Witness {
    link: Link,
    certifier: Certifier,
    barriers: u64,
}

fn first_author(node: usize) -> Author {
    Author { node: NodeId(node as u16), incarnation: 0 }
}

fn often(chance: &mut Chance, least: usize) -> OneIn {
    match chance.one_in(3) {
        true => OneIn(0),
        false => OneIn((least + chance.below(least)) as u32),
    }
}

impl Link {
    fn new(log: &MemoryLog, author: Author) -> Self {
        let limits = PackerLimits { messages_max: MESSAGES_MAX, ..PackerLimits::default() };
        let (packer, reader) = (Packer::new(author, limits), LogReader::new(SALT));
        Self { client: log.connect(), packer, reader, has_alarmed: false }
    }

    /// Takes answers, and sends what is due.
    fn serve(&mut self, now: Duration, certifier: &Certifier) {
        while let Some(answer) = self.client.next_answer() {
            if let LogAnswer::Append { id, result } = answer
                && let Some(appended) = self.packer.answered(now, id, result)
            {
                self.reader.check_answer(appended.position, &appended.message, certifier.digests(), now);
            }
        }
        while let Some(due) = self.packer.next_append(now, &certifier.seen()) {
            self.client.append(due.id, due.message);
        }
    }

    fn push(&mut self, record: &Record, now: Duration) {
        self.packer.push(record, now).expect("few and small records have room in one message");
    }
}

impl Driver {
    /// A log with faults by chance.
    pub fn new(chance: &mut Chance) -> Self {
        let faults = LogFaults {
            delay_max: Duration::from_millis(chance.below(300) as u64),
            refused: often(chance, 8),
            lost: often(chance, 8),
            unanswered: often(chance, 8),
            late: often(chance, 8),
            doubled: often(chance, 8),
            gap: OneIn(0),
            lag: often(chance, 40),
            cut: often(chance, 80),
        };
        let log = MemoryLog::new(chance.below(usize::MAX) as u64, faults);
        let links = (0..NODES).map(|node| Link::new(&log, first_author(node))).collect();
        Self { log, now: Duration::ZERO, links, lost_from: None, witness: None }
    }

    /// A record goes to the packer of its node.
    pub fn push(&mut self, node: usize, record: &Record) {
        self.links[node].push(record, self.now);
    }

    /// A node died: what its packer had is gone, what the log works on is not.
    pub fn reconnect(&mut self, node: usize, author: Author) {
        self.links[node] = Link::new(&self.log, author);
    }

    /// Drops messages before `first`.
    pub fn trim(&mut self, first: LogPosition) {
        self.links[0].client.trim(first);
    }

    /// All streams break off.
    pub fn cut(&self) {
        self.log.cut();
    }

    /// The log keeps its first `kept` messages, and loses `lost`.
    pub fn lose(&mut self, kept: usize, lost: usize, streams: OpenStreams) {
        self.log.lose_suffix(lost, streams);
        self.lost_from = Some(position(kept));
    }

    /// From now on nothing goes wrong.
    pub fn end_faults(&self) {
        self.log.set_faults(LogFaults::default());
    }
}

impl World {
    /// A little time passes, or a while in which streams may break off.
    pub fn pass_a_little(&mut self) {
        let by = self.chance.below(PASS_MS);
        self.pass(Duration::from_millis(by as u64));
    }

    /// No answer comes for a while, or all streams break off.
    pub fn pass_in_silence(&mut self) {
        if self.chance.one_in(4)
            && let Some(driver) = &self.driver
        {
            driver.cut();
        }
        let by = self.chance.below(SILENCE_MS);
        self.pass(Duration::from_millis(by as u64));
    }

    /// Time passes: the log takes what arrives, answers come, packers send.
    pub fn pass(&mut self, by: Duration) {
        let alive = self.alive();
        let Some(driver) = &mut self.driver else { return };
        driver.now += by;
        driver.log.advance_to(driver.now);
        for n in alive {
            driver.links[n].serve(driver.now, &self.nodes[n].now.certifier);
        }
        self.note_log();
    }

    /// The judge's copy of the log gets what the log has got.
    fn note_log(&mut self) {
        let Some(driver) = &self.driver else { return };
        for message in driver.log.messages_from(position(self.log.len())) {
            assert_eq!(message.position, position(self.log.len()), "positions have no gaps here");
            self.tally.trace.add(&message.bytes);
            self.log.push(message.bytes);
        }
    }

    /// A node applies the next message that its reader gives, if there is one.
    pub fn read_log(&mut self, n: usize) {
        loop {
            let Some(driver) = &mut self.driver else { return };
            let (now, link) = (driver.now, &mut driver.links[n]);
            match link.reader.read(now, self.nodes[n].now.certifier.digests(), &mut link.client) {
                Ok(None) => return,
                Ok(Some(ReadEvent::Message(ReadMessage { position: at, message, bytes }))) => {
                    link.packer.arrived(&message);
                    assert_eq!(at, position(self.nodes[n].now.messages), "positions have no gaps here");
                    return self.take(n, message, &bytes);
                }
                Ok(Some(ReadEvent::Alarm(alarm))) => {
                    link.has_alarmed = true;
                    self.tally.alarms += 1;
                    if !self.is_lost {
                        return self.fail(format!("{alarm}, and the log had lost nothing"));
                    }
                    // Whoever made the claim learns which log there is.
                    let number = self.new_id(n).number;
                    self.send(n, number, RecordBody::Barrier);
                }
                Err(ReadError::LogChanged { .. }) => return self.stop(n),
                Err(error) => return self.fail(format!("node {n}: {error}")),
            }
        }
    }

    /// A node stops, and says what it read.
    fn stop(&mut self, n: usize) {
        let number = self.new_id(n).number;
        let Some(driver) = &mut self.driver else { return };
        let link = &mut driver.links[n];
        if let Some(changed) = link.reader.changed_log() {
            let last = link.packer.last_append(number, &changed);
            link.client.append(last.id, last.message);
        }
        self.nodes[n].is_stopped = true;
        self.tally.stops += 1;
        self.note_log();
    }

    /// After a loss somebody reads the log from its beginning, and says what was read: nodes that all had applied what was lost
    /// may have found nothing, however long they went on.
    pub fn witness(&mut self) {
        let Some(driver) = &mut self.driver else { return };
        let Driver { log, now, witness, .. } = driver;
        let Witness { link, certifier, barriers } = witness.get_or_insert_with(|| Witness {
            link: Link::new(log, first_author(NODES)),
            certifier: Certifier::new(SALT, limits(), SeenLog::START),
            barriers: 0,
        });
        loop {
            match link.reader.read(*now, certifier.digests(), &mut link.client) {
                Ok(None) => break,
                Ok(Some(ReadEvent::Message(ReadMessage { position, message, bytes }))) => {
                    link.packer.arrived(&message);
                    certifier.apply(position, message, &bytes);
                }
                Ok(Some(ReadEvent::Alarm(_))) => {}
                Err(error) => return self.fail(format!("a node that starts anew: {error}")),
            }
        }
        *barriers += 1;
        link.push(&Record { number: *barriers, body: RecordBody::Barrier }, *now);
        link.serve(*now, certifier);
        self.note_log();
    }

    /// Whether a node applied another log, and can't know: they parted before all that it remembers. It has given an alarm.
    pub fn is_undecided(&self, n: usize) -> bool {
        let Some(driver) = &self.driver else { return false };
        let certifier = &self.nodes[n].now.certifier;
        let is_forgotten = driver.lost_from.is_some_and(|lost| !certifier.digests().covers(lost));
        let is_other = || self.digest_of_log(self.log.len()) != Some(certifier.seen().digest);
        is_forgotten && driver.links[n].has_alarmed && is_other()
    }
}
