//! Steps: what a transaction reads and writes, one operation at a time.

use crate::fault::Fault;
use crate::graph::{Cell, CellValue, LABEL, PARTITIONS, Question, VERTICES};
use crate::keys::GraphKey;
use crate::node::SALT;
use crate::world::World;
use evergraph_cluster::key_hash::subject::Subject;
use evergraph_cluster::record::body::RecordBody;
use evergraph_graph::id::PartitionId;
use evergraph_graph::timestamp::Timestamp;

impl World {
    /// The values of a vertex, if it is there.
    fn read_vertex(&mut self, r: usize, v: u32) -> Option<Option<CellValue>> {
        Some(self.read(r, Question::Vertex(v))?.first().map(|(_, value)| *value))
    }

    fn set(&mut self, r: usize, cell: Cell, value: CellValue) {
        let run = &mut self.runs[r];
        run.own.insert(cell, value);
        run.gone.remove(&cell);
    }

    fn remove(&mut self, r: usize, cell: Cell) {
        let run = &mut self.runs[r];
        let was_own = run.own.remove(&cell).is_some();
        // A vertex that it set was there before; an edge that it added was not.
        if !was_own || matches!(cell, Cell::Vertex(_)) {
            run.gone.insert(cell);
        }
    }

    fn remove_edge(&mut self, r: usize, source: u32, target: u32, k: u16) {
        self.remove(r, Cell::Out(source, target, k));
        self.remove(r, Cell::In(target, source, k));
    }

    fn is_new(&self, r: usize, v: u32) -> bool {
        self.runs[r].members.contains(&(v, true))
    }

    fn check(&mut self, r: usize, keys: impl IntoIterator<Item = GraphKey>) {
        self.runs[r].checks.extend(keys);
    }

    /// Both values of a vertex are written.
    fn check_values(&mut self, r: usize, v: u32) {
        if !self.is_new(r, v) {
            self.check(r, [GraphKey::Property(v), GraphKey::Unique(v)]);
        }
    }

    fn check_unique(&mut self, r: usize, unique: u8) {
        if self.fault != Fault::UniqueUnchecked {
            self.check(r, [GraphKey::Entered(unique)]);
        }
    }

    fn some_vertex(&mut self) -> u32 {
        self.chance.below(VERTICES as usize + 5) as u32
    }

    fn some_unique(&mut self) -> u8 {
        1 + self.chance.below(9) as u8
    }

    /// One operation; `None` if the transaction can't go on.
    pub fn step(&mut self, r: usize) -> Option<()> {
        let choice = match self.runs[r].is_read_only {
            true => 10 + self.chance.below(4),
            false => self.chance.below(16),
        };
        match choice {
            0..=1 => self.set_by_another(r),
            2 => self.set_unique(r),
            3..=4 => self.insert_vertex(r),
            5 => self.delete_vertex(r),
            6..=8 => self.insert_edge(r),
            9 => self.delete_edge(r),
            10 => {
                let v = self.some_vertex();
                self.read(r, Question::Vertex(v)).map(|_| ())
            }
            11 => self.read_neighbors(r),
            12 => {
                let partition = self.chance.below(PARTITIONS as usize) as u32;
                self.count_into(r, Question::Members(partition))
            }
            13 => {
                let low = self.chance.below(4) as u8;
                self.count_into(r, Question::Range(low, low + 1))
            }
            14 => {
                let v = self.some_vertex();
                self.count_into(r, Question::In(v))
            }
            _ => {
                let unique = self.some_unique();
                self.read(r, Question::Unique(unique)).map(|_| ())
            }
        }
    }

    /// Reads one vertex and sets another by it: write skew is possible.
    fn set_by_another(&mut self, r: usize) -> Option<()> {
        let (v, w) = (self.some_vertex(), self.some_vertex());
        let from = self.read_vertex(r, v)?.map_or(0, |value| value.0);
        if let Some((_, unique)) = self.read_vertex(r, w)? {
            self.set(r, Cell::Vertex(w), ((from + 1) % 6, unique));
            self.check_values(r, w);
        }
        Some(())
    }

    fn set_unique(&mut self, r: usize) -> Option<()> {
        let (v, unique) = (self.some_vertex(), self.some_unique());
        if !self.read(r, Question::Unique(unique))?.is_empty() {
            return Some(());
        }
        if let Some((property, _)) = self.read_vertex(r, v)? {
            self.set(r, Cell::Vertex(v), (property, unique));
            self.check_unique(r, unique);
            self.check_values(r, v);
        }
        Some(())
    }

