//! The shape of a scenario file.

use std::collections::BTreeMap;

use lockproof_lab::nemesis::{FaultSpec, When};
use lockproof_model::world::catalogue::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema name that this version reads.
pub const SCHEMA: &str = "lockproof.scenario/1";

/// A scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "lockproof scenario")]
pub struct Scenario {
    /// Always `lockproof.scenario/1`.
    pub schema: String,
    /// The scenario's name: lower-case words joined by hyphens.
    pub name: String,
    /// What happens and why it matters, in a sentence or two.
    pub story: String,
    /// The servers.
    #[serde(default)]
    pub topology: Topology,
    /// The clients of a free run.
    #[serde(default)]
    pub clients: Clients,
    /// What the clients do with the lock.
    #[serde(default)]
    pub workload: Workload,
    /// How the model reads the story.
    #[serde(default)]
    pub model: Model,
    /// What the nemesis does in a free run.
    #[serde(default)]
    pub nemesis: Nemesis,
    /// How long and how often a free run runs.
    #[serde(default)]
    pub run: Run,
    /// What somebody else measured in this set-up, to be shown beside our figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// What is expected of each lock: the locks that the scenario applies to.
    pub expect: BTreeMap<String, Expectation>,
}

/// The servers, and how they belong together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Topology {
    /// How the servers belong together.
    pub kind: Kind,
    /// Independent masters (`masters` only).
    #[schemars(range(min = 1, max = 9))]
    pub nodes: Option<u8>,
    /// Replicas of the primary (`replicated` only).
    #[schemars(range(min = 1, max = 4))]
    pub replicas: Option<u8>,
    /// Servers refuse writes with fewer replicas in touch than this (`replicated`,
    /// `sentinel` and `cluster`). The model's `min-replicas` stands for 1.
    #[schemars(range(min = 1, max = 4))]
    pub min_replicas_to_write: Option<u8>,
    /// A replica is in touch if it reported so many seconds ago at most; 10 if left
    /// out, as in Redis.
    #[schemars(range(min = 1, max = 600))]
    pub min_replicas_max_lag_s: Option<u16>,
    /// What a restart keeps.
    pub persistence: Persistence,
    /// How far clients are from the servers: for so many ms a message is on its way,
    /// each way, in free runs. It is no fault, and far less than a tick of the model.
    #[schemars(range(max = 1000))]
    pub latency_ms: u32,
}

/// Kinds of topologies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One server.
    #[default]
    Single,
    /// Several servers that know nothing of each other, as Redlock asks for.
    Masters,
    /// A primary with replicas.
    Replicated,
    /// Three sentinels that watch a primary with two replicas.
    Sentinel,
    /// Three primaries with a replica each.
    Cluster,
}

/// What a server keeps over a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Persistence {
    /// Nothing.
    #[default]
    None,
    /// An append-only file, synced once a second.
    Everysec,
    /// An append-only file, synced before each reply.
    Always,
}

impl Persistence {
    /// As files and the real side write it.
    pub fn name(self) -> &'static str {
        match self {
            Persistence::None => "none",
            Persistence::Everysec => "everysec",
            Persistence::Always => "always",
        }
    }
}

/// The clients of a free run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Clients {
    /// How many processes compete.
    #[schemars(range(min = 1, max = 50))]
    pub count: u32,
    /// The lease that they ask for, in ms.
    #[schemars(range(min = 20, max = 600000))]
    pub ttl_ms: i64,
    /// A command gives up after this many ms.
    #[schemars(range(min = 1, max = 60000))]
    pub timeout_ms: i64,
    /// The first two are workers of one process: they use one owner id. The model's
    /// `shared-owner`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared_owner: bool,
}

impl Default for Clients {
    fn default() -> Self {
        Clients {
            count: 5,
            ttl_ms: 2000,
            timeout_ms: 500,
            shared_owner: false,
        }
    }
}

