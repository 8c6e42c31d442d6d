//! The explorations, and the position from which a run continues.

use leasehold_testkit::explore::{ALL, Position, command};

use crate::fake::Outcome;

#[test]
fn command_of_an_exploration_sets_its_depth_and_seed() {
    let shown = command(&ALL[0], 7).shown();
    assert_eq!(
        shown,
        "LEASEHOLD_DEPTH=\"20\" LEASEHOLD_SEED=\"7\" cargo test --locked --all-features \
         --package leasehold-simulation --test it seeds::every_seed"
    );
}

#[test]
fn position_continues_in_the_next_round_after_the_last_exploration() {
    let mut position = Position::FIRST;
    for _ in 0..3 {
        position = position.next(3);
    }
    assert_eq!(position, Position { seed: 2, done: 0 });
    assert_eq!(position.next(3), Position { seed: 2, done: 1 });
}

#[test]
fn written_position_is_read_and_an_unreadable_one_is_the_first() -> Outcome {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("explore.json");
    assert_eq!(Position::read(&file), Position::FIRST);
    let position = Position { seed: 5, done: 2 };
    position.write(&file)?;
    assert_eq!(Position::read(&file), position);
    std::fs::write(&file, "{")?;
    assert_eq!(Position::read(&file), Position::FIRST);
    Ok(())
}
