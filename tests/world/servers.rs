//! A server's keyspace as the properties see it: who wrote what, whose entry a
//! command touches, what time and faults make of it.

use crate::world_support::notation::{STEP, written};
use lockproof_lua::text::{self, Reading, Span, Symbol};
use lockproof_lua::{RefusalKind, Scale};
use lockproof_model::lock::Keys;
use lockproof_model::world::execute::{Effect, Executed, Executor};
use lockproof_model::world::node::{Holders, KeyRules, Keyspace, Most};
use lockproof_model::world::owners::Author;
use lockproof_model::world::symbols::{self, People, STALE, ToLocal};
use lockproof_redis::{Bytes, Reply, ScriptEngine, Value};
use proptest::prelude::*;

const A: u8 = 0;
const B: u8 = 1;

const SCALE: Scale = Scale {
    tick_ms: 1000,
    step_ms: STEP,
    horizon_ms: 10 * STEP,
};

fn rules() -> KeyRules {
    KeyRules {
        dialect: lockproof_redis::Dialect::default(),
        keys: Keys::default(),
        key: "lock".into(),
        objects: None,
        by_sha: Default::default(),
    }
}

fn argv(words: &str) -> Vec<Bytes> {
    words.split(' ').map(notation).collect()
}

/// Names in words; `@` is a time of the present.
fn notation(word: &str) -> Bytes {
    match word {
        "@" => Symbol::Time(Span::default(), Reading::default()).text(),
        word => written(word),
    }
}

fn run_argv(keyspace: &Keyspace, client: u8, argv: &[Bytes]) -> Executed {
    let mut scripts = ScriptEngine::new().unwrap();
    let rules = rules();
    Executor::canonical(&mut scripts, &rules, SCALE).execute(
        keyspace,
        Author::alone(client),
        argv,
        (false, 0),
    )
}

fn run(keyspace: &Keyspace, client: u8, words: &str) -> Executed {
    run_argv(keyspace, client, &argv(words))
}