/// What the clients do with the lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Workload {
    /// Which of the four.
    pub kind: WorkloadKind,
    /// Work under the lock, in ms, drawn evenly.
    pub work_ms: Range,
    /// Rest between two attempts, in ms, drawn evenly.
    pub rest_ms: Range,
    /// In the middle of the work a client of a reentrant lock acquires it once more,
    /// and gives that hold back at the end. Of no meaning for other locks.
    pub nested: bool,
    /// Work ends 50 ms before the validity does that the lock stated. Of no meaning
    /// for locks that state none.
    pub within_validity: bool,
    /// Coupons in stock (`coupon` only).
    pub coupons: u32,
    /// How long a round lasts, in ms (`lottery` only).
    #[schemars(range(min = 10, max = 600000))]
    pub round_ms: u32,
}

impl Default for Workload {
    fn default() -> Self {
        Workload {
            kind: WorkloadKind::Hold,
            work_ms: Range(1, 5),
            rest_ms: Range(0, 5),
            nested: false,
            within_validity: false,
            coupons: 1000,
            round_ms: 500,
        }
    }
}

/// From and to, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<u32>")]
#[schemars(with = "(u32, u32)")]
pub struct Range(pub u32, pub u32);

impl TryFrom<Vec<u32>> for Range {
    type Error = String;

    /// Two numbers, and not only the first two.
    fn try_from(numbers: Vec<u32>) -> Result<Range, String> {
        match numbers[..] {
            [from, to] => Ok(Range(from, to)),
            _ => Err(format!(
                "[from, to] are two numbers, and here are {}",
                numbers.len()
            )),
        }
    }
}

/// The workloads of the catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadKind {
    /// Acquire, count up a guarded counter, release.
    #[default]
    Hold,
    /// Take coupons from a stock.
    Coupon,
    /// Draw ten winners once a round.
    Lottery,
    /// Read a set, add an element, write it back.
    GuardedSet,
}

impl WorkloadKind {
    /// As histories write it.
    pub fn name(self) -> &'static str {
        match self {
            WorkloadKind::Hold => "hold",
            WorkloadKind::Coupon => "coupon",
            WorkloadKind::Lottery => "lottery",
            WorkloadKind::GuardedSet => "guarded-set",
        }
    }
}

/// How the model reads the story.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Model {
    /// The fault switches that are on together; the control has none.
    pub assumptions: Vec<String>,
    /// How often a fault may strike, where it is not the default.
    pub budget: BTreeMap<String, u8>,
    /// Sizes in ticks, where they are not the default.
    pub size: BTreeMap<String, u8>,
    /// Assumptions that strike in this order, where the story needs one: none
    /// strikes before the one that stands before it has. Those that are left out
    /// strike at any time.
    pub order: Vec<String>,
    /// Competing clients.
    #[schemars(range(min = 1, max = 4))]
    pub clients: u8,
    /// The lease in ticks.
    #[schemars(range(min = 1, max = 20))]
    pub ttl_ticks: u8,
}

impl Model {
    /// The faults of `order`.
    pub fn faults_in_order(&self) -> Vec<Fault> {
        self.order
            .iter()
            .filter_map(|name| Fault::parse(name))
            .collect()
    }
}

impl Default for Model {
    fn default() -> Self {
        Model {
            assumptions: Vec::new(),
            budget: BTreeMap::new(),
            size: BTreeMap::new(),
            order: Vec::new(),
            clients: 2,
            ttl_ticks: 3,
        }
    }
}

/// What the nemesis does in a free run. Quiet and faults take turns, their
/// lengths and their victims drawn from the seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Nemesis {
    /// How long nothing is wrong before a fault, in ms.
    pub quiet_ms: Range,
    /// How long a fault lasts, in ms.
    pub fault_ms: Range,
    /// How many faults may be in force at once.
    #[schemars(range(min = 1, max = 4))]
    pub together: u16,
    /// What a fault waits for when its time has come.
    pub when: When,
    /// Lengths are not drawn: each fault is longer than the one before it, and they go
    /// evenly from the least to the most.
    pub growing: bool,
    /// What may strike, each as likely as the others.
    #[schemars(with = "Vec<BTreeMap<String, serde_json::Value>>")]
    pub faults: Vec<FaultSpec>,
}

