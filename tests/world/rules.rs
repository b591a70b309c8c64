//! The rules of the world, one at a time: who may move when, what a tick, a
//! fault and a new attempt do to what is stored and in flight.

use crate::world_support::builtin;
use crate::world_support::drive::Drive;
use crate::world_support::notation::shown;
use lockproof_model::lock::Op;
use lockproof_model::world::message::Content;
use lockproof_model::world::moves::{Act, Move};
use lockproof_model::world::symbols::PRESENT;
use lockproof_redis::Reply;

const A: u8 = 0;
const B: u8 = 1;

fn token(words: &str) -> Drive {
    Drive::of(&builtin("token"), words)
}

/// The token lock with client A holding it.
fn held(words: &str) -> Drive {
    let mut drive = token(words);
    drive.acquire(A).answer(A);
    drive
}

// ---- attempts and their tokens ----

#[test]
fn two_old_requests_of_one_client_keep_their_own_tokens() {
    let mut drive = token("node-pause");
    drive.take(Move::PauseNode { node: 0 });
    drive.acquire(A).tick().give_up(A);
    assert_eq!(drive.requests(A), ["SET lock <tokA0> NX PX 3000"]);
    drive.acquire(A).tick().give_up(A).acquire(A);
    let tokens = ["<tokA0>", "<tokA1>", "<tokA2>"];
    let expected = tokens.map(|token| format!("SET lock {token} NX PX 3000"));
    assert_eq!(drive.requests(A), expected);
    // The middle one wins; the one that is waited for is told so.
    drive.take(Move::ResumeNode { node: 0 });
    drive.execute(A, "<tokA1>").execute(A, "<tokA0>");
    assert_eq!(drive.keyspace(), "lock=<tokA1> Some(3000)");
    assert_eq!(drive.reply(A).1, Reply::Nil);
}

#[test]
fn a_token_that_no_message_names_becomes_stale_and_the_others_move_up() {
    let mut drive = token("node-pause");
    drive.take(Move::PauseNode { node: 0 });
    drive
        .acquire(A)
        .tick()
        .give_up(A)
        .acquire(A)
        .tick()
        .give_up(A);
    drive.take(Move::ResumeNode { node: 0 });
    drive.execute(A, "<tokA1>");
    assert_eq!(drive.keyspace(), "lock=<tokA1> Some(3000)");
    drive.acquire(A);
    assert_eq!(drive.keyspace(), "lock=<tokAs> Some(3000)");
    let left = ["SET lock <tokA0> NX PX 3000", "SET lock <tokA1> NX PX 3000"];
    assert_eq!(drive.requests(A), left);
}

#[test]
fn an_old_release_leaves_the_key_of_the_present_attempt_alone() {
    let mut drive = held("node-pause");
    drive.take(Move::PauseNode { node: 0 }).release(A);
    drive.tick().give_up(A).tick().tick();
    assert_eq!(drive.keyspace(), "", "the lease is over");
    drive.acquire(A).take(Move::ResumeNode { node: 0 });
    drive.execute(A, "SET lock <tokA0>").execute(A, "EVAL");
    assert_eq!(drive.keyspace(), "lock=<tokA0> Some(3000)");
    drive.deliver(A);
    assert!(drive.world.believes(&drive.state, 0));
}

#[test]
fn another_clients_attempt_renames_nothing_of_mine() {
    let mut drive = held("");
    drive.acquire(B);
    assert_eq!(drive.keyspace(), "lock=<tokA0> Some(3000)");
    assert_eq!(drive.requests(B), ["SET lock <tokB0> NX PX 3000"]);
}

// ---- clocks ----

