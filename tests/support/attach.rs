//! Somebody else's servers and toxiproxy, on ports of this machine, and what is on
//! them, to the last byte.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli_support::*;
use lockproof_lab::binaries;
use lockproof_lab::process::{Reaped, spawn};
use lockproof_lab::proxy::toxiproxy;
use lockproof_lab::server::admin::Admin;
use lockproof_redis::Reply;

const PATIENCE: Duration = Duration::from_secs(60);

/// Partitions between clients and nodes, which every topology allows.
pub const CUT: &str = "{ fault = \"partition\", between = [\"some-node\"], and = [\"some-client\"], one_way = false, bytes = \"lost\" }";
/// The primary changes by command.
pub const BY_COMMAND: &str = "{ fault = \"failover\", how = \"command\", lag_ms = 0, stay = [] }";
/// The harness promotes, and the old primary goes on.
pub const WRITABLE: &str = "{ fault = \"failover\", how = \"writable\", lag_ms = 50, stay = [] }";

pub struct Lab {
    pub place: Place,
    servers: Vec<(u16, Reaped)>,
    _toxiproxy: Reaped,
    pub api: u16,
    proxies: u16,
}

pub fn local(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

/// Ports that nobody has, in a row.
fn free_ports(count: u16) -> u16 {
    use std::sync::atomic::{AtomicU16, Ordering};
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let offset = NEXT.fetch_add(count, Ordering::SeqCst);
        let first = 10_400 + (std::process::id() as u16 % 40) * 200 + offset % 4_000;
        let all: Vec<_> = (first..first + count)
            .map(|port| TcpListener::bind(local(port)))
            .collect();
        if all.iter().all(Result::is_ok) {
            return first;
        }
    }
}

fn quiet(mut command: Command) -> Reaped {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Reaped::new(spawn(command).unwrap())
}

