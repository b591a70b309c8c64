//! Servers that must not be attached: each is refused before anything is done to any,
//! with what was found and what to do.
//!
//! Modules say what a machine may lack; see scripts/tests.sh.

use crate::attach_support::*;
use crate::cli_support::*;

const SINGLE: &str = "kind = \"single\"";
const PAIR: &str = "kind = \"replicated\"\nreplicas = 1";

/// The run is refused with these words, and all servers are as before.
#[track_caller]
fn refused(lab: &Lab, all: &[u16], (topology, more): (&str, &str), words: &[&str]) {
    let before = lab.states(all);
    let said = lab.torture(topology, CUT, more);
    said.failed(USAGE, words);
    lab.unchanged(&before);
}

mod with_toxiproxy {
    use super::*;

    #[test]
    fn a_server_that_holds_keys_of_others_is_refused_in_whatever_database_they_are() {
        let mut lab = Lab::new();
        let first = lab.server(&[]);
        lab.fill(first, &[0, 5]);
        lab.attach(&[first], &[]);
        let words = [
            "node-0",
            &first.to_string(),
            "306 in database 0, 306 in database 5",
        ];
        refused(&lab, &[first], (SINGLE, ""), &words);
        refused(
            &lab,
            &[first],
            (SINGLE, ""),
            &["such as `", "--shared-servers"],
        );
        let second = lab.server(&[]);
        let left = "lockproof:0123456789abcdef:lock";
        lab.ask_in(second, 5, &["SET", left, "x"]);
        lab.attach(&[second], &[]);
        let words = [left, "1 in database 5", "looks like what a killed run left"];
        refused(&lab, &[second], (SINGLE, ""), &words);
    }

    #[test]
    fn a_server_with_replicas_that_were_not_given_is_refused() {
        let mut lab = Lab::new();
        let primary = lab.server(&[]);
        let replica = lab.replica("127.0.0.1", primary);
        lab.attach(&[primary], &[]);
        let words = [
            "node-0",
            &format!("a replica at 127.0.0.1:{replica}"),
            "not given",
        ];
        refused(&lab, &[primary, replica], (SINGLE, ""), &words);
        // One of two is given.
        let other = lab.replica("127.0.0.1", primary);
        lab.attach(&[primary, replica], &[]);
        let words = [&*format!("a replica at 127.0.0.1:{other}"), "not given"];
        refused(&lab, &[primary, replica, other], (PAIR, ""), &words);
        // A replica of a replica is one too.
        lab.ask(other, &["REPLICAOF", "127.0.0.1", &replica.to_string()]);
        lab.until(
            replica,
            &["INFO", "replication"],
            &format!("port={other},state=online"),
        );
        let words = [
            "node-1",
            &*format!("a replica at 127.0.0.1:{other}"),
            "not given",
        ];
        lab.until(primary, &["INFO", "replication"], "connected_slaves:1");
        refused(&lab, &[primary, replica, other], (PAIR, ""), &words);
    }

    #[test]
    fn a_replica_of_somebody_else_is_refused_also_where_servers_are_shared() {
        let mut lab = Lab::new();
        let (ours, theirs) = (lab.server(&[]), lab.server(&[]));
        lab.fill(theirs, &[0]);
        let replica = lab.replica("localhost", theirs);
        let all = [ours, theirs, replica];
        lab.attach(&[ours, replica], &[]);
        for more in ["", "--shared-servers"] {
            let words = [
                "node-1",
                &*format!("it follows localhost:{theirs}"),
                "not given",
            ];
            refused(&lab, &all, (PAIR, more), &words);
        }
        lab.attach(&[replica], &[]);
        let words = ["node-0", "a replica of localhost", "takes no writes"];
        refused(&lab, &all, (SINGLE, "--shared-servers"), &words);
        lab.attach(&[replica, theirs], &[]);
        let words = ["node-0", "name the primary first"];
        refused(&lab, &all, (PAIR, "--shared-servers"), &words);
    }