#[test]
fn a_skewed_client_writes_its_own_time_and_reads_others_from_its_own_side() {
    let file = builtin("getset-timestamp");
    for (ticks, other) in [(2i64, 0), (-2, 2)] {
        let mut drive = Drive::of(&file, "client-skew");
        let skews = drive.world.tables.needs.skews.clone();
        let skew = skews.iter().position(|skew| i64::from(*skew) == ticks);
        let skew = skew.unwrap() as u8;
        drive.take(Move::Skew { client: A, skew });
        assert_eq!(i64::from(drive.world.skew_ticks(&drive.state, A)), ticks);
        // ttl + tolerance from its own present.
        let stored = PRESENT + 4000 + ticks * 1001;
        drive.acquire(A);
        assert_eq!(drive.requests(A), [format!("SETNX lock {stored}")]);
        drive.answer(A).answer(A).acquire(B).answer(B);
        assert_eq!(drive.requests(B), ["GET lock"]);
        drive.execute(B, "GET");
        let (reply, expected) = (drive.reply(B).1, stored.to_string());
        assert_eq!(in_words(&reply), expected);
        // The same reply on the clocks of both.
        let tables = &drive.world.tables;
        let id = tables.closure.replies.find(&reply).unwrap();
        let read = |client: u8, skew: u8| {
            let local = tables.local_reply(client.into(), skew.into(), id);
            in_words(tables.closure.local_replies.get(local))
        };
        assert_eq!(read(A, skew), (PRESENT + 4000).to_string());
        assert_eq!(read(B, 1), expected);
        let third = PRESENT + 4000 + ticks * 1001 - i64::from(skews[other]) * 1001;
        assert_eq!(read(B, other as u8), third.to_string());
    }
}

fn in_words(reply: &Reply) -> String {
    match reply {
        Reply::Bulk(text) => shown(text),
        other => panic!("no text: {other:?}"),
    }
}

#[test]
fn a_stored_time_ages_with_every_tick() {
    let mut drive = Drive::of(&builtin("getset-timestamp"), "");
    drive.acquire(A).answer(A).answer(A);
    let left = |ticks: i64| PRESENT + 4000 - ticks * 1001;
    assert!(drive.keyspace().starts_with(&format!("lock={} ", left(0))));
    drive.tick().tick();
    assert!(drive.keyspace().starts_with(&format!("lock={} ", left(2))));
}

#[test]
fn a_server_clock_that_jumps_shortens_and_lengthens_lives() {
    let jump = |back| Move::Jump { node: 0, back };
    let mut drive = held("clock-jump@1");
    drive.take(jump(true));
    assert_eq!(drive.keyspace(), "lock=<tokA0> Some(4001)");
    let mut drive = held("clock-jump@1");
    drive.take(jump(false));
    assert_eq!(drive.keyspace(), "lock=<tokA0> Some(1999)");
    assert!(!drive.offers(jump(true)), "the budget is spent");
}

// ---- urgency ----

#[test]
fn time_stands_still_while_a_message_is_in_flight_or_a_thread_can_run() {
    let mut drive = token("");
    assert!(drive.ticks());
    drive.acquire(A);
    assert!(!drive.ticks(), "a request is in flight");
    drive.execute(A, "SET");
    assert!(!drive.ticks(), "a reply is in flight");
    drive.deliver(A);
    assert!(drive.ticks());
}

#[test]
fn a_lost_message_lets_time_pass_until_the_time_out_and_no_further() {
    let mut drive = token("loss");
    drive.acquire(A);
    let slot = drive.slot_of(A, "SET");
    drive.take(Move::Lose { client: A, slot });
    drive.tick();
    assert!(!drive.ticks(), "the caller has to run on");
    drive.give_up(A);
    assert!(drive.ticks());
}

#[test]
fn the_release_call_comes_before_the_tick_that_ends_the_lease() {
    let mut drive = held("");
    drive.tick().tick();
    assert!(!drive.ticks());
    assert!(drive.offers(Move::Call {
        client: A,
        op: Op::Release
    }));
}

