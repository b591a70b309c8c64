//! Runs on servers and a toxiproxy that are there already: the ones that
//! docker-compose.yml publishes, started by hand on the same addresses.
//!
//! Modules say what a machine may lack; see scripts/tests.sh.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli_support::*;
use lockproof_lab::binaries;
use lockproof_lab::process::{Reaped, spawn};
use lockproof_lab::proxy::toxiproxy;
use lockproof_lab::server::admin;
use lockproof_redis::Reply;
use serde_json::Value;

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn compose() -> Value {
    // A merge key is no key of its own.
    let mut any: serde_norway::Value =
        serde_norway::from_str(&text(&root("docker-compose.yml"))).unwrap();
    // Merges within what is merged come with the second turn.
    any.apply_merge().unwrap();
    any.apply_merge().unwrap();
    serde_json::to_value(any).unwrap()
}

mod with_compose_schema {
    use super::*;

    #[test]
    fn the_compose_file_is_one() {
        let schema = binaries::tool_directories()
            .into_iter()
            .map(|directory| directory.join("compose-spec.json"))
            .find(|path| path.exists())
            .expect("run scripts/setup.sh --tests: it fetches Compose's schema");
        let schema: Value = serde_json::from_str(&text(&schema)).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let complaints = |file: &Value| -> Vec<String> {
            let errors = validator.iter_errors(file);
            errors
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect()
        };
        let mut file = compose();
        assert_eq!(complaints(&file), Vec::<String>::new());
        file["services"]["single"]["prots"] = Value::Null;
        assert_eq!(complaints(&file).len(), 1, "a planted error is found");
    }
}

/// Published port and the address inside it, of every service.
fn published() -> BTreeMap<u64, String> {
    let compose = compose();
    let services = compose["services"].as_object().unwrap();
    let mut published = BTreeMap::new();
    for (name, service) in services {
        let inside = service["networks"]["lab"]["ipv4_address"].as_str().unwrap();
        for port in service["ports"].as_array().into_iter().flatten() {
            let port = port.as_str().unwrap();
            let rest = port.strip_prefix("127.0.0.1:").expect("loopback only");
            let (outer, inner) = rest.split_once(':').unwrap();
            if let Ok(outer) = outer.parse() {
                let known = published.insert(outer, format!("{inside}:{inner}"));
                assert_eq!(known, None, "{name}: {outer} is published twice");
            } else {
                assert_eq!(outer, inner, "proxies listen where they are published");
            }
        }
    }
    published
}

#[test]
fn the_attachments_name_what_the_compose_file_publishes() {
    let published = published();
    for name in ["single", "masters", "replicated", "sentinel", "cluster"] {
        let file: toml::Table =
            toml::from_str(&text(&root(&format!("compose/{name}.toml")))).unwrap();
        let list = |key: &str| -> Vec<String> {
            let list = file.get(key).and_then(toml::Value::as_array);
            let words = list
                .into_iter()
                .flatten()
                .map(|word| word.as_str().unwrap().to_owned());
            words.collect()
        };
        let nodes = list("nodes");
        for (node, upstream) in nodes.iter().zip(list("upstreams")) {
            let port = node.strip_prefix("redis://127.0.0.1:").unwrap();
            assert_eq!(published[&port.parse().unwrap()], upstream, "{name}");
        }
        for sentinel in list("sentinels") {
            let port = sentinel.strip_prefix("redis://127.0.0.1:").unwrap();
            assert!(published.contains_key(&port.parse().unwrap()), "{name}");
        }
        let proxy = file["toxiproxy"].as_table().unwrap();
        assert_eq!(proxy["url"].as_str(), Some("http://127.0.0.1:8474"));
        let seen = format!("{}:8474", proxy["seen_by_nodes"].as_str().unwrap());
        assert_eq!(published[&8474], seen, "{name}");
    }
}

/// Servers on the addresses that the Compose file publishes.
struct Yard {
    place: Place,
    running: Vec<Reaped>,
    // The addresses are fixed, so that only one yard may be open on a machine: whoever
    // has this one, in whatever folder and by whatever name.
    _only: TcpListener,
}