fn holders(keyspace: &Keyspace) -> Holders {
    keyspace.holders(3000, STEP, &rules())
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

const OF_A: u8 = 1 << A;

#[test]
fn a_new_entry_is_its_writers_own_creation() {
    let executed = run(&Keyspace::default(), A, "SET lock 1 PX 3000");
    let expected = Effect {
        wrote: true,
        leased: true,
        created: true,
        ..Effect::default()
    };
    assert_eq!(executed.effect, expected);
    let holders = holders(&executed.after);
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
    let victim = Effect {
        victims: OF_A,
        ..Effect::default()
    };
    for words in ["DEL lock", "PEXPIRE lock 1000", "PERSIST lock"] {
        assert_eq!(on_as_key(words), victim, "{words}");
    }
    // The very end that it had: a moment later it would be another.
    assert_eq!(on_as_key("PEXPIRE lock 3000"), victim);
    // What sets no expiry changes none.
    assert_eq!(on_as_key("PEXPIRE lock 3000 GT"), Effect::default());
}

#[test]
fn writing_over_anothers_value_is_a_write_even_where_values_are_equal() {
    for words in ["SET lock 1 PX 3000", "SET lock 2 PX 3000"] {
        let over = Effect {
            overwritten: OF_A,
            victims: OF_A,
            wrote: true,
            leased: true,
            ..Effect::default()
        };
        assert_eq!(on_as_key(words), over, "{words}");
    }
    let executed = run(
        &after(&[(A, "SET lock 1 PX 3000")]),
        B,
        "SET lock 1 PX 3000",
    );
    assert_eq!(holders(&executed.after).leased, 1 << B);
}

#[test]
fn counting_writes_over_nothing_and_setting_a_number_does() {
    let cases = [
        ("SET lock 1", "INCR lock", "SET lock 0"),
        ("HSET lock n 1", "HINCRBY lock n -1", "HSET lock n 0"),
        ("ZADD lock 1 m", "ZINCRBY lock 1 m", "ZADD lock 2 m"),
    ];
    for (before, counts, sets) in cases {
        let keyspace = after(&[(A, before)]);
        assert_eq!(run(&keyspace, B, counts).effect.overwritten, 0, "{counts}");
        assert_eq!(run(&keyspace, B, sets).effect.overwritten, OF_A, "{sets}");
    }
}

#[test]
fn deleting_ones_own_entry_is_an_effect_without_a_victim() {
    let keyspace = after(&[(A, "SET lock 1 PX 3000")]);
    let deleted = Effect {
        deleted: true,
        ..Effect::default()
    };
    assert_eq!(run(&keyspace, A, "DEL lock").effect, deleted);
    // Ones own expiry is ones own affair.
    assert_eq!(run(&keyspace, A, "PEXPIRE lock 1").effect.victims, 0);
}

#[test]
fn elements_have_owners_of_their_own() {
    let shared = [(A, "HSET lock <ownA> 1"), (B, "HSET lock <ownB> 1")];
    let keyspace = after(&shared);
    assert_eq!(holders(&keyspace).any, 0b11);
    // Each removes its own, and prolongs for both.
    assert_eq!(run(&keyspace, B, "HDEL lock <ownB>").effect.victims, 0);
    assert_eq!(run(&keyspace, B, "HDEL lock <ownA>").effect.victims, OF_A);
    assert_eq!(run(&keyspace, B, "DEL lock").effect.victims, OF_A);
    let leased = after(&[shared[0], shared[1], (A, "PEXPIRE lock 2000")]);
    assert_eq!(run(&leased, B, "PEXPIRE lock 3000").effect.victims, 0);
    assert_eq!(run(&leased, B, "PEXPIRE lock 1000").effect.victims, OF_A);
    let members = after(&[(A, "ZADD lock 1 <ownA>"), (B, "ZADD lock 2 <ownB>")]);
    assert_eq!(run(&members, B, "ZREM lock <ownB>").effect.victims, 0);
    assert_eq!(run(&members, B, "ZREM lock <ownA>").effect.victims, OF_A);
    let items = after(&[(A, "RPUSH lock <ownA>"), (B, "RPUSH lock <ownB>")]);
    assert_eq!(run(&items, B, "LPOP lock").effect.victims, OF_A);
    assert_eq!(run(&items, A, "LPOP lock").effect.victims, 0);
}

#[test]
fn only_the_locks_own_key_counts_for_the_lease() {
    let keyspace = after(&[(A, "SET lock 1"), (A, "SET other 1 PX 3000")]);
    let holders = holders(&keyspace);
    assert_eq!((holders.any, holders.locked), (OF_A, OF_A));
    assert_eq!((holders.leased, holders.unbounded), (0, OF_A));
    assert!(!run(&keyspace, B, "SET third 1").effect.wrote);
}

#[test]
fn the_writer_is_who_last_wrote_the_value_and_not_who_prolonged_it() {
    let prolonged = after(&[(A, "SET lock 1 PX 3000"), (B, "PEXPIRE lock 9000")]);
    let found = holders(&prolonged);
    assert_eq!(
        (found.any, found.leased),
        (OF_A, 0),
        "longer than was asked for"
    );
    for value in ["1", "2"] {
        let words = format!("SET lock {value}");
        let overwritten = after(&[(A, "SET lock 1"), (B, &words)]);
        assert_eq!(holders(&overwritten).unbounded, 1 << B, "{value}");
    }
}

#[test]
fn scripts_are_judged_by_what_they_leave() {
    let keyspace = after(&[(A, "SET lock 1 PX 3000")]);
    let text = "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], '1', 'PX', 3000)";
    let words: Vec<Bytes> = ["EVAL", text, "1", "lock"].map(|word| word.into()).to_vec();
    let executed = run_argv(&keyspace, B, &words);
    assert_eq!(executed.replies, [Reply::Status("OK".into())]);
    assert!(executed.refusal.is_none(), "{:?}", executed.refusal);
    assert_eq!(holders(&executed.after).leased, 1 << B);
}

#[test]
fn an_entry_is_there_at_its_last_millisecond_and_gone_after_it() {
    let keyspace = after(&[(A, "SET lock 1 PX 3000")]);
    let there = |ms| run(&keyspace.advance_concrete(ms), B, "EXISTS lock").replies;
    assert_eq!(there(3000), [Reply::Int(1)]);
    assert_eq!(there(3001), [Reply::Int(0)]);
    let ticks = |count: usize| (0..count).fold(keyspace.clone(), |k, _| k.advance(SCALE));
    assert_ne!(ticks(2), Keyspace::default());
    assert_eq!(ticks(3), Keyspace::default());
}

#[test]
fn a_jump_moves_lives_up_to_the_bound_and_shows_only_where_it_can_be_seen() {
    let keyspace = after(&[(A, "SET lock 1 PX 3000"), (A, "SET other 2")]);
    let most = Most {
        life_ms: 3000 + 2 * STEP,
        offset_ms: 2 * STEP,
    };
    let jump = |ticks, visible| keyspace.jump(ticks, SCALE, visible, most);
    let left = |keyspace: &Keyspace| {
        let entry = keyspace
            .entries()
            .iter()
            .find(|entry| entry.key == b"lock")?;
        entry.life.map(|life| life.value(STEP))
    };
    assert_eq!(left(&jump(1, false)), Some(3000 - STEP));
    assert_eq!(left(&jump(-1, false)), Some(3000 + STEP));
    assert_eq!(left(&jump(-8, false)), Some(3000 + 2 * STEP));
    assert_eq!(left(&jump(3, false)), None);
    let back_and_forth = jump(-1, false).jump(1, SCALE, false, most);
    assert_eq!(back_and_forth, keyspace);
    let seen = jump(-1, true);
    assert_ne!(seen, jump(-1, false));
    assert!(seen.same_content(&jump(-1, false)));
}

#[test]
fn a_count_that_is_moved_high_is_so_many_or_more_and_one_that_is_set_is_itself() {
    let at = |n: &str| after(&[(A, &format!("SET n {n}"))]);
    let text = |keyspace: &Keyspace| match &keyspace.entries()[0].value {
        Value::String(text) => text::printable(text),
        Value::Hash(hash) => text::printable(&hash[b"f".as_slice()]),
        other => panic!("{other:?}"),
    };
    let moved = |n: &str, words: &str| text(&run(&at(n), A, words).after);
    assert_eq!(moved("6", "INCR n"), "<7 or more>");
    assert_eq!(moved("5", "INCR n"), "6");
    assert_eq!(moved("6", "SET n 5000"), "5000");
    assert_eq!(run(&at("6"), A, "INCR n").overflow, None);
    assert_eq!(run(&at("-6"), A, "DECR n").overflow, Some("n".into()));
    let hash = after(&[(A, "HSET h f 6"), (A, "HINCRBY h f 1")]);
    assert_eq!(text(&hash), "<7 or more>");
    // Up it is no more than that; down each step counts.
    let up = run(&hash, A, "HINCRBY h f 3").after;
    assert_eq!(text(&up), "<7 or more>");
    let down = run(&up, A, "HINCRBY h f -2");
    assert_eq!(text(&down.after), "<5 or more>");
    assert_eq!(
        down.replies,
        [Reply::Bulk(Symbol::ManyCount(5).text())],
        "the reply is as much as is known"
    );
}

#[test]
fn a_high_count_is_compared_where_all_that_it_may_be_agree() {
    let high = after(&[(A, "HSET lock f 6"), (A, "HINCRBY lock f 1")]);
    let eval = |keyspace: &Keyspace, body: &str| {
        let argv = [
            b"EVAL".to_vec(),
            body.into(),
            b"1".to_vec(),
            b"lock".to_vec(),
        ];
        run_argv(keyspace, A, &argv)
    };
    let count = "redis.call('hincrby', KEYS[1], 'f', 0)";
    let yes = |condition: &str| {
        let executed = eval(
            &high,
            &format!("local n = {count}\nreturn {condition} and 1 or 0"),
        );
        assert_eq!(executed.refusal, None, "{condition}");
        executed.replies == [Reply::Int(1)]
    };
    for condition in [
        "n > 0",
        "n ~= 0",
        "n > 6",
        "n - 1 > 0",
        "n ~= 1",
        "not (n < 1)",
    ] {
        assert!(yes(condition), "{condition}");
    }
    for condition in ["n == 0", "n < 1", "n <= 6", "n == 6"] {
        assert!(!yes(condition), "{condition}");
    }
    for condition in ["n == 7", "n > 7", "n == 50", "n % 2 == 0"] {
        let executed = eval(
            &high,
            &format!("local n = {count}\nreturn {condition} and 1 or 0"),
        );
        let (refusal, _) = executed.refusal.expect(condition);
        assert_eq!(refusal.kind, RefusalKind::Horizon, "{condition}");
    }
    // Below 1 nothing is said of it.
    let low = run(&high, A, "HINCRBY lock f -7").after;
    let executed = eval(&low, &format!("if {count} == 0 then return 1 end"));
    assert!(executed.refusal.is_some());
    let executed = run(&low, A, "HINCRBY lock f -1");
    assert!(executed.refusal.is_some());
}

#[test]
fn a_time_is_no_counter() {
    let at = |n: &str| after(&[(A, &format!("SET n {n}"))]);
    // A time is no counter, nor anything else that a server may compute with.
    let refusal = run(&at("@"), A, "INCRBY n 5").refusal;
    let (refusal, in_script) = refusal.unwrap();
    assert_eq!((refusal.kind, in_script), (RefusalKind::Digits, false));
}

#[test]
fn retirement_reaches_every_place_where_a_token_can_stand() {
    let keyspace = after(&[
        (A, "SET <tokA0> <tokA1>"),
        (A, "HSET hash <tokA0> <tokB0>"),
        (A, "RPUSH list <tokA1> <tokA0>"),
        (A, "ZADD set 1 <tokA0>"),
    ]);
    let mut map = [STALE; symbols::NAMED];
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

/// Four clients, A and B with one owner id or with two.
fn four(shared_owner: bool) -> People {
    People {
        clients: 4,
        shared_owner,
        shared_handle: false,
        objects: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// What a client sends and reads back is what it sent, whatever its clock shows.
    #[test]
    fn translation_to_the_servers_and_back_is_the_identity(
        me in 0u8..4, shared: bool, skew in -5i32..5, ms in -3_000i64..3_000, ticks in -3i32..3,
    ) {
        let local = |text: &[u8], me| ToLocal::new(me, four(shared), skew, FAR).text(text);
        let stamp = |ticks| Symbol::Time(Span { ms, ticks }, Reading::default()).text();
        let name = |name| Symbol::Name(name).text();
        let text = [
            name(symbols::token(me, 0)), b":".to_vec(), stamp(ticks), b":".to_vec(),
            name(symbols::owner(lockproof_trace::owner_of(me, shared))), b":42".to_vec(),
        ].concat();
        // The servers' time is what the client's clock shows, less its offset.
        let own = local(&text, me);
        prop_assert_ne!(&own, &text);
        prop_assert_eq!(symbols::to_server(&own, me, four(shared), skew, FAR), text.clone());
        // Everybody reads the same ms, from their own side.
        let read = local(&text, (me + 1) % 4);
        prop_assert_ne!(&read, &own);
        prop_assert_eq!(symbols::mask_times(&symbols::to_server(&stamp(ticks), me, four(shared), skew, FAR)),
            symbols::mask_times(&stamp(0)));
    }

    /// A tick on the server and on the client's clock is the same tick.
    #[test]
    fn ageing_commutes_with_translation(skew in -5i32..5, ms in -3_000i64..3_000, ticks in -3i32..3) {
        let local = |text: &[u8]| ToLocal::new(0, four(false), skew, FAR).text(text);
        let age = |text: &[u8]| symbols::age(text, 1, FAR, None);
        let stored = Symbol::Time(Span { ms, ticks }, Reading::default()).text();
        prop_assert_eq!(local(&age(&stored)), age(&local(&stored)));
    }
}

/// A horizon beyond everything in these tests.
const FAR: Scale = Scale {
    horizon_ms: 100 * STEP,
    ..SCALE
};