#[test]
fn an_overrun_is_offered_only_then_and_lifts_it_for_this_hold() {
    let overrun = Move::Overrun { client: A };
    let mut drive = held("overrun");
    assert!(!drive.offers(overrun));
    drive.tick().tick();
    assert!(drive.offers(overrun));
    drive.take(overrun);
    drive.tick().tick();
    assert!(drive.world.believes(&drive.state, 0) && !drive.world.valid(&drive.state, 0));
    drive.acquire(B).answer(B);
    assert_eq!(drive.violated, ["mutual-exclusion-belief"]);
    // The next hold has to end in time again.
    drive.release(A).answer(A).tick().tick();
    assert!(!drive.ticks());
}

#[test]
fn a_paused_client_holds_nothing_up_for_as_long_as_the_size_says() {
    let mut drive = held("client-pause@4");
    drive.take(Move::Pause { client: A });
    for ticks in 0..4u8 {
        assert_eq!(drive.world.valid(&drive.state, 0), ticks < 3, "{ticks}");
        drive.tick();
    }
    assert!(!drive.ticks(), "it has to go on");
    drive.take(Move::Resume { client: A });
    assert!(drive.world.believes(&drive.state, 0) && !drive.world.valid(&drive.state, 0));
}

#[test]
fn a_delayed_request_arrives_at_any_tick_up_to_its_size() {
    let mut drive = token("delay@2");
    drive.acquire(A);
    let slot = drive.slot_of(A, "SET");
    drive.take(Move::Delay { client: A, slot });
    assert!(drive.ticks());
    assert!(drive.offers(Move::Execute {
        client: A,
        slot,
        way: 0
    }));
    drive.tick().give_up(A).tick();
    assert!(!drive.ticks(), "the message is overdue");
    drive.execute(A, "SET");
    assert_eq!(drive.keyspace(), "lock=<tokA0> Some(3000)");
    assert!(drive.messages(A).is_empty(), "nobody waits for the reply");
}

// ---- replicas ----

#[test]
fn a_replica_lacks_any_of_the_last_writes_and_none_beyond_its_lag() {
    let file = builtin("setnx-expire");
    for (lag, least) in [("failover@1", "lock=1 None"), ("failover@2", "")] {
        let mut drive = Drive::of(&file, lag);
        drive.acquire(A).answer(A).answer(A);
        let most = if lag == "failover@1" { 1 } else { 2 };
        let lost = |lost| Move::Failover { node: 0, lost };
        assert!(drive.offers(lost(0)) && !drive.offers(lost(most + 1)));
        drive.take(lost(most));
        assert_eq!(drive.keyspace(), least, "{lag}");
        assert!(!drive.offers(lost(0)), "nothing stands behind the replica");
    }
}

#[test]
fn what_a_replica_lacks_ages_with_the_rest() {
    let mut drive = held("failover*2 overrun");
    drive.tick().tick().take(Move::Overrun { client: A }).tick();
    assert_eq!(drive.keyspace(), "");
    let lost = Move::Failover { node: 0, lost: 1 };
    assert!(
        !drive.offers(lost),
        "what was written has expired everywhere"
    );
}

#[test]
fn a_dead_primary_breaks_its_connections() {
    let mut drive = token("failover");
    drive.acquire(A).take(Move::Failover { node: 0, lost: 0 });
    assert!(drive.requests(A).is_empty());
    let slot = drive.messages(A)[0].0;
    drive.take(Move::Deliver {
        client: A,
        slot,
        more: false,
    });
    assert!(drive.messages(A).is_empty());
}

