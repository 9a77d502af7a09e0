//! Stack: recursion over nested queries continues on a new stack when the thread's is nearly used up.
//!
//! A query may be nested as deeply as [`ParseLimits`](crate::gremlin::parser::ParseLimits) says, and what a level takes depends
//! on how the program was compiled; a thread may have little stack, and an overflow ends the process. So whatever calls itself a
//! level deeper does so by [`deeper`]: reading, checking, planning and running a query. Only dropping, copying and comparing
//! plans don't, which take little a level.

/// So much is left before a level begins: no level takes as much, in whatever way it was compiled.
const LEFT_BYTES_MIN: usize = 128 << 10;

/// Another stack has this.
const STACK_BYTES: usize = 1 << 20;

/// Does `work`, which is a level deeper.
///
/// Cost: a look at how much stack is left; another stack where that is little.
pub fn deeper<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(LEFT_BYTES_MIN, STACK_BYTES, work)
}
