//! Accidents: random damage to a database's files, some at once. Salvage gives no wrong value and lists every
//! loss.

use std::ops::ControlFlow;

use evergraph_storage::io::directory::{Directory, OpenMode};
use proptest::prelude::*;

use crate::backup::{graph, open};
use crate::salvage::{Damage, Fixture, change, large, salvage, small};

/// Something that happens to a file.
#[derive(Clone, Debug)]
enum Accident {
    Flip(prop::sample::Index),
    Zeros(prop::sample::Index, u64),
    Cut(prop::sample::Index),
    Gone,
}

fn any_accident() -> impl Strategy<Value = (prop::sample::Index, Accident)> {
    let at = any::<prop::sample::Index>;
    let accident = prop_oneof![
        8 => at().prop_map(Accident::Flip),
        3 => (at(), 1u64..200_000).prop_map(|(at, length)| Accident::Zeros(at, length)),
        1 => at().prop_map(Accident::Cut),
        1 => Just(Accident::Gone),
    ];
    (at(), accident)
}

/// Salvages what accidents left of `fixture`.
fn survives(fixture: &Fixture, accidents: Vec<(prop::sample::Index, Accident)>) {
    let image = fixture.directory.power_cut();
    let is_ours = |name: &String| name.starts_with("bodies-") || name.starts_with("log-");
    let names: Vec<String> = image.list().unwrap().into_iter().filter(is_ours).collect();
    for (file, accident) in accidents {
        let name = file.get(&names);
        let Ok(file) = image.open(name, OpenMode::ReadWrite) else { continue };
        let bytes = image.read_all(name, 1 << 30).unwrap();
        // The zeros behind the log's end aren't worth hitting.
        let Some(last) = bytes.iter().rposition(|byte| *byte != 0) else { continue };
        let length = last + 1;
        match accident {
            Accident::Flip(at) => change(&image, name, at.index(length) as u64, 1, |byte| byte ^ 8),
            Accident::Zeros(at, count) => {
                let at = at.index(length) as u64;
                change(&image, name, at, count.min(bytes.len() as u64 - at), |_| 0);
            }
            Accident::Cut(at) => file.set_len(at.index(length) as u64).unwrap(),
            Accident::Gone => image.remove(name).unwrap(),
        }
    }
    let (made, target) = salvage(&image).unwrap();
    let saved = open(&target).unwrap();
    assert!(saved.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap().is_healthy());
    fixture.compare(&made, &graph(&saved), Damage::Anywhere);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_happens_to_bodies_and_log_no_value_is_wrong_and_no_loss_unlisted(
        accidents in prop::collection::vec(any_accident(), 1..5),
    ) {
        survives(small(), accidents);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 20, ..ProptestConfig::with_cases(8) })]

    #[test]
    fn whatever_happens_to_a_database_of_many_blocks_no_value_is_wrong_and_no_loss_unlisted(
        accidents in prop::collection::vec(any_accident(), 1..5),
    ) {
        survives(large(), accidents);
    }
}