#[test]
fn an_old_primary_serves_who_has_not_noticed_and_its_writes_are_lost() {
    let mut drive = token("failover-split-brain");
    drive.acquire(A).take(Move::SplitBrain { node: 0, lost: 0 });
    // What was in flight stays with the old one, as does what B sends.
    drive.answer(A);
    assert_eq!(drive.keyspace(), "");
    drive.acquire(B).execute(B, "SET");
    assert_eq!(drive.reply(B).1, Reply::Nil, "A holds it there");
    drive.deliver(B);
    drive.take(Move::Notice { client: B, node: 0 });
    assert!(!drive.offers(Move::Notice { client: B, node: 0 }));
    drive.acquire(B).answer(B);
    assert!(drive.keyspace().starts_with("lock=<tokB"));
    assert!(drive.violated.contains(&"mutual-exclusion-belief"));
    drive.take(Move::Demote { node: 0 });
    assert!(drive.keyspace().starts_with("lock=<tokB"));
    drive.release(A).execute(A, "");
    assert_eq!(drive.reply(A).1, Reply::Int(0), "A finds the new one now");
}

#[test]
fn a_demotion_breaks_only_what_went_to_the_old_server() {
    let mut drive = token("failover-split-brain");
    drive.take(Move::SplitBrain { node: 0, lost: 0 });
    drive.take(Move::Notice { client: B, node: 0 });
    drive.acquire(A).acquire(B).take(Move::Demote { node: 0 });
    assert!(drive.requests(A).is_empty() && drive.messages(A).len() == 1);
    assert_eq!(drive.requests(B).len(), 1);
}

// ---- servers ----

#[test]
fn an_unsynced_write_is_gone_after_a_power_loss_and_a_synced_one_is_not() {
    let restart = Move::RestartEverysec { node: 0 };
    let mut drive = held("node-restart-everysec");
    drive.take(restart);
    assert_eq!(drive.keyspace(), "");
    let mut drive = held("node-restart-everysec");
    drive.take(Move::Fsync { node: 0 });
    assert!(
        !drive.offers(Move::Fsync { node: 0 }),
        "there is nothing left to sync"
    );
    drive.take(restart);
    assert_eq!(drive.keyspace(), "lock=<tokA0> Some(3000)");
}

#[test]
fn a_flushed_server_has_nothing_and_its_disk_keeps_what_was_synced() {
    let flush = Move::NodeFlush { node: 0 };
    let mut drive = held("node-flush*2 node-restart-everysec*2");
    drive.take(Move::Fsync { node: 0 }).take(flush);
    assert_eq!(drive.keyspace(), "");
    assert!(!drive.offers(flush), "there is nothing to delete");
    drive.take(Move::RestartEverysec { node: 0 });
    assert_eq!(drive.keyspace(), "lock=<tokA0> Some(3000)");
    drive.take(flush).take(Move::Fsync { node: 0 });
    drive.take(Move::RestartEverysec { node: 0 });
    assert_eq!(drive.keyspace(), "");
}

#[test]
fn a_replica_may_lack_a_flush_as_it_may_any_write() {
    for (lost, keyspace) in [(0, ""), (1, "lock=<tokA0> Some(3000)")] {
        let mut drive = held("node-flush failover");
        drive.take(Move::NodeFlush { node: 0 });
        drive.take(Move::Failover { node: 0, lost });
        assert_eq!(drive.keyspace(), keyspace);
    }
}

#[test]
fn a_server_that_is_gone_or_stands_still_is_not_flushed() {
    for (words, first) in [
        ("node-flush node-pause", Move::PauseNode { node: 0 }),
        (
            "node-flush node-down node-restart-always",
            Move::NodeDown { node: 0, kept: 2 },
        ),
    ] {
        let mut drive = held(words);
        assert!(drive.offers(Move::NodeFlush { node: 0 }));
        drive.take(first);
        assert!(!drive.offers(Move::NodeFlush { node: 0 }), "{words}");
    }
}

#[test]
fn the_disk_lags_by_one_tick_and_never_by_two() {
    let mut drive = held("node-restart-everysec");
    drive.tick();
    assert!(!drive.ticks(), "the log has to reach the disk first");
    let mut lost = Drive {
        violated: Vec::new(),
        state: drive.state,
        world: drive.world,
    };
    lost.take(Move::Fsync { node: 0 }).tick();
    lost.take(Move::RestartEverysec { node: 0 });
    assert_eq!(lost.keyspace(), "lock=<tokA0> Some(998)");
}

