//! A server's keyspace as the properties see it: who wrote what, whose entry a
//! command touches, what time and faults make of it.

use lockproof::redis::{Bytes, Reply, ScriptEngine};
use lockproof::world::node::{Effect, Executed, Keyspace};
use lockproof::world::symbols::{self, PRESENT, STALE};
use proptest::prelude::*;

const A: u8 = 0;
const B: u8 = 1;

fn argv(words: &str) -> Vec<Bytes> {
    words
        .split(' ')
        .map(|word| word.as_bytes().to_vec())
        .collect()
}

fn run(keyspace: &Keyspace, client: u8, words: &str) -> Executed {
    let mut scripts = ScriptEngine::new().unwrap();
    keyspace.execute(&mut scripts, client, &argv(words))
}

/// What remains of these commands on an empty server.
fn after(commands: &[(u8, &str)]) -> Keyspace {
    let empty = Keyspace::default();
    commands.iter().fold(empty, |keyspace, (client, words)| {
        run(&keyspace, *client, words).after
    })
}

/// The effect of B's command on A's `lock=1` with 3 s to live.
fn on_as_key(words: &str) -> Effect {
    run(&after(&[(A, "SET lock 1 PX 3000")]), B, words).effect
}

fn effect(victims: u8, own: bool, created: bool) -> Effect {
    Effect {
        victims,
        own,
        created,
    }
}

const OF_A: u8 = 1 << A;

#[test]
fn a_new_entry_is_its_writers_own_creation() {
    let executed = run(&Keyspace::default(), A, "SET lock 1 PX 3000");
    assert_eq!(executed.effect, effect(0, true, true));
    let holders = executed.after.holders(3000);
    assert_eq!(
        (holders.any, holders.leased, holders.unbounded),
        (OF_A, OF_A, 0)
    );
}

#[test]
fn a_refused_command_and_a_read_do_nothing() {
    for words in [
        "SET lock 2 NX PX 3000",
        "GET lock",
        "PTTL lock",
        "HGET lock f",
        "DEL other",
    ] {
        assert_eq!(on_as_key(words), Effect::default(), "{words}");
    }
}

#[test]
fn deleting_or_expiring_anothers_entry_makes_a_victim_even_where_values_are_equal() {
    for words in [
        "DEL lock",
        "PEXPIRE lock 1000",
        "PERSIST lock",
        "SET lock 1 PX 1000",
    ] {
        assert_eq!(on_as_key(words), effect(OF_A, false, false), "{words}");
    }
    // It wrote another value as well.
    assert_eq!(on_as_key("SET lock 2"), effect(OF_A, true, false));
    // An expiry that stays what it was shortens and prolongs nothing.
    assert_eq!(on_as_key("PEXPIRE lock 3000"), Effect::default());
}

#[test]
fn deleting_ones_own_entry_is_an_effect_without_a_victim() {
    let keyspace = after(&[(A, "SET lock 1 PX 3000")]);
    assert_eq!(run(&keyspace, A, "DEL lock").effect, effect(0, true, false));
    assert_eq!(
        run(&keyspace, A, "PEXPIRE lock 1").effect,
        Effect::default()
    );
}

#[test]
fn the_writer_is_who_last_changed_the_value_and_not_who_prolonged_it() {
    let prolonged = after(&[(A, "SET lock 1 PX 3000"), (B, "PEXPIRE lock 9000")]);
    let holders = prolonged.holders(3000);
    assert_eq!(
        (holders.any, holders.leased),
        (OF_A, 0),
        "longer than was asked for"
    );
    let overwritten = after(&[(A, "SET lock 1"), (B, "SET lock 2")]);
    assert_eq!(overwritten.holders(3000).unbounded, 1 << B);
}

#[test]
fn scripts_are_judged_by_what_they_leave() {
    let mut scripts = ScriptEngine::new().unwrap();
    let keyspace = after(&[(A, "SET lock 1 PX 3000")]);
    let text = "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], '1', 'PX', 3000)";
    let words: Vec<Bytes> = ["EVAL", text, "1", "lock"].map(|word| word.into()).to_vec();
    let executed = keyspace.execute(&mut scripts, B, &words);
    assert_eq!(executed.effect, Effect::default());
    assert_eq!(executed.reply, Reply::Status("OK".into()));
    assert_eq!(executed.after, keyspace);
}