    fn insert_vertex(&mut self, r: usize) -> Option<()> {
        let node = self.runs[r].node;
        if self.fault == Fault::LocalIds && self.nodes[node].free_rows.is_empty() {
            let partitions = self.nodes[node].now.partitions.values();
            let cells = partitions.flat_map(|partition| partition.at(Timestamp::MAX).into_keys());
            let vertices = cells.filter_map(|cell| match cell {
                Cell::Vertex(v) => Some(v),
                _ => None,
            });
            let top = vertices.max().unwrap_or(0).max(VERTICES - 1);
            self.nodes[node].free_rows.push(top + 1);
        }
        let Some(v) = self.nodes[node].free_rows.pop() else {
            let id = self.new_id(node);
            let touches = vec![Subject::Groups(LABEL).hash(SALT)];
            self.send(node, id.number, RecordBody::Rows { label: LABEL, partition: PartitionId(0), touches });
            return Some(());
        };
        let unique = self.some_unique();
        if self.read(r, Question::Unique(unique))?.is_empty() {
            self.set(r, Cell::Vertex(v), (0, unique));
            self.check_unique(r, unique);
            self.runs[r].members.push((v, true));
        }
        Some(())
    }

    /// Deletes a vertex with its edges.
    fn delete_vertex(&mut self, r: usize) -> Option<()> {
        let v = self.some_vertex();
        if self.read_vertex(r, v)?.is_none() || self.is_new(r, v) {
            return Some(());
        }
        let (out, into) = (self.read(r, Question::Out(v))?, self.read(r, Question::In(v))?);
        for (cell, _) in out.into_iter().chain(into) {
            match cell {
                Cell::Out(source, target, k) | Cell::In(target, source, k) => {
                    self.remove_edge(r, source, target, k);
                }
                Cell::Vertex(_) => {}
            }
        }
        self.remove(r, Cell::Vertex(v));
        self.runs[r].members.push((v, false));
        self.check(r, [GraphKey::Record(v)]);
        if self.fault != Fault::AdjacencyUnchecked {
            self.check(r, [GraphKey::Adjacency(v)]);
        }
        Some(())
    }

    /// Adds an edge, perhaps beside others.
    fn insert_edge(&mut self, r: usize) -> Option<()> {
        let (source, target) = (self.some_vertex(), self.some_vertex());
        if source == target
            || self.read_vertex(r, source)?.is_none()
            || self.read_vertex(r, target)?.is_none()
        {
            return Some(());
        }
        let there = self.read(r, Question::Out(source))?;
        let is_free = |k: &u16| {
            let cell = Cell::Out(source, target, *k);
            !there.iter().any(|(taken, _)| *taken == cell) && !self.runs[r].gone.contains(&cell)
        };
        let k = (0..).find(is_free).expect("there are few edges");
        self.set(r, Cell::Out(source, target, k), (0, 0));
        self.set(r, Cell::In(target, source, k), (0, 0));
        // The list was read for a free discriminator alone: the name is what is checked, not the list.
        self.runs[r].reads.pop();
        self.check(r, [GraphKey::Edge(source, target, k)]);
        for v in [source, target] {
            if !self.is_new(r, v) && self.fault != Fault::EndsUnchecked {
                self.check(r, [GraphKey::Vertex(v)]);
            }
        }
        Some(())
    }

    fn delete_edge(&mut self, r: usize) -> Option<()> {
        let v = self.some_vertex();
        if let Some((cell, _)) = self.read(r, Question::Out(v))?.first().copied()
            && let Cell::Out(source, target, k) = cell
            && !self.runs[r].own.contains_key(&cell)
        {
            self.remove_edge(r, source, target, k);
            self.check(r, [GraphKey::Edge(source, target, k)]);
        }
        Some(())
    }

    fn read_neighbors(&mut self, r: usize) -> Option<()> {
        let v = self.some_vertex();
        for (cell, _) in self.read(r, Question::Out(v))? {
            if let Cell::Out(_, target, _) = cell {
                self.read(r, Question::Vertex(target))?;
            }
        }
        Some(())
    }

    /// What is counted becomes the property of a vertex, so that a phantom would show.
    fn count_into(&mut self, r: usize, question: Question) -> Option<()> {
        let count = self.read(r, question)?.len() as u8;
        if self.runs[r].is_read_only {
            return Some(());
        }
        let v = self.some_vertex();
        if let Some((_, unique)) = self.read_vertex(r, v)? {
            self.set(r, Cell::Vertex(v), (count % 6, unique));
            self.check_values(r, v);
        }
        Some(())
    }
}