#[test]
fn a_server_that_stands_still_syncs_nothing_and_holds_no_time_up_for_it() {
    let mut drive = held("node-pause@2 node-restart-everysec");
    drive.take(Move::PauseNode { node: 0 }).tick().tick();
    assert!(!drive.ticks(), "it has to go on");
    drive.take(Move::ResumeNode { node: 0 });
    assert_eq!(drive.keyspace(), "lock=<tokA0> Some(998)");
    drive.take(Move::RestartEverysec { node: 0 });
    assert_eq!(drive.keyspace(), "", "nothing of it had reached the disk");
}

#[test]
fn any_prefix_of_the_unsynced_writes_survives_a_power_loss() {
    let file = builtin("setnx-expire");
    let mut drive = Drive::of(&file, "node-restart-everysec");
    drive.acquire(A).answer(A).take(Move::Fsync { node: 0 });
    drive.answer(A);
    assert_eq!(drive.keyspace(), "lock=1 Some(3000)");
    drive.take(Move::RestartEverysec { node: 0 });
    assert_eq!(
        drive.keyspace(),
        "lock=1 None",
        "SETNX is there, EXPIRE is not"
    );
}

#[test]
fn a_restart_breaks_the_commands_in_flight_and_only_waiting_clients_hear_of_it() {
    let mut drive = token("node-restart-always");
    drive.acquire(A).take(Move::RestartAlways { node: 0 });
    assert!(drive.requests(A).is_empty());
    let slot = drive.messages(A)[0].0;
    drive.take(Move::Deliver {
        client: A,
        slot,
        more: false,
    });
    assert!(drive.messages(A).is_empty());
    assert!(drive.offers(Move::Call {
        client: A,
        op: Op::Acquire
    }));
}

#[test]
fn a_cut_link_swallows_what_is_sent_and_what_is_in_flight_on_it_alone() {
    let mut drive = token("partition");
    drive.acquire(A).acquire(B);
    drive.take(Move::Cut { client: A, node: 0 });
    assert!(drive.requests(A).is_empty());
    assert_eq!(drive.requests(B).len(), 1);
    drive.answer(B).tick().give_up(A).acquire(A);
    assert!(drive.requests(A).is_empty());
    drive.tick().give_up(A);
    drive.take(Move::Heal { client: A, node: 0 });
    drive.acquire(A);
    assert_eq!(drive.requests(A).len(), 1);
}

#[test]
fn a_link_that_is_cut_one_way_swallows_that_way_alone() {
    let cut = |replies| Move::CutOneWay {
        client: A,
        node: 0,
        replies,
    };
    let mut drive = token("partition-one-way");
    drive.acquire(A).acquire(B).take(cut(true));
    assert_eq!(drive.requests(A).len(), 1);
    drive.execute(A, "SET");
    assert!(drive.messages(A).is_empty());
    assert_eq!(drive.keyspace(), "lock=<tokA0> Some(3000)");
    drive.answer(B).tick().give_up(A);
    drive.take(Move::Heal { client: A, node: 0 });
    drive.acquire(A).answer(A);

    let mut drive = token("partition-one-way");
    drive.acquire(A).execute(A, "SET").take(cut(false));
    let slot = drive.messages(A)[0].0;
    drive.take(Move::Deliver {
        client: A,
        slot,
        more: false,
    });
    drive.release(A);
    assert!(drive.requests(A).is_empty());
}

#[test]
fn a_new_cut_one_way_swallows_what_is_in_flight_that_way() {
    for (replies, executed) in [(false, false), (true, true)] {
        let mut drive = token("partition-one-way");
        drive.acquire(A);
        if executed {
            drive.execute(A, "SET");
        }
        drive.take(Move::CutOneWay {
            client: A,
            node: 0,
            replies,
        });
        assert!(drive.messages(A).is_empty());
    }
}