impl Default for Nemesis {
    fn default() -> Self {
        Nemesis {
            quiet_ms: Range(500, 1500),
            fault_ms: Range(500, 1000),
            together: 1,
            when: When::AnyTime,
            growing: false,
            faults: Vec::new(),
        }
    }
}

/// A share of lost updates that somebody published for this set-up. It is shown
/// and decides nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Acknowledged updates that were lost, 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub lost_rate: f64,
    /// Of what, in a few words: `etcd's lock`.
    pub of: String,
    /// Where it was published.
    pub source: String,
}

/// How long and how often a free run runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    /// How long clients work, in ms.
    #[schemars(range(min = 100, max = 3600000))]
    pub duration_ms: u32,
    /// How many runs, each with a seed of its own.
    #[schemars(range(min = 1, max = 10000))]
    pub runs: u32,
    /// The first run's seed; the others count on from it.
    pub seed: u64,
}

impl Default for Run {
    fn default() -> Self {
        Run {
            duration_ms: 10_000,
            runs: 1,
            seed: 1,
        }
    }
}

/// What is expected of a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Expectation {
    /// The lock file, as a path from the folder in which lockproof runs; left out, it is the
    /// built-in lock of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Properties that the model violates; all others that apply must hold.
    pub violated: Vec<String>,
    /// Properties that are violated even without the fault.
    pub control: Vec<String>,
    /// Oracles that a free run must see violated, given the scenario's runs.
    pub observed: Vec<String>,
    /// Independent masters that this lock uses, if not as many as it asks for.
    pub nodes: Option<u8>,
    /// Work under this lock, if not as the workload says: one that renews its lease
    /// may be held for longer than the lease.
    pub work_ms: Option<Range>,
    /// Rest between two attempts at this lock, in ms, if not as the workload says.
    pub rest_ms: Option<Range>,
    /// The lease that clients of this lock ask for, in ms, if not as all clients do.
    #[schemars(range(min = 20, max = 600000))]
    pub ttl_ms: Option<i64>,
    /// A command of this lock gives up after this many ms, if not as for all clients.
    #[schemars(range(min = 1, max = 60000))]
    pub timeout_ms: Option<i64>,
    /// What the nemesis does where clients use this lock, in place of the whole
    /// `[nemesis]`: the same story, at the moments at which this lock can be hurt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nemesis: Option<Nemesis>,
}

impl Scenario {
    /// Where the lock of this name is: its file, or the name itself.
    #[must_use]
    pub fn lock_file<'s>(&'s self, lock: &'s str) -> &'s str {
        let expected = self.expect.get(lock);
        let file = expected.and_then(|expected| expected.file.as_deref());
        file.unwrap_or(lock)
    }

    /// The scenario as free runs play it with this lock: what its own table says
    /// stands in the place of what holds for all.
    #[must_use]
    pub fn with_lock(&self, lock: &str) -> Scenario {
        let mut own = self.clone();
        let Some(expected) = self.expect.get(lock) else {
            return own;
        };
        own.workload.work_ms = expected.work_ms.unwrap_or(own.workload.work_ms);
        own.workload.rest_ms = expected.rest_ms.unwrap_or(own.workload.rest_ms);
        own.clients.ttl_ms = expected.ttl_ms.unwrap_or(own.clients.ttl_ms);
        own.clients.timeout_ms = expected.timeout_ms.unwrap_or(own.clients.timeout_ms);
        if let Some(nemesis) = &expected.nemesis {
            own.nemesis = nemesis.clone();
        }
        own
    }
}