impl Yard {
    fn open() -> Yard {
        let deadline = Instant::now() + Duration::from_secs(600);
        let only = loop {
            match TcpListener::bind(local(21110)) {
                Ok(only) => break only,
                Err(error) => assert!(Instant::now() < deadline, "port 21110: {error}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let mut yard = Yard {
            place: Place::new(),
            running: Vec::new(),
            _only: only,
        };
        let program = toxiproxy::find_program(&binaries::tool_directories())
            .expect("run scripts/setup.sh --tests: it builds toxiproxy");
        let mut command = Command::new(program);
        command.args(["-host", "127.0.0.1", "-port", "8474"]);
        yard.run(command, 8474);
        yard
    }

    fn run(&mut self, mut command: Command, port: u16) {
        let address = local(port);
        let patience = Duration::from_secs(10);
        let closed = TcpStream::connect_timeout(&address, patience).is_err();
        assert!(closed, "something listens on port {port} already");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.running.push(Reaped::new(spawn(command).unwrap()));
        let deadline = Instant::now() + patience;
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < deadline, "nothing listens on port {port}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn server(&mut self, port: u16, arguments: &[&str]) {
        let binary = binaries::find_default(&binaries::server_directories()).unwrap();
        let home = self.place.path(&format!("server-{port}"));
        std::fs::create_dir(&home).unwrap();
        let mut command = Command::new(binary.path);
        command.current_dir(home);
        if let [file, _] = arguments
            && *file == "sentinel.conf"
        {
            std::fs::copy(
                self.place.path("sentinel.conf"),
                self.place.path(&format!("server-{port}/sentinel.conf")),
            )
            .unwrap();
        } else {
            command.args(["--save", "", "--repl-diskless-sync-delay", "0"]);
        }
        command.args(arguments);
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
        self.run(command, port);
    }

    /// The published attachment, without the addresses inside the containers.
    fn attachment(&self, name: &str) -> String {
        let text = text(&root(&format!("compose/{name}.toml")));
        let mut file: toml::Table = toml::from_str(&text).unwrap();
        file.remove("upstreams");
        let proxy = file["toxiproxy"].as_table_mut().unwrap();
        proxy.remove("listen");
        proxy.remove("seen_by_nodes");
        self.place
            .write("attach.toml", &toml::to_string(&file).unwrap())
    }

    fn torture(&self, scenario: &str, lock: &str, more: &str) -> Said {
        self.place.write("story.toml", scenario);
        let line = format!("torture story.toml --lock {lock} --runs 1 --attach attach.toml {more}");
        self.place.run(&line)
    }

    fn ask(&self, port: u16, words: &str) -> String {
        let words: Vec<&str> = words.split(' ').collect();
        let asked = admin::ask(local(port), &words, Duration::from_secs(10));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        text_of(&runtime.unwrap().block_on(asked).unwrap())
    }

    /// Asks until the answer has this in it.
    fn await_answer(&self, port: u16, words: &str, wanted: &str) {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let answer = self.ask(port, words);
            if answer.contains(wanted) {
                return;
            }
            assert!(Instant::now() < deadline, "{port}: {words}: {answer}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn proxies(&self) -> String {
        let url = "http://127.0.0.1:8474/proxies";
        let mut answer = ureq::get(url).call().unwrap();
        answer.body_mut().read_to_string().unwrap()
    }

    /// The run worked, whatever it saw, and left nothing.
    fn check(&self, said: &Said, ports: &[u16]) {
        assert!(
            [Some(FINE), Some(UNKNOWN)].contains(&said.code),
            "{said:#?}"
        );
        assert_eq!(self.proxies().trim(), "{}");
        for port in ports {
            assert_eq!(self.ask(*port, "KEYS *lockproof*").trim(), "", "{port}");
        }
    }

    /// What the only history says of a fault.
    fn struck(&self, lock: &str, fault: &str) -> usize {
        let folder = self.place.path(&format!("runs/story/{lock}"));
        let mut files = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let history = files.find(|path| path.to_string_lossy().ends_with("history.jsonl"));
        let history = text(&history.unwrap());
        history
            .lines()
            .filter(|line| line.contains(&format!("\"f\":\"{fault}\"")) && line.contains("started"))
            .count()
    }
}

fn local(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

/// A reply as lines of text.
fn text_of(reply: &Reply) -> String {
    match reply {
        Reply::Bulk(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Reply::Array(parts) => parts.iter().map(|part| text_of(part) + "\n").collect(),
        Reply::Status(word) | Reply::Error(word) => word.to_string(),
        Reply::Int(number) => number.to_string(),
        Reply::Nil => String::new(),
    }
}

fn story(topology: &str, faults: &str, lock: &str) -> String {
    format!(
        "schema = \"lockproof.scenario/1\"\nname = \"story\"\nstory = \"attached\"\n\
         [topology]\n{topology}\n[clients]\nttl_ms = 1000\ntimeout_ms = 200\n[model]\nassumptions = []\n\
         [nemesis]\nquiet_ms = [300, 400]\nfault_ms = [600, 800]\nfaults = [{faults}]\n\
         [run]\nduration_ms = 2500\n[expect.{lock}]\nviolated = []\n"
    )
}

const PAUSE: &str = "{ fault = \"server-pause\", servers = [\"some-node\"] }";
const CUT: &str = "{ fault = \"partition\", between = [\"some-node\"], and = [\"some-client\"], one_way = false, bytes = \"lost\" }";

mod with_toxiproxy {
    use super::*;

    #[test]
    fn a_single_server_is_attached_and_left_as_it_was_found() {
        let mut yard = Yard::open();
        yard.server(21111, &[]);
        yard.attachment("single");
        let both = story("kind = \"single\"", &format!("{CUT}, {PAUSE}"), "token");
        let said = yard.torture(&both, "token", "");
        yard.check(&said, &[21111]);
        assert!(
            said.err
                .contains("left out: server-pause: it strikes a server's process"),
            "{}",
            said.err
        );
        assert!(yard.struck("token", "partition") > 0);
        let only = story("kind = \"single\"", PAUSE, "token");
        yard.torture(&only, "token", "").failed(
            USAGE,
            &["cannot be run on attached servers", "server-pause"],
        );
        // URLs are enough where all addresses are the same.
        let said = yard.place.run(
        "torture story.toml --lock token --runs 1 --attach redis://localhost:21111 --duration 0.5",
    );
        said.failed(USAGE, &["cannot be run on attached servers"]);
        yard.place.write("story.toml", &both);
        let line = "torture story.toml --lock token --runs 1 --attach redis://localhost:21111";
        yard.check(&yard.place.run(line), &[21111]);
        bad_attachments(&yard);
    }

    #[test]
    fn masters_replicas_sentinels_and_a_cluster_are_attached() {
        let mut yard = Yard::open();
        masters(&mut yard);
        replicas(&mut yard);
        sentinels(&mut yard);
        cluster(&mut yard);
    }
}

fn bad_attachments(yard: &Yard) {
    let story = story("kind = \"single\"", CUT, "token");
    // Somebody else's proxy, whatever it is called, is no reason and is left alone.
    let mine = r#"{"name":"lockproof.left","listen":"127.0.0.1:0","upstream":"127.0.0.1:21111"}"#;
    let proxies = "http://127.0.0.1:8474/proxies";
    ureq::post(proxies).send(mine).unwrap();
    let killed = r#"{"name":"lockproof.0123456789abcdef.client-0.node-0","listen":"127.0.0.1:0","upstream":"127.0.0.1:21111"}"#;
    ureq::post(proxies).send(killed).unwrap();
    let name = "lockproof.0123456789abcdef";
    yard.torture(&story, "token", "")
        .failed(USAGE, &[name, "lockproof:0123456789abcdef", "--take-over"]);
    let said = yard.torture(&story, "token", "--take-over");
    assert!(
        [Some(FINE), Some(UNKNOWN)].contains(&said.code),
        "{said:#?}"
    );
    assert!(!yard.proxies().contains(name));
    assert!(yard.proxies().contains("lockproof.left"));
    ureq::delete(format!("{proxies}/lockproof.left"))
        .call()
        .unwrap();
    for (attach, code, complaint) in [
        ("redis://127.0.0.1:21111,redis://127.0.0.1:1", FINE, ""),
        ("redis://127.0.0.1:1", INTERNAL, "node-0"),
        ("127.0.0.1:21111", USAGE, "redis://HOST:PORT"),
        ("nothing.toml", USAGE, "nothing.toml"),
    ] {
        let line =
            format!("torture story.toml --lock token --runs 1 --duration 0.3 --attach {attach}");
        let said = yard.place.run(&line);
        if code == FINE {
            assert_ne!(said.code, Some(INTERNAL), "{said:#?}");
        } else {
            said.failed(code, &[complaint]);
        }
    }
    let line = "torture story.toml --lock token --attach redis://127.0.0.1:21111 --toxiproxy http://127.0.0.1:21111";
    yard.place.run(line).failed(INTERNAL, &["toxiproxy"]);
}

fn masters(yard: &mut Yard) {
    let ports = [21121, 21122, 21123, 21124, 21125];
    for port in ports {
        yard.server(port, &[]);
    }
    yard.attachment("masters");
    let story = story("kind = \"masters\"\nnodes = 3", CUT, "redlock");
    let said = yard.torture(&story, "redlock", "");
    yard.check(&said, &ports);
    assert!(yard.struck("redlock", "partition") > 0);
}

fn replicas(yard: &mut Yard) {
    let ports = [21131, 21132];
    yard.server(ports[0], &[]);
    yard.server(ports[1], &["--replicaof", "127.0.0.1", "21131"]);
    yard.attachment("replicated");
    let fault = "{ fault = \"failover\", how = \"writable\", lag_ms = 50, stay = [] }";
    let topology = "kind = \"replicated\"\nreplicas = 1";
    let mut story = story(topology, fault, "token");
    story += "control = []\n";
    let story = story.replace("assumptions = []", "assumptions = [\"failover\"]").replace(
        "violated = []",
        "violated = [\"mutual-exclusion-belief\", \"mutual-exclusion-validity\", \"mutual-exclusion-effect\", \"lease\"]",
    );
    let said = yard.torture(&story, "token", "");
    yard.check(&said, &ports);
    assert!(yard.struck("token", "failover") > 0);
    let role = yard.ask(ports[1], "ROLE");
    assert!(role.contains("slave") && role.contains("21131"), "{role}");
}

fn sentinels(yard: &mut Yard) {
    let ports = [21141, 21142, 21143];
    yard.server(ports[0], &[]);
    for port in &ports[1..] {
        yard.server(*port, &["--replicaof", "127.0.0.1", "21141"]);
    }
    let config = "sentinel monitor lockproof 127.0.0.1 21141 2\n\
                  sentinel down-after-milliseconds lockproof 500\n\
                  sentinel failover-timeout lockproof 3000\n";
    yard.place.write("sentinel.conf", config);
    for port in [21144, 21145, 21146] {
        yard.server(port, &["sentinel.conf", "--sentinel"]);
    }
    yard.await_answer(21144, "SENTINEL CKQUORUM lockproof", "OK 3");
    failed_over_in_good_order(yard, "sentinel", &ports);
}

fn cluster(yard: &mut Yard) {
    let ports = [21151, 21152, 21153, 21154, 21155, 21156];
    for port in ports {
        let enabled = ["--cluster-enabled", "yes", "--cluster-node-timeout", "500"];
        yard.server(port, &enabled);
    }
    for (number, (port, slots)) in ports
        .iter()
        .zip(["0 5460", "5461 10922", "10923 16383"])
        .enumerate()
    {
        yard.ask(*port, &format!("CLUSTER ADDSLOTSRANGE {slots}"));
        yard.ask(*port, &format!("CLUSTER SET-CONFIG-EPOCH {}", number + 1));
    }
    for port in ports {
        for other in ports.iter().filter(|other| **other > port) {
            yard.ask(port, &format!("CLUSTER MEET 127.0.0.1 {other}"));
        }
    }
    for (primary, replica) in ports.iter().zip(&ports[3..]) {
        let id = yard.ask(*primary, "CLUSTER MYID");
        // It must have met whom it follows.
        yard.await_answer(*replica, &format!("CLUSTER REPLICATE {id}"), "OK");
        yard.await_answer(*primary, "ROLE", &replica.to_string());
    }
    for port in ports {
        yard.await_answer(port, "CLUSTER INFO", "cluster_state:ok");
    }
    failed_over_in_good_order(yard, "cluster", &ports);
}

fn failed_over_in_good_order(yard: &Yard, kind: &str, ports: &[u16]) {
    yard.attachment(kind);
    let fault = "{ fault = \"failover\", how = \"command\", lag_ms = 0, stay = [] }";
    let story = story(&format!("kind = \"{kind}\""), fault, "token");
    let story = story.replace("assumptions = []", "assumptions = [\"failover\"]").replace(
        "violated = []",
        "violated = [\"mutual-exclusion-belief\", \"mutual-exclusion-validity\", \"mutual-exclusion-effect\"]",
    );
    let said = yard.torture(&story, "token", "");
    yard.check(&said, ports);
    assert!(yard.struck("token", "failover") > 0, "{said:#?}");
}