#[test]
fn two_workers_with_one_owner_id_hold_a_reentrant_lock_at_once() {
    let mut drive = Drive::of(&builtin("reentrant-hash"), "shared-owner");
    drive.acquire(A).answer(A).acquire(B).answer(B);
    assert!(drive.world.believes(&drive.state, 0));
    assert!(drive.world.believes(&drive.state, 1));
    // Each has its own token all the same.
    let mut drive = token("shared-owner");
    drive.acquire(A).answer(A).acquire(B).answer(B);
    assert!(!drive.world.believes(&drive.state, 1));
}

#[test]
fn a_client_that_starts_again_has_its_owner_and_no_memory() {
    let mut drive = Drive::of(&builtin("reentrant-hash"), "client-restart");
    drive.acquire(A).answer(A);
    let held = drive.keyspace();
    assert!(drive.world.believes(&drive.state, 0));
    drive.take(Move::ClientRestart { client: A });
    assert!(!drive.world.believes(&drive.state, 0));
    assert_eq!(drive.keyspace(), held);
    // The lock takes it for who holds already: one hold is never given back.
    drive.acquire(A).answer(A).release(A).answer(A);
    assert_eq!(drive.keyspace(), held);
}

#[test]
fn what_a_client_had_sent_before_it_started_again_arrives_and_nobody_reads_the_reply() {
    let mut drive = token("client-restart");
    drive.acquire(A).take(Move::ClientRestart { client: A });
    drive.acquire(A).execute(A, "<tokA1>");
    assert_eq!(drive.keyspace(), "lock=<tokA1> Some(3000)");
    assert!(drive.messages(A).iter().all(|(_, message)| message.awaited));
    drive.answer(A);
    assert!(!drive.world.believes(&drive.state, 0));
}

#[test]
fn who_calls_a_server_that_is_gone_is_refused_and_hears_of_it_before_the_next_tick() {
    let mut drive = token("node-down");
    drive.acquire(A).answer(A).acquire(B);
    drive.take(Move::NodeDown { node: 0, kept: 0 });
    assert_eq!(drive.keyspace(), "");
    let (slot, broken) = drive.messages(B)[0];
    assert_eq!(broken.content, Content::Broken);
    drive
        .take(Move::Deliver {
            client: B,
            slot,
            more: false,
        })
        .acquire(B);
    let (slot, refused) = drive.messages(B)[0];
    assert_eq!(refused.content, Content::Refused);
    assert!(!drive.ticks());
    // The server may be back before it calls again.
    drive.take(Move::NodeUp { node: 0 });
    drive.take(Move::Deliver {
        client: B,
        slot,
        more: false,
    });
    drive.acquire(B).answer(B);
    assert!(drive.world.believes(&drive.state, 1));
}

#[test]
fn a_server_is_gone_for_its_size_at_most_and_one_whose_restart_is_delayed_at_least() {
    let up = Move::NodeUp { node: 0 };
    for (fault, least) in [("node-down", 0), ("node-down-delayed", 4)] {
        let mut drive = token(fault);
        drive.take(Move::NodeDown { node: 0, kept: 0 });
        for ticks in 0..=4 {
            assert_eq!(drive.offers(up), ticks >= least, "{fault} {ticks}");
            assert_eq!(drive.ticks(), ticks < 4, "{fault} {ticks}");
            if ticks < 4 {
                drive.tick();
            }
        }
    }
}

#[test]
fn a_server_that_was_gone_has_what_its_persistence_kept() {
    let mut drive = token("node-down node-restart-always");
    drive.acquire(A).answer(A);
    let held = drive.keyspace();
    drive.take(Move::NodeDown { node: 0, kept: 2 });
    drive.take(Move::NodeUp { node: 0 });
    assert_eq!(drive.keyspace(), held);
    assert!(!drive.offers(Move::NodeDown { node: 0, kept: 0 }));
}