    #[test]
    fn a_primary_with_data_is_not_made_a_replica() {
        let mut lab = Lab::new();
        let (ours, theirs) = (lab.server(&[]), lab.server(&[]));
        lab.fill(theirs, &[3]);
        lab.attach(&[ours, theirs], &[]);
        for more in ["", "--shared-servers"] {
            let words = ["node-1", "a primary of its own", "would replace its data"];
            refused(&lab, &[ours, theirs], (PAIR, more), &words);
        }
    }

    #[test]
    fn a_server_with_other_settings_than_the_scenario_has_is_refused_until_it_has_them() {
        let mut lab = Lab::new();
        let primary = lab.server(&[]);
        let replica = lab.replica("127.0.0.1", primary);
        lab.attach(&[primary, replica], &[]);
        let topology = "kind = \"replicated\"\nreplicas = 1\nmin_replicas_to_write = 1\nmin_replicas_max_lag_s = 3";
        let words = |name: &str, is: &str, wanted: &str| {
            [
                "node-0".to_owned(),
                format!("`{name}` is `{is}`"),
                format!("CONFIG SET {name} {wanted}"),
            ]
        };
        let all = [primary, replica];
        for (name, is, wanted) in [
            ("min-replicas-to-write", "0", "1"),
            ("min-replicas-max-lag", "10", "3"),
        ] {
            let words = words(name, is, wanted);
            let words = words.each_ref().map(String::as_str);
            refused(&lab, &all, (topology, ""), &words);
            for server in all {
                lab.ask(server, &["CONFIG", "SET", name, wanted]);
            }
        }
        let said = lab.torture(topology, CUT, "");
        assert_eq!(said.code, Some(FINE), "{said:#?}");
    }

    #[test]
    fn a_server_that_is_given_twice_is_refused() {
        let mut lab = Lab::new();
        let port = lab.server(&[]);
        let urls = [
            format!("redis://127.0.0.1:{port}"),
            format!("redis://localhost:{port}"),
        ];
        lab.attach_urls(&urls, &[]);
        let masters = "kind = \"masters\"\nnodes = 2";
        let before = lab.states(&[port]);
        lab.torture_with(masters, CUT, "redlock", "")
            .failed(USAGE, &["node-1", "the same server as node-0"]);
        lab.unchanged(&before);
    }

    #[test]
    fn what_does_not_fit_the_scenario_is_the_users_error() {
        let mut lab = Lab::new();
        let port = lab.server(&[]);
        lab.attach(&[port], &[port, port, port]);
        let words = ["3 Sentinels are given", "has none", "take `sentinels` out"];
        refused(&lab, &[port], (SINGLE, ""), &words);
        lab.attach(&[port], &[]);
        let words = ["2 servers", "1 server is given under `nodes`"];
        refused(&lab, &[port], (PAIR, ""), &words);
        let words = ["3 Sentinels", "no Sentinels are given", "sentinels = ["];
        lab.attach(&[port, 1, 2], &[]);
        refused(&lab, &[port], ("kind = \"sentinel\"", ""), &words);
    }

    #[test]
    fn a_server_that_asks_for_a_password_or_forbids_commands_is_refused() {
        let mut lab = Lab::new();
        let locked = lab.server(&["--requirepass", "secret"]);
        lab.attach(&[locked], &[]);
        lab.torture(SINGLE, CUT, "")
            .failed(USAGE, &["node-0", "asks for a password"]);
        let narrow = lab.server(&[]);
        lab.attach(&[narrow], &[]);
        for (rule, command) in [("-del", "DEL"), ("-info", "INFO"), ("-set", "SET")] {
            let before = lab.states(&[narrow]);
            lab.ask(narrow, &["ACL", "SETUSER", "default", rule]);
            let words = ["node-0", "its default user may not", command];
            lab.torture(SINGLE, CUT, "").failed(USAGE, &words);
            lab.ask(narrow, &["ACL", "SETUSER", "default", "+@all"]);
            lab.ask(narrow, &["ACL", "SETUSER", "default", "~*"]);
            if command == "DEL" {
                // The trial that could not be deleted has a lease.
                lab.until(narrow, &["DBSIZE"], "0");
            }
            lab.unchanged(&before);
        }
        lab.ask(
            narrow,
            &["ACL", "SETUSER", "default", "resetkeys", "~app:*"],
        );
        lab.torture(SINGLE, CUT, "")
            .failed(USAGE, &["node-0", "may not", "SET"]);
        assert_eq!(lab.ask(narrow, &["DBSIZE"]), "0");
    }

