//! Pipeline: reads, parses and places blocks concurrently, in rounds.
//!
//! ```text
//!            round 1     round 2     round 3     round 4
//! read       A B         C D         E F         -           one thread (unpacking is serial)
//! parse                  A B         C D         E F         all the others
//! place                              A B         C D   ...   one thread, in the order of the file
//! ```
//!
//! Whoever has nothing left to do in a round helps with parsing. Between rounds the caller's thread
//! reports progress and looks whether it should stop. Memory: three rounds of blocks.
//!
//! The outcome doesn't depend on the number of threads: blocks are placed in the order of reading,
//! and an error of reading waits until the blocks before it are placed.

use evergraph_graph::error::{Error, Result};
use rayon::ThreadPool;
use rayon::prelude::*;

/// Passes every block of `read` through `parse` and then, in order, to `place`.
///
/// `read` gives one block a call, `None` at the end. `place` returns the rows it took; `pause` is
/// called between rounds, on the calling thread, with the rows taken so far.
///
/// # Errors
/// The first error in the order of blocks; or that of `pause`.
pub fn run<Block: Send, Parsed: Send>(
    pool: &ThreadPool,
    mut read: impl FnMut() -> Result<Option<Block>> + Send,
    parse: impl Fn(Block) -> Parsed + Sync,
    mut place: impl FnMut(Parsed) -> Result<u64> + Send,
    mut pause: impl FnMut(u64) -> Result<()>,
) -> Result<()> {
    let blocks_per_round = pool.current_num_threads() * 2;
    let mut end: Option<std::result::Result<(), Error>> = None;
    let mut blocks: Vec<Block> = Vec::new();
    let mut parsed: Vec<Parsed> = Vec::new();
    let mut rows = 0;
    loop {
        pause(rows)?;
        let read_round = || {
            let mut round = Vec::new();
            while end.is_none() && round.len() < blocks_per_round {
                match read() {
                    Ok(Some(block)) => round.push(block),
                    Ok(None) => end = Some(Ok(())),
                    Err(error) => end = Some(Err(error)),
                }
            }
            round
        };
        let parse_round = || blocks.into_par_iter().map(&parse).collect::<Vec<Parsed>>();
        let place_round = || -> Result<()> {
            for block in parsed {
                rows += place(block)?;
            }
            Ok(())
        };
        // A second thread takes what was offered first, which is placing: the two that no other can help with run side
        // by side, and parsing, which all share, fills up.
        let ((next_blocks, next_parsed), placed) =
            pool.install(|| rayon::join(|| rayon::join(read_round, parse_round), place_round));
        placed?;
        (blocks, parsed) = (next_blocks, next_parsed);
        if blocks.is_empty()
            && parsed.is_empty()
            && let Some(end) = end
        {
            pause(rows)?;
            return end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(threads: usize) -> ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    fn numbers(count: u64) -> impl FnMut() -> Result<Option<u64>> + Send {
        let mut numbers = 0..count;
        move || Ok(numbers.next())
    }

    #[test]
    fn blocks_are_placed_in_order_with_any_number_of_threads() {
        for (threads, count) in [(1, 0), (1, 1), (1, 7), (2, 100), (3, 12)] {
            let mut placed = Vec::new();
            let mut rows_seen = 0;
            run(
                &pool(threads),
                numbers(count),
                |number| number * 10,
                |number| {
                    placed.push(number);
                    Ok(1)
                },
                |rows| {
                    rows_seen = rows;
                    Ok(())
                },
            )
            .unwrap();
            assert_eq!(placed, (0..count).map(|number| number * 10).collect::<Vec<_>>());
            assert_eq!(rows_seen, count);
        }
    }

    #[test]
    fn an_error_of_reading_waits_for_the_blocks_before_it() {
        let mut count = 0;
        let read = || {
            count += 1;
            if count > 5 { Err(Error::invalid("cut off")) } else { Ok(Some(count)) }
        };
        let mut placed = 0;
        let place = |_| {
            placed += 1;
            Ok(1)
        };
        let error = run(&pool(2), read, |block: u64| block, place, |_| Ok(())).unwrap_err();
        assert_eq!((error.to_string().as_str(), placed), ("cut off", 5));
    }

    #[test]
    fn a_pause_that_fails_stops_the_rounds() {
        let place = |_| Ok(1);
        let pause = |rows| if rows > 0 { Err(Error::invalid("asked to stop")) } else { Ok(()) };
        let error = run(&pool(1), numbers(u64::MAX), |block| block, place, pause).unwrap_err();
        assert_eq!(error.to_string(), "asked to stop");
    }
}