#[test]
fn a_crashed_client_can_start_again() {
    let mut drive = token("client-crash client-restart");
    drive.acquire(A).take(Move::Crash { client: A });
    drive.take(Move::ClientRestart { client: A });
    assert!(drive.offers(Move::Call {
        client: A,
        op: Op::Acquire
    }));
}

#[test]
fn a_crashed_client_stays_dead_and_its_request_still_arrives() {
    let mut drive = token("client-crash");
    drive.acquire(A).take(Move::Crash { client: A });
    drive.execute(A, "SET");
    assert_eq!(drive.keyspace(), "lock=<tokA0> Some(3000)");
    assert!(drive.messages(A).is_empty());
    let acts = |step: &Move| matches!(step, Move::Call { client: A, .. });
    assert!(!drive.moves().iter().any(|(step, _)| acts(step)));
}

// ---- what is left behind ----

/// setnx-expire whose EXPIRE was lost: the key has no end, its writer gave up.
fn orphaned() -> Drive {
    let mut drive = Drive::of(&builtin("setnx-expire"), "loss");
    drive.acquire(A).answer(A);
    let slot = drive.slot_of(A, "EXPIRE");
    drive.take(Move::Lose { client: A, slot });
    drive.tick().give_up(A);
    drive
}

#[test]
fn a_key_left_behind_counts_as_an_orphan_a_ttl_after_the_operation_and_not_before() {
    let mut drive = orphaned();
    drive.tick();
    assert!(drive.violated.is_empty());
    drive.tick();
    assert!(drive.violated.is_empty());
    drive.tick();
    assert_eq!(drive.violated, ["no-orphan"]);
}

#[test]
fn a_new_attempt_starts_the_grace_anew() {
    let mut drive = orphaned();
    drive.tick().tick();
    drive.acquire(A).answer(A); // busy: its own key is there
    drive.tick().tick();
    assert!(drive.violated.is_empty());
    drive.tick();
    assert_eq!(drive.violated, ["no-orphan"]);
}

#[test]
fn a_dead_clients_key_without_an_end_is_an_orphan_at_once_but_not_while_more_may_come() {
    let file = builtin("setnx-expire");
    let mut drive = Drive::of(&file, "client-crash");
    drive.acquire(A).answer(A).take(Move::Crash { client: A });
    assert!(drive.violated.is_empty(), "EXPIRE is in flight");
    drive.execute(A, "EXPIRE");
    assert!(drive.violated.is_empty());
    let mut drive = Drive::of(&file, "client-crash");
    drive
        .acquire(A)
        .execute(A, "SETNX")
        .take(Move::Crash { client: A });
    assert_eq!(drive.violated, ["no-orphan"]);
}

#[test]
fn a_write_over_a_write_since_the_read_is_a_lost_update_and_a_write_before_it_is_not() {
    let second = || {
        let mut drive = held("overrun");
        drive.tick().tick().take(Move::Overrun { client: A }).tick();
        drive.acquire(B).answer(B);
        drive
    };
    let mut drive = second();
    drive
        .take(Move::Write { client: B })
        .take(Move::Write { client: A });
    assert_eq!(drive.violated, ["mutual-exclusion-effect"]);
    // Alone, each write builds on what its writer has read.
    let mut drive = held("");
    drive.take(Move::Write { client: A });
    assert!(drive.violated.is_empty());
    assert!(!drive.offers(Move::Write { client: A }), "one write a hold");
}

#[test]
fn a_request_that_a_pause_holds_back_does_not_pass_a_partition() {
    let act = Act::Call(Op::Acquire);
    for (cut, sent) in [(false, 1), (true, 0)] {
        let mut drive = token("client-pause partition");
        drive.take(Move::PauseAfter {
            client: A,
            act,
            held: 1,
        });
        if cut {
            drive.take(Move::Cut { client: A, node: 0 });
        }
        drive.take(Move::Resume { client: A });
        assert_eq!(drive.requests(A).len(), sent);
    }
}
