//! Vertex marks: one bit a vertex, set for the members of one list and cleared after it.

/// Marks of the vertices below a bound.
pub(crate) struct VertexMarks {
    words: Vec<u64>,
}

impl VertexMarks {
    /// No vertex below `bound` is marked.
    pub(crate) fn new(bound: u32) -> Self {
        Self { words: vec![0; bound.div_ceil(64) as usize] }
    }

    /// The memory of marks of `bound` vertices, in bytes.
    pub(crate) fn bytes(bound: u32) -> u64 {
        u64::from(bound.div_ceil(64)) * size_of::<u64>() as u64
    }

    /// Marks `vertex`; whether it was unmarked.
    #[inline]
    pub(crate) fn mark(&mut self, vertex: u32) -> bool {
        let (word, bit) = (&mut self.words[vertex as usize / 64], 1 << (vertex % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Whether `vertex` is marked.
    #[inline]
    pub(crate) fn has(&self, vertex: u32) -> bool {
        self.words[vertex as usize / 64] >> (vertex % 64) & 1 == 1
    }

    /// Takes the mark of `vertex` away.
    #[inline]
    pub(crate) fn clear(&mut self, vertex: u32) {
        self.words[vertex as usize / 64] &= !(1 << (vertex % 64));
    }
}
