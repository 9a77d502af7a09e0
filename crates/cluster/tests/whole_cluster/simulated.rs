//! Simulated: the world and its clients, in one thread.
//!
//! A client whose operation would wait lets time pass instead ([`Simulated::tick`]), in which the others act, each of which may do so,
//! too. So operations of clients are nested, and transactions overlap as they like.

use crate::client::Client;
use crate::tally::Tally;
use crate::world::trouble::Trouble;
use crate::world::{WORK_TICKS, World};
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_graph::wait_limit::WaitLimit;
use evergraph_storage::sync::Mutex;
use std::any::Any;
use std::panic::catch_unwind;
use std::sync::Arc;

/// # Concurrency
///
/// One thread. The locks are there since the product wants what can be shared; none is held while time passes.
pub struct Simulated {
    pub world: Mutex<World>,
    /// `None`: it is in the middle of an operation.
    clients: Mutex<Vec<Option<Client>>>,
    chance: Mutex<SeededChance>,
}

/// Ticks in which clients end what they have begun.
const END_TICKS: u32 = 400;

impl Simulated {
    /// As [`Simulated::run`]; what panics is wrong, too.
    ///
    /// # Errors
    /// What is wrong.
    pub fn run_to_a_panic(seed: u64, trouble: Trouble) -> Result<Tally, String> {
        let text = |panic: Box<dyn Any + Send>| {
            let said = panic.downcast_ref::<String>().cloned();
            said.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
        };
        catch_unwind(|| Self::run(seed, trouble)).unwrap_or_else(|panic| Err(text(panic)))
    }

    /// Plays the world of a seed: what happened.
    ///
    /// # Errors
    /// What is wrong.
    pub fn run(seed: u64, trouble: Trouble) -> Result<Tally, String> {
        let world = World::new(seed, trouble);
        let nodes = world.nodes();
        let clients = (0..nodes + 1).map(|number| Some(Client::new(number, seed)));
        let simulated = Arc::new(Self {
            world: Mutex::new(world),
            clients: Mutex::new(clients.collect()),
            chance: Mutex::new(SeededChance::new(seed ^ 0x5eed)),
        });
        let ended = simulated.play();
        // They hold nodes that hold the world.
        let clients = std::mem::take(&mut *simulated.clients.lock());
        drop(clients);
        ended.map(|()| simulated.world.lock().tally)
    }

    fn play(self: &Arc<Self>) -> Result<(), String> {
        let is_over = |most: u32| {
            let world = self.world.lock();
            world.tick >= most || world.wrong.is_some()
        };
        while !is_over(WORK_TICKS) {
            self.tick();
        }
        self.world.lock().mend();
        while !is_over(WORK_TICKS + END_TICKS) && !self.clients_are_idle() {
            self.tick();
        }
        let clients = std::mem::take(&mut *self.clients.lock());
        drop(clients);
        let wrong = self.world.lock().wrong.take();
        match wrong {
            Some(wrong) => Err(wrong),
            None => self.world.lock().come_to_rest(),
        }
    }

    fn clients_are_idle(&self) -> bool {
        self.clients.lock().iter().flatten().all(Client::is_idle)
    }

    /// Time passes; then clients act that are not in the middle of something.
    pub fn tick(self: &Arc<Self>) {
        // The limit of whoever waits here is its own.
        let _waits = WaitLimit::default().enter();
        self.world.lock().pass();
        let count = self.clients.lock().len();
        let first = self.chance.lock().below(count.max(1) as u64) as usize;
        for place in (0..count).map(|place| (first + place) % count) {
            if self.world.lock().wrong.is_some() || self.chance.lock().happens(OneIn(3)) {
                continue;
            }
            let Some(mut client) = self.clients.lock().get_mut(place).and_then(Option::take) else {
                continue;
            };
            client.act(self);
            if let Some(slot) = self.clients.lock().get_mut(place) {
                *slot = Some(client);
            }
        }
    }
}
