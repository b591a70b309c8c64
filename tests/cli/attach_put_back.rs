//! Attached servers with data of others: what a run leaves behind, however it ends.
//! Nothing but what was there, to the last byte, setting and role.
//!
//! Modules say what a machine may lack; see scripts/tests.sh.

use crate::attach_support::*;
use crate::cli_support::*;

const SINGLE: &str = "kind = \"single\"";
const PAIR: &str = "kind = \"replicated\"\nreplicas = 1";
const THREE: &str = "kind = \"replicated\"\nreplicas = 2";

fn struck(lab: &Lab, fault: &str) -> bool {
    let wanted = format!("\"f\":\"{fault}\"");
    let history = lab.history();
    let mut lines = history.lines();
    lines.any(|line| line.contains(&wanted) && line.contains("started"))
}

/// The drawn name in what the program said.
fn drawn(said: &str) -> &str {
    let at = said.find("lockproof:").expect(said);
    &said[at..at + "lockproof:".len() + 16]
}

mod with_toxiproxy {
    use super::*;

    #[test]
    fn a_run_deletes_its_own_keys_and_no_others() {
        let mut lab = Lab::new();
        let port = lab.server(&[]);
        lab.fill(port, &[0, 5]);
        lab.attach(&[port], &[]);
        let before = lab.states(&[port]);
        let said = lab.torture(SINGLE, CUT, "--shared-servers");
        played(&said);
        lab.unchanged(&before);
        // The run says what its keys were, and the history too.
        let name = drawn(&said.err);
        let history = lab.history();
        assert!(history.contains("\"f\":\"attached\""), "{history}");
        assert!(
            history.contains(&format!("[\"SET\",\"{name}:lock\"")),
            "{name}"
        );
        let again = lab.torture(SINGLE, CUT, "--shared-servers");
        played(&again);
        assert_ne!(drawn(&again.err), name, "each run draws its own");
    }

    #[test]
    fn keys_that_a_lock_makes_around_its_name_go_and_others_are_told() {
        let mut lab = Lab::new();
        let port = lab.server(&[]);
        lab.attach(&[port], &[]);
        let file = lab.place.write(
            "odd.lua",
            r#"
return {
  name = "odd",
  description = "keys around its name, and one that is not",

  acquire = function(lock)
    redis("SET", "{" .. lock.key .. "}:made", "1")
    redis("SET", "made-by-nobody", "1")
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl / 2 }
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
"#,
        );
        let said = lab.torture_with(SINGLE, CUT, &file, "");
        played(&said);
        assert!(said.err.contains("node-0 was empty before"), "{said:#?}");
        assert!(
            said.err
                .contains("without its name: `made-by-nobody`. They"),
            "{said:#?}"
        );
        assert_eq!(lab.ask(port, &["KEYS", "*"]).trim(), "made-by-nobody");
    }

    #[test]
    fn replicas_that_were_not_given_keep_everything_where_servers_are_shared() {
        let mut lab = Lab::new();
        let primary = lab.server(&[]);
        lab.fill(primary, &[0, 5]);
        let replica = lab.replica("127.0.0.1", primary);
        lab.attach(&[primary], &[]);
        let before = lab.states(&[primary, replica]);
        played(&lab.torture(SINGLE, CUT, "--shared-servers"));
        lab.unchanged(&before);
    }

    #[test]
    fn after_a_failover_everybody_follows_the_same_address_as_before() {
        let mut lab = Lab::new();
        let primary = lab.server(&["--databases", "20"]);
        lab.fill(primary, &[0, 5]);
        // Each knows the primary, or the one between, by another name.
        let near = lab.replica("localhost", primary);
        let far = lab.replica("127.0.0.1", near);
        let all = [primary, near, far];
        lab.attach(&all, &[]);
        let before = lab.states(&all);
        let said = lab.torture(THREE, WRITABLE, "--shared-servers");
        played(&said);
        assert!(struck(&lab, "failover"), "{said:#?}");
        lab.unchanged(&before);
        let found = lab.history();
        let chain = format!(
            "[\"a primary\",\"a replica of localhost:{primary}\",\"a replica of 127.0.0.1:{near}\"]"
        );
        assert!(found.contains(&chain), "{chain}");
    }

