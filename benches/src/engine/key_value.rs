//! Keys and values: what the peers are when they keep nodes and links with data.

use crate::engine::store::Store;
use evergraph_graph::error::Result;

/// A change of one key: its new value, or `None` to delete it.
pub type Change<'a> = (&'a [u8], Option<&'a [u8]>);

/// A store of keys and values beside edges. Any thread may use it.
pub trait KeyValue: Store {
    /// Makes `changes`, all or none.
    ///
    /// # Errors
    /// What the engine says.
    fn write(&self, changes: &[Change<'_>]) -> Result<()>;

    /// Whether `key` is there, in a read transaction of its own where the engine has them; its value goes to
    /// `visit`.
    ///
    /// # Errors
    /// What the engine says.
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool>;

    /// Calls `visit` with every key that begins with `prefix` and its value, ascending, as long as it says
    /// true; likewise.
    ///
    /// # Errors
    /// What the engine says.
    fn prefix(&self, prefix: &[u8], visit: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use crate::engine::kind::Kind;
    use crate::engine::store::Commit;

    #[test]
    fn every_peer_keeps_the_same_keys() {
        for kind in &Kind::ALL[1..] {
            let folder = tempfile::tempdir().unwrap();
            let store =
                kind.open_key_value(folder.path(), Commit::Durable).unwrap().expect("a peer keeps keys");
            store.write(&[(b"a1", Some(b"x")), (b"a2", Some(b"y")), (b"b", Some(b"z"))]).unwrap();
            store.write(&[(b"a1", None), (b"a2", Some(b"w")), (b"a3", Some(b""))]).unwrap();
            let mut value: Vec<u8> = Vec::new();
            assert!(store.get(b"a2", &mut |found| value.extend(found)).unwrap());
            assert!(!store.get(b"a1", &mut |_| panic!("{} has what was deleted", kind.name())).unwrap());
            assert_eq!(value, b"w");
            let mut seen = Vec::new();
            let mut visit = |key: &[u8], value: &[u8]| {
                seen.push((key.to_vec(), value.to_vec()));
                seen.len() < 5
            };
            store.prefix(b"a", &mut visit).unwrap();
            assert_eq!(
                seen,
                [(b"a2".to_vec(), b"w".to_vec()), (b"a3".to_vec(), Vec::new())],
                "{}",
                kind.name()
            );
            let mut count = 0;
            store
                .prefix(b"a", &mut |_, _| {
                    count += 1;
                    false
                })
                .unwrap();
            assert_eq!(count, 1, "{}", kind.name());
        }
    }
}