    #[test]
    fn a_server_that_loads_its_data_is_waited_for() {
        let mut lab = Lab::new();
        let port = lab.server(&[]);
        lab.fill(port, &[0]);
        lab.ask(port, &["SAVE"]);
        lab.kill(port);
        let slow = [
            "--key-load-delay",
            "6000",
            "--loading-process-events-interval-bytes",
            "1024",
        ];
        lab.server_at(port, &slow);
        lab.attach(&[port], &[]);
        let said = lab.torture(SINGLE, CUT, "");
        said.failed(USAGE, &["node-0", "306 in database 0"]);
    }
}

mod groups {
    use super::*;

    mod with_toxiproxy {
        use super::*;

        #[test]
        fn sentinels_that_watch_others_or_were_not_given_are_refused() {
            let mut lab = Lab::new();
            let (ours, theirs) = (lab.server(&[]), lab.server(&[]));
            let replicas = [
                lab.replica("127.0.0.1", ours),
                lab.replica("127.0.0.1", ours),
            ];
            let sentinels = sentinels(&mut lab, &[("ours", ours), ("theirs", theirs)]);
            let nodes = [ours, replicas[0], replicas[1]];
            let all = [ours, replicas[0], replicas[1], theirs];
            let topology = "kind = \"sentinel\"";
            lab.attach(&nodes, &sentinels);
            refused(
                &lab,
                &all,
                (topology, ""),
                &["sentinel-0", "it watches `theirs` as well"],
            );
            lab.attach(&[ours], &[]);
            let words = ["node-0", "a Sentinel that was not given watches it"];
            refused(&lab, &all, (SINGLE, "--shared-servers"), &words);
            lab.attach(&[theirs, replicas[0], replicas[1]], &sentinels);
            let words = ["sentinel-0", &*format!("127.0.0.1:{ours}"), "not given"];
            refused(&lab, &all, (topology, "--shared-servers"), &words);
            let fourth = sentinel(&mut lab, &[("ours", ours)]);
            lab.until(
                sentinels[0],
                &["SENTINEL", "SENTINELS", "ours"],
                &fourth.to_string(),
            );
            lab.attach(&nodes, &sentinels);
            let words = ["a Sentinel at", &*fourth.to_string(), "not given"];
            refused(&lab, &all, (topology, "--shared-servers"), &words);
            lab.attach(&[ours, replicas[0], sentinels[1]], &sentinels);
            let words = ["node-2", "it is a Sentinel"];
            lab.torture(topology, CUT, "").failed(USAGE, &words);
            lab.attach(&nodes, &[sentinels[0], sentinels[1], replicas[0]]);
            lab.torture(topology, CUT, "")
                .failed(USAGE, &["sentinel-2"]);
        }

        #[test]
        fn a_cluster_that_is_not_given_whole_is_refused() {
            let mut lab = Lab::new();
            let members = cluster(&mut lab, 7);
            lab.ask(members[0], &["SET", "app", "1"]);
            let six = &members[..6];
            let topology = "kind = \"cluster\"";
            lab.attach(six, &[]);
            for more in ["", "--shared-servers"] {
                let words = ["node-0", &*format!("a member at 127.0.0.1:{}", members[6])];
                refused(&lab, &members, (topology, more), &words);
                lab.attach(six, &[]);
            }
            lab.attach(&members[..1], &[]);
            let words = ["node-0", "a member of a cluster"];
            refused(&lab, &members, (SINGLE, "--shared-servers"), &words);
            let single = lab.server(&[]);
            let mixed = [&members[..5], &[single]].concat();
            lab.attach(&mixed, &[]);
            refused(
                &lab,
                &members,
                (topology, ""),
                &["node-5", "its mode is `standalone`"],
            );
        }
    }
}