fn await_port(port: u16) {
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(local(port)).is_err() {
        assert!(Instant::now() < deadline, "nothing listens on port {port}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Lab {
    pub fn new() -> Lab {
        let program = toxiproxy::find_program(&binaries::tool_directories())
            .expect("run scripts/setup.sh --tests: it builds toxiproxy");
        let api = free_ports(1);
        let mut command = Command::new(program);
        command.args(["-host", "127.0.0.1", "-port", &api.to_string()]);
        let toxiproxy = quiet(command);
        await_port(api);
        Lab {
            place: Place::new(),
            servers: Vec::new(),
            _toxiproxy: toxiproxy,
            api,
            proxies: free_ports(60),
        }
    }

    /// Starts a server and gives its port.
    pub fn server(&mut self, arguments: &[&str]) -> u16 {
        let port = free_ports(1);
        self.server_at(port, arguments);
        port
    }

    pub fn server_at(&mut self, port: u16, arguments: &[&str]) {
        let binary = binaries::find_default(&binaries::server_directories()).unwrap();
        let home = self.place.path(&format!("server-{port}"));
        std::fs::create_dir_all(&home).unwrap();
        let mut command = Command::new(binary.path);
        command.current_dir(home);
        let config = arguments.first().filter(|word| word.ends_with(".conf"));
        command.args(config);
        if !arguments.contains(&"--sentinel") {
            command.args(["--save", "", "--repl-diskless-sync-delay", "0"]);
        }
        command.args(&arguments[usize::from(config.is_some())..]);
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
        self.servers.push((port, quiet(command)));
        await_port(port);
    }

    /// A file in the folder of a server that is going to be started.
    pub fn file_of(&self, port: u16, name: &str, text: &str) {
        std::fs::create_dir_all(self.place.path(&format!("server-{port}"))).unwrap();
        self.place.write(&format!("server-{port}/{name}"), text);
    }

    pub fn kill(&mut self, port: u16) {
        let found = self.servers.iter_mut().find(|(at, _)| *at == port);
        found.unwrap().1.kill().unwrap();
        self.servers.retain(|(at, _)| *at != port);
    }

    /// A replica of an address as it stands, in step.
    pub fn replica(&mut self, host: &str, primary: u16) -> u16 {
        let port = self.server(&["--replicaof", host, &primary.to_string()]);
        self.until(port, &["INFO", "replication"], "master_link_status:up");
        self.until(
            primary,
            &["INFO", "replication"],
            &format!("port={port},state=online"),
        );
        port
    }

    pub fn ask_in(&self, port: u16, database: u32, words: &[&str]) -> Reply {
        let asking = async {
            let mut admin = Admin::connect(local(port)).await.unwrap();
            if database > 0 {
                let select = ["SELECT".to_owned(), database.to_string()];
                admin.command(&select).await.unwrap();
            }
            admin.command(words).await.unwrap()
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(asking)
    }

    pub fn ask(&self, port: u16, words: &[&str]) -> String {
        text_of(&self.ask_in(port, 0, words))
    }

    pub fn until(&self, port: u16, words: &[&str], wanted: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.ask(port, words);
            if answer.contains(wanted) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{port}: {words:?}: no {wanted} in {answer}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Data of somebody else: several types, two databases, a key that looks like ours.
    pub fn fill(&self, port: u16, databases: &[u32]) {
        for database in databases {
            let set = |words: &[&str]| {
                let answer = self.ask_in(port, *database, words);
                assert!(!matches!(answer, Reply::Error(_)), "{words:?}: {answer:?}");
            };
            for number in 0..300 {
                set(&["SET", &format!("app:{number}"), &format!("value {number}")]);
            }
            set(&["SET", "app:lockproof:lock:config", "mine"]);
            set(&["SET", "lockproof:lock", "mine"]);
            set(&["SET", "lockproof:0123456789abcdef:lock", "mine"]);
            set(&["HSET", "hash", "field", "value"]);
            set(&["RPUSH", "list", "a", "b"]);
            set(&["SET", "leased", "x", "EXAT", "4102444800"]);
        }
    }

    /// Everything that a server holds: of each database every key with its bytes and its
    /// end, all settings, its role.
    pub fn state(&self, port: u16) -> Vec<String> {
        let mut state = Vec::new();
        let about = self.ask(port, &["INFO", "keyspace"]);
        let databases = about.lines().filter_map(|line| line.strip_prefix("db"));
        for database in databases.filter_map(|line| line.split(':').next()?.parse().ok()) {
            let Reply::Array(keys) = self.ask_in(port, database, &["KEYS", "*"]) else {
                panic!("{port} does not tell its keys");
            };
            let mut keys: Vec<String> = keys.iter().map(text_of).collect();
            keys.sort();
            for key in keys {
                let bytes = self.ask_in(port, database, &["DUMP", &key]);
                let end = self.ask_in(port, database, &["PEXPIRETIME", &key]);
                state.push(format!("{database} {key} {end:?} {bytes:?}"));
            }
        }
        let Reply::Array(settings) = self.ask_in(port, 0, &["CONFIG", "GET", "*"]) else {
            panic!("{port} does not tell its settings");
        };
        let settings = settings
            .chunks(2)
            .map(|pair| text_of(&pair[0]) + "=" + &text_of(&pair[1]));
        state.extend(settings);
        let role = self.ask(port, &["INFO", "replication"]);
        let kept = [
            "role:",
            "master_host:",
            "master_port:",
            "master_link_status:",
            "connected_slaves:",
        ];
        let role = role
            .lines()
            .filter(|line| kept.iter().any(|name| line.starts_with(name)));
        state.extend(role.map(str::to_owned));
        state
    }

    pub fn states(&self, ports: &[u16]) -> Vec<(u16, Vec<String>)> {
        ports
            .iter()
            .map(|port| (*port, self.state(*port)))
            .collect()
    }

    /// The states are as before, at once or as soon as replicas have heard.
    #[track_caller]
    pub fn unchanged(&self, before: &[(u16, Vec<String>)]) {
        let deadline = Instant::now() + Duration::from_secs(3);
        for (port, before) in before {
            let mut after = self.state(*port);
            while after != *before && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(50));
                after = self.state(*port);
            }
            let lost: Vec<_> = before.iter().filter(|line| !after.contains(line)).collect();
            let new: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
            assert!(
                lost.is_empty() && new.is_empty(),
                "{port}: lost {lost:#?}, new {new:#?}"
            );
        }
        assert_eq!(self.toxiproxy().trim(), "{}", "proxies are left");
    }

    pub fn toxiproxy(&self) -> String {
        let url = format!("http://127.0.0.1:{}/proxies", self.api);
        let mut answer = ureq::get(&url).call().unwrap();
        answer.body_mut().read_to_string().unwrap()
    }

    /// Names what is attached, in a file.
    pub fn attach(&self, nodes: &[u16], sentinels: &[u16]) {
        let urls = |ports: &[u16]| -> Vec<String> {
            ports
                .iter()
                .map(|port| format!("redis://127.0.0.1:{port}"))
                .collect()
        };
        self.attach_urls(&urls(nodes), &urls(sentinels));
    }

    pub fn attach_urls(&self, nodes: &[String], sentinels: &[String]) {
        let text = format!(
            "schema = \"lockproof.attach/1\"\nnodes = {nodes:?}\nsentinels = {sentinels:?}\n\
             sentinel_group = \"ours\"\n[toxiproxy]\nurl = \"http://127.0.0.1:{}\"\n\
             ports = [{}, {}]\n",
            self.api,
            self.proxies,
            self.proxies + 59
        );
        self.place.write("attach.toml", &text);
    }

    fn line(&self, topology: &str, fault: &str, lock: &str, more: &str) -> String {
        let assumptions = match (
            fault.contains("failover"),
            topology.contains("min_replicas"),
        ) {
            (true, _) => "[\"failover\"]",
            (_, true) => "[\"min-replicas\"]",
            _ => "[]",
        };
        let violated = match fault.contains("failover") {
            true => {
                "violated = [\"mutual-exclusion-belief\", \"mutual-exclusion-validity\", \"mutual-exclusion-effect\", \"lease\"]\ncontrol = []"
            }
            false => "violated = []",
        };
        let violated = match fault == BY_COMMAND {
            true => violated.replace(", \"lease\"]\ncontrol = []", "]"),
            false => violated.to_owned(),
        };
        let story = format!(
            "schema = \"lockproof.scenario/1\"\nname = \"story\"\nstory = \"attached\"\n\
             [topology]\n{topology}\n[clients]\nttl_ms = 1000\ntimeout_ms = 200\n\
             [model]\nassumptions = {assumptions}\n\
             [nemesis]\nquiet_ms = [300, 400]\nfault_ms = [600, 800]\nfaults = [{fault}]\n\
             [run]\nduration_ms = 2000\n[expect.token]\n{violated}\n"
        );
        self.place.write("story.toml", &story);
        format!("torture story.toml --lock {lock} --runs 1 --attach attach.toml {more}")
    }

    pub fn torture(&self, topology: &str, fault: &str, more: &str) -> Said {
        self.torture_with(topology, fault, "token", more)
    }

    pub fn torture_with(&self, topology: &str, fault: &str, lock: &str, more: &str) -> Said {
        self.place.run(&self.line(topology, fault, lock, more))
    }

    /// Starts a long run, and waits until its clients work. Whoever ends it waits for it.
    #[allow(clippy::zombie_processes)]
    pub fn start(&self, topology: &str, fault: &str, more: &str) -> Child {
        let line = self.line(topology, fault, "token", &format!("--duration 60 {more}"));
        let child = self.place.start(&line);
        let folder = self.place.path("runs/story/token");
        let deadline = Instant::now() + PATIENCE;
        loop {
            let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let mut paths = files.map(|entry| entry.path());
            if let Some(history) =
                paths.find(|path| path.to_string_lossy().ends_with(".history.jsonl"))
            {
                await_work(&history);
                return child;
            }
            assert!(Instant::now() < deadline, "the run does not begin");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The lines of the histories that were written.
    pub fn history(&self) -> String {
        let files = self.place.files("runs/story/token");
        let mut histories = files
            .iter()
            .filter(|path| path.to_string_lossy().ends_with(".history.jsonl"));
        std::fs::read_to_string(histories.next().unwrap()).unwrap()
    }
}

/// The run was played to its end, whatever it saw.
#[track_caller]
pub fn played(said: &Said) {
    assert!(
        [Some(FINE), Some(VIOLATION), Some(UNKNOWN)].contains(&said.code),
        "{said:#?}"
    );
    assert!(!said.err.contains("error: "), "{said:#?}");
}

/// A reply as lines of text.
pub fn text_of(reply: &Reply) -> String {
    match reply {
        Reply::Bulk(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Reply::Array(parts) => parts.iter().map(|part| text_of(part) + "\n").collect(),
        Reply::Status(word) | Reply::Error(word) => word.clone(),
        Reply::Int(number) => number.to_string(),
        Reply::Nil => String::new(),
    }
}

/// A Sentinel over these groups, and its port.
pub fn sentinel(lab: &mut Lab, groups: &[(&str, u16)]) -> u16 {
    let port = free_ports(1);
    let config: String = groups
        .iter()
        .map(|(name, primary)| {
            format!(
                "sentinel monitor {name} 127.0.0.1 {primary} 2\n\
                 sentinel down-after-milliseconds {name} 2000\n\
                 sentinel failover-timeout {name} 6000\n"
            )
        })
        .collect();
    lab.file_of(port, "sentinel.conf", &config);
    lab.server_at(port, &["sentinel.conf", "--sentinel"]);
    port
}

/// Three Sentinels over these groups that know each other.
pub fn sentinels(lab: &mut Lab, groups: &[(&str, u16)]) -> [u16; 3] {
    let all = [0; 3].map(|_| sentinel(lab, groups));
    for port in all {
        lab.until(port, &["SENTINEL", "CKQUORUM", groups[0].0], "OK 3");
    }
    all
}

/// A cluster of three primaries and replicas of them in turn.
pub fn cluster(lab: &mut Lab, size: usize) -> Vec<u16> {
    let mut ports = Vec::new();
    for _ in 0..size {
        let bus = free_ports(1).to_string();
        let timeout = ["--cluster-node-timeout", "2000"];
        let enabled = ["--cluster-enabled", "yes", "--cluster-port", &bus];
        ports.push((lab.server(&[&enabled[..], &timeout].concat()), bus));
    }
    for (number, slots) in ["0 5460", "5461 10922", "10923 16383"].iter().enumerate() {
        let (first, last) = slots.split_once(' ').unwrap();
        let port = ports[number].0;
        lab.ask(port, &["CLUSTER", "ADDSLOTSRANGE", first, last]);
        lab.ask(
            port,
            &["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()],
        );
    }
    for (at, (port, _)) in ports.iter().enumerate() {
        for (other, bus) in &ports[at + 1..] {
            let meet = ["CLUSTER", "MEET", "127.0.0.1", &other.to_string(), bus];
            lab.ask(*port, &meet);
        }
    }
    for (at, (replica, _)) in ports.iter().enumerate().skip(3) {
        let primary = ports[at % 3].0;
        let id = lab.ask(primary, &["CLUSTER", "MYID"]);
        lab.until(*replica, &["CLUSTER", "REPLICATE", &id], "OK");
        lab.until(*replica, &["INFO", "replication"], "master_link_status:up");
    }
    let ports: Vec<u16> = ports.into_iter().map(|(port, _)| port).collect();
    for port in &ports {
        lab.until(*port, &["CLUSTER", "INFO"], "cluster_state:ok");
        lab.until(
            *port,
            &["CLUSTER", "INFO"],
            &format!("cluster_known_nodes:{size}"),
        );
    }
    ports
}