#[test]
fn an_entry_is_there_at_its_last_millisecond_and_gone_after_it() {
    let keyspace = after(&[(A, "SET lock 1 PX 3000")]);
    let there = |ms| run(&keyspace.advance(ms, 10_000), B, "EXISTS lock").reply;
    assert_eq!((there(3000), there(3001)), (Reply::Int(1), Reply::Int(0)));
    assert_eq!(keyspace.advance(3001, 10_000), Keyspace::default());
}

#[test]
fn a_jump_moves_lives_up_to_the_bound_and_shows_only_where_it_can_be_seen() {
    let keyspace = after(&[(A, "SET lock 1 PX 3000"), (A, "SET other 2")]);
    let left = |keyspace: &Keyspace| run(keyspace, A, "PTTL lock").reply;
    assert_eq!(left(&keyspace.jump(1000, false, 9000)), Reply::Int(2000));
    assert_eq!(left(&keyspace.jump(-1000, false, 9000)), Reply::Int(4000));
    assert_eq!(left(&keyspace.jump(-8000, false, 9000)), Reply::Int(9000));
    assert_eq!(left(&keyspace.jump(3001, false, 9000)), Reply::Int(-2));
    let back_and_forth = keyspace.jump(-1000, false, 9000).jump(1000, false, 9000);
    assert_eq!(back_and_forth, keyspace);
    let seen = keyspace.jump(-1000, true, 9000);
    assert_ne!(seen, keyspace.jump(-1000, false, 9000));
    assert!(seen.same_content(&keyspace.jump(-1000, false, 9000)));
}

#[test]
fn a_counter_that_is_moved_far_overflows_and_one_that_is_set_does_not() {
    let at = |n: &str| after(&[(A, &format!("SET n {n}"))]);
    assert_eq!(run(&at("6"), A, "INCR n").overflow, Some("n".into()));
    assert_eq!(run(&at("5"), A, "INCR n").overflow, None);
    assert_eq!(run(&at("6"), A, "SET n 5000").overflow, None);
    assert_eq!(run(&at("-6"), A, "DECR n").overflow, Some("n".into()));
    let hash = after(&[(A, "HSET h f 6")]);
    assert_eq!(run(&hash, A, "HINCRBY h f 1").overflow, Some("h".into()));
    let stamp = PRESENT.to_string();
    assert_eq!(
        run(&at(&stamp), A, "INCRBY n 5").overflow,
        None,
        "a time moves by design"
    );
}

#[test]
fn retirement_reaches_every_place_where_a_token_can_stand() {
    let keyspace = after(&[
        (A, "SET <tokA0> <tokA1>"),
        (A, "HSET hash <tokA0> <tokB0>"),
        (A, "RPUSH list <tokA1> <tokA0>"),
        (A, "ZADD set 1 <tokA0>"),
    ]);
    let mut map = [STALE; symbols::GENERATIONS as usize];
    map[0] = 1;
    let expected = after(&[
        (A, "SET <tokA1> <tokAs>"),
        (A, "HSET hash <tokA1> <tokB0>"),
        (A, "RPUSH list <tokAs> <tokA1>"),
        (A, "ZADD set 1 <tokA1>"),
    ]);
    assert_eq!(keyspace.retire(A, &map), expected);
    // B's tokens are B's.
    assert_eq!(
        after(&[(B, "SET lock <tokB0>")]).retire(A, &map),
        after(&[(B, "SET lock <tokB0>")])
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// What a client sends and reads back is what it sent, whatever its clock shows.
    #[test]
    fn translation_to_the_servers_and_back_is_the_identity(
        me in 0u8..4, skew in -5_000i64..5_000, distance in -9_000i64..9_000,
    ) {
        let text = format!("<tok.0>:{}:<own.0>:42", PRESENT + distance).into_bytes();
        let sent = symbols::to_server(&text, me, skew, 20_000).unwrap();
        prop_assert_eq!(symbols::to_local(&sent, me, skew, 20_000), text);
        let shown = format!("<tok{0}0>:{1}:<own{0}>:42", symbols::letter(me), PRESENT + distance + skew);
        prop_assert_eq!(sent, shown.into_bytes());
    }

    /// A tick on the server and on the client's clock is the same tick.
    #[test]
    fn ageing_commutes_with_translation(skew in -5_000i64..5_000, distance in -9_000i64..9_000) {
        let stored = (PRESENT + distance).to_string().into_bytes();
        let aged = symbols::shift(&stored, -1001, 40_000);
        let read_then_aged = symbols::shift(&symbols::to_local(&stored, 0, skew, 40_000), -1001, 40_000);
        prop_assert_eq!(symbols::to_local(&aged, 0, skew, 40_000), read_then_aged);
    }
}