    #[test]
    fn empty_servers_that_stood_alone_stand_alone_again() {
        let mut lab = Lab::new();
        let all = [lab.server(&[]), lab.server(&[])];
        lab.attach(&all, &[]);
        let before = lab.states(&all);
        let said = lab.torture(PAIR, WRITABLE, "");
        played(&said);
        assert!(struck(&lab, "failover"), "{said:#?}");
        lab.unchanged(&before);
    }

    #[test]
    fn a_signal_ends_a_run_and_everything_is_put_back() {
        let mut lab = Lab::new();
        let primary = lab.server(&[]);
        lab.fill(primary, &[0]);
        let all = [primary, lab.replica("localhost", primary)];
        lab.attach(&all, &[]);
        let before = lab.states(&all);
        for signal in ["INT", "TERM", "HUP"] {
            let child = lab.start(PAIR, WRITABLE, "--shared-servers");
            assert_ne!(lab.state(all[1]), before[1].1, "the run changed nothing");
            send(signal, child.id());
            let said = Said::from(child.wait_with_output().unwrap());
            assert!(said.err.contains("cut short"), "{signal}: {said:#?}");
            lab.unchanged(&before);
            std::fs::remove_dir_all(lab.place.path("runs")).unwrap();
        }
    }

    #[test]
    fn what_a_killed_run_left_is_told_and_put_back_by_the_next() {
        let mut lab = Lab::new();
        let primary = lab.server(&[]);
        lab.fill(primary, &[0, 5]);
        let all = [primary, lab.replica("localhost", primary)];
        let before = lab.states(&all);
        for (topology, nodes) in [(PAIR, &all[..]), (SINGLE, &all[..1])] {
            lab.attach(nodes, &[]);
            let fault = if topology == PAIR { WRITABLE } else { CUT };
            let child = lab.start(topology, fault, "--shared-servers");
            send("KILL", child.id());
            child.wait_with_output().unwrap();
            std::fs::remove_dir_all(lab.place.path("runs")).unwrap();
            let said = lab.torture(topology, CUT, "--shared-servers");
            said.failed(USAGE, &["one was killed", "--take-over", "lockproof:"]);
            let name = drawn(&said.err).to_owned();
            // Left by somebody who is not asked any more: it never goes by itself.
            lab.ask(primary, &["SET", &format!("{{{name}}}:queue"), "x"]);
            if topology == PAIR {
                lab.attach(&all[..1], &[]);
                let words = [
                    "the killed run was on",
                    &*all[1].to_string(),
                    "not given now",
                ];
                lab.torture(SINGLE, CUT, "--take-over")
                    .failed(USAGE, &words);
                lab.attach(nodes, &[]);
            }
            // What others have there is a reason still, and is told when all is put back.
            let reason = match topology {
                PAIR => "holds keys of others",
                _ => "it feeds a replica",
            };
            lab.torture(topology, CUT, "--take-over")
                .failed(USAGE, &[reason]);
            lab.unchanged(&before);
        }
    }

    #[test]
    fn a_setting_that_a_killed_run_had_changed_is_put_back_too() {
        let mut lab = Lab::new();
        let port = lab.server(&["--replica-priority", "1"]);
        lab.attach(&[port], &[]);
        let name = format!("lockproof.0123456789abcdef.found.replica-priority@127.0.0.1:{port}");
        let note = format!(
            "{{\"name\":\"{name}\",\"listen\":\"127.0.0.1:0\",\"upstream\":\"77\",\"enabled\":false}}"
        );
        let api = format!("http://127.0.0.1:{}/proxies", lab.api);
        ureq::post(&api).send(&note).unwrap();
        played(&lab.torture(SINGLE, CUT, "--take-over"));
        let setting = lab.ask(port, &["CONFIG", "GET", "replica-priority"]);
        assert!(setting.contains("77"), "{setting}");
        assert_eq!(lab.toxiproxy().trim(), "{}");
    }

    #[test]
    fn what_cannot_be_put_back_is_told_and_put_back_later() {
        let mut lab = Lab::new();
        let primary = lab.server(&[]);
        lab.fill(primary, &[0]);
        let all = [primary, lab.replica("127.0.0.1", primary)];
        lab.attach(&all, &[]);
        let before = lab.states(&all[..1]);
        let child = lab.start(PAIR, CUT, "--shared-servers");
        lab.kill(all[1]);
        send("TERM", child.id());
        let said = Said::from(child.wait_with_output().unwrap());
        let words = [
            "failed to leave the attached servers",
            "node-1",
            "--take-over",
        ];
        // The signal's code, as of every run that one ended.
        said.failed(143, &words);
        lab.server_at(all[1], &["--replicaof", "127.0.0.1", &primary.to_string()]);
        lab.until(all[1], &["INFO", "replication"], "master_link_status:up");
        lab.torture(PAIR, CUT, "--take-over")
            .failed(USAGE, &["holds keys of others"]);
        lab.unchanged(&before);
    }
}

mod groups {
    use super::*;

    mod with_toxiproxy {
        use super::*;

        #[test]
        fn sentinels_make_the_old_primary_one_again() {
            let mut lab = Lab::new();
            let primary = lab.server(&["--replica-priority", "50"]);
            let other = lab.server(&[]);
            lab.fill(primary, &[0, 5]);
            let replicas = [
                lab.replica("localhost", primary),
                lab.replica("127.0.0.1", primary),
            ];
            lab.ask(replicas[0], &["CONFIG", "SET", "replica-priority", "1"]);
            lab.ask(replicas[1], &["CONFIG", "SET", "replica-priority", "0"]);
            let sentinels = sentinels(&mut lab, &[("ours", primary), ("theirs", other)]);
            let all = [primary, replicas[0], replicas[1], other];
            lab.attach(&all[..3], &sentinels);
            let before = lab.states(&all);
            let said = lab.torture("kind = \"sentinel\"", BY_COMMAND, "--shared-servers");
            played(&said);
            assert!(struck(&lab, "failover"), "{said:#?}");
            for sentinel in sentinels {
                for (group, port) in [("ours", primary), ("theirs", other)] {
                    let address = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", group];
                    let named = lab.ask(sentinel, &address);
                    assert_eq!(named.split_whitespace().last(), Some(&*port.to_string()));
                }
            }
            lab.unchanged(&before);
        }

        #[test]
        fn a_cluster_has_its_primaries_and_replicas_again() {
            let mut lab = Lab::new();
            let members = cluster(&mut lab, 6);
            for (port, key) in [(members[0], "b"), (members[1], "c"), (members[2], "a")] {
                assert_eq!(lab.ask(port, &["SET", key, "mine"]), "OK");
            }
            let who = |lab: &Lab| -> Vec<String> {
                let nodes = lab.ask(members[0], &["CLUSTER", "NODES"]);
                let line = |line: &str| {
                    let words: Vec<&str> = line.split(' ').collect();
                    let role = words[2].replace("myself,", "");
                    [words[0], words[1], &role, words[3], &words[8..].join(" ")].join(" ")
                };
                let mut lines: Vec<String> = nodes.lines().map(line).collect();
                lines.sort();
                lines
            };
            lab.attach(&members, &[]);
            let (before, shape) = (lab.states(&members), who(&lab));
            let said = lab.torture("kind = \"cluster\"", BY_COMMAND, "--shared-servers");
            played(&said);
            assert!(struck(&lab, "failover"), "{said:#?}");
            lab.unchanged(&before);
            assert_eq!(who(&lab), shape);
        }
    }
}

fn send(signal: &str, pid: u32) {
    let mut kill = std::process::Command::new("kill");
    let status = kill.args([format!("-{signal}"), pid.to_string()]).status();
    assert!(status.unwrap().success());
}
