//! What given servers must not be: judged by what was seen, without asking again.
//!
//! A run writes keys, changes roles and makes the servers fail. So they must be the
//! user's to strike: they hold nothing, and belong to nobody who was not given. What
//! is only a danger to others can be allowed (`shared`); what would make the run
//! replace data, or leave half of a group behind, cannot.

use std::collections::{BTreeMap, BTreeSet};

use super::super::options::TopologyKind;
use super::drawn::Drawn;
use super::survey::{Node, Survey, Told, Watcher};

/// Why a server cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which, as people know it.
    pub server: String,
    /// What was found there, and what to do.
    pub why: String,
    /// It may be otherwise in a moment: servers that have just been started are
    /// still busy with each other.
    pub may_pass: bool,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub kind: TopologyKind,
    /// The name under which the Sentinels watch the primary.
    pub group: &'a str,
    /// Others may use the servers too.
    pub shared: bool,
}

type Judged = Result<(), Refusal>;

const SHARE: &str = "or let the run have it all the same with --shared-servers";

fn no(node: &Node, why: String) -> Refusal {
    let [address, _] = node.given;
    Refusal {
        server: format!("{} ({address})", node.party),
        why,
        may_pass: false,
    }
}

fn not_yet(node: &Node, why: String) -> Refusal {
    Refusal {
        may_pass: true,
        ..no(node, why)
    }
}

/// The first reason not to use these servers.
pub fn judge(wanted: Wanted<'_>, survey: &Survey) -> Judged {
    for node in &survey.nodes {
        is_ready(wanted.kind, node)?;
    }
    are_different(survey)?;
    for node in &survey.nodes {
        is_set_as_wanted(node)?;
    }
    for watcher in &survey.sentinels {
        watches_nobody_else(wanted, survey, watcher)?;
    }
    for node in &survey.nodes {
        is_watched_by_given(survey, node)?;
    }
    match wanted.kind {
        TopologyKind::Single | TopologyKind::Masters { .. } => all_stand_alone(survey)?,
        TopologyKind::Replicated { .. } => follow_the_first(survey)?,
        TopologyKind::Sentinel { .. } => follow_one(survey)?,
        TopologyKind::Cluster { .. } => is_whole_cluster(survey)?,
    }
    if !wanted.shared {
        for node in &survey.nodes {
            feeds_given_only(survey, node)?;
        }
        for node in &survey.nodes {
            is_empty(node)?;
        }
    }
    Ok(())
}

fn is_ready(kind: TopologyKind, node: &Node) -> Judged {
    let wanted = match kind {
        TopologyKind::Cluster { .. } => "cluster",
        _ => "standalone",
    };
    match node.mode.as_str() {
        mode if mode == wanted => {}
        "cluster" => {
            let why = "it is a member of a cluster, and the scenario has none; attach a server \
                       that is no member, or choose a scenario whose topology is `cluster`";
            return Err(no(node, why.into()));
        }
        "sentinel" => {
            let why = "it is a Sentinel; name it under `sentinels` in the attachment file";
            return Err(no(node, why.into()));
        }
        mode => {
            let why = format!("its mode is `{mode}`, and the scenario wants `{wanted}`");
            return Err(no(node, why));
        }
    }
    match node.loading {
        true => Err(not_yet(
            node,
            "it is still loading its data; wait until it has".into(),
        )),
        false => Ok(()),
    }
}

/// Settings of a server are its owner's, and not changed.
fn is_set_as_wanted(node: &Node) -> Judged {
    let Some([name, is, wanted]) = node.other_settings.first() else {
        return Ok(());
    };
    Err(no(
        node,
        format!(
            "its `{name}` is `{is}`, and the scenario asks for {wanted}; set it (CONFIG SET {name} \
             {wanted}), or choose another scenario"
        ),
    ))
}

/// One server under two names would be two servers to a lock.
fn are_different(survey: &Survey) -> Judged {
    let nodes = survey
        .nodes
        .iter()
        .map(|node| (&node.run_id, node.party, node.given[0]));
    let sentinels = survey.sentinels.iter();
    let sentinels = sentinels.map(|watcher| (&watcher.run_id, watcher.party, watcher.given));
    let mut seen = BTreeMap::new();
    for (id, party, given) in nodes.chain(sentinels) {
        if let Some(first) = seen.insert(id, party) {
            return Err(Refusal {
                server: format!("{party} ({given})"),
                why: format!("it is the same server as {first}; give each server once"),
                may_pass: false,
            });
        }
    }
    Ok(())
}

fn watches_nobody_else(wanted: Wanted<'_>, survey: &Survey, watcher: &Watcher) -> Judged {
    let refuse = |why: String| {
        Err(Refusal {
            server: format!("{} ({})", watcher.party, watcher.given),
            why,
            may_pass: false,
        })
    };
    let is_given = |told: &Told| survey.nodes.iter().any(|node| told.may_be(&node.given));
    let group = wanted.group;
    if watcher.mode != "sentinel" {
        return refuse(format!("it is no Sentinel but `{}`", watcher.mode));
    }
    let Some(primary) = watcher.groups.get(group) else {
        let others: Vec<&str> = watcher.groups.keys().map(String::as_str).collect();
        return refuse(format!(
            "it watches nothing under the name `{group}` (but {}); say in the attachment file \
             what the name is: sentinel_group = \"...\"",
            list(&others)
        ));
    };
    if !is_given(primary) {
        return refuse(format!(
            "the primary of `{group}` is {primary}, which was not given; give all servers of the \
             group, with `upstreams` if the Sentinels know them by other addresses"
        ));
    }
    let mut others = watcher.others.iter();
    let stranger = others.find(|(id, _)| !survey.sentinels.iter().any(|given| given.id == *id));
    if let Some((_, address)) = stranger {
        return refuse(format!(
            "a Sentinel at {address} watches `{group}` too, and was not given; give all Sentinels \
             of the group, or make them forget it (SENTINEL RESET {group})"
        ));
    }
    if wanted.shared {
        return Ok(());
    }
    if let Some(replica) = watcher.replicas.iter().find(|told| !is_given(told)) {
        return refuse(format!(
            "it knows a replica of `{group}` at {replica}, which was not given; give all servers \
             of the group, make the Sentinels forget it (SENTINEL RESET {group}), {SHARE}"
        ));
    }
    match watcher.groups.keys().find(|name| *name != group) {
        Some(other) => refuse(format!(
            "it watches `{other}` as well; attach Sentinels that watch nobody else, {SHARE}"
        )),
        None => Ok(()),
    }
}

/// A Sentinel that was not given would take the run's faults for its own failovers.
fn is_watched_by_given(survey: &Survey, node: &Node) -> Judged {
    let given = |id: &String| survey.sentinels.iter().any(|one| one.id.starts_with(id));
    match node.watchers.iter().find(|id| !given(id)) {
        Some(id) => Err(no(
            node,
            format!(
                "a Sentinel that was not given watches it (its id begins with {id}); give all its \
                 Sentinels, in a scenario whose topology is `sentinel`, or attach another server"
            ),
        )),
        None => Ok(()),
    }
}

fn all_stand_alone(survey: &Survey) -> Judged {
    for node in &survey.nodes {
        if let Some(primary) = &node.follows {
            return Err(no(
                node,
                format!("it is a replica of {primary} and takes no writes; give a primary"),
            ));
        }
    }
    Ok(())
}

/// Whether one node follows another, and certainly that one: an address may mean
/// another server over there than it means here, but nobody else has its history.
fn is_tied(follower: &Node, to: &Node) -> bool {
    let Some(told) = &follower.follows else {
        return false;
    };
    let fed = || to.replicas.iter().any(|told| told.may_be(&follower.given));
    follower.in_step && follower.history == to.history && (told.may_be(&to.given) || fed())
}

/// An error unless the node follows some given one.
fn follows_given(survey: &Survey, node: &Node, primary: &Told) -> Judged {
    let mut others = survey
        .nodes
        .iter()
        .filter(|other| other.party != node.party);
    if others.clone().any(|other| is_tied(node, other)) {
        return Ok(());
    }
    match others.find(|other| primary.may_be(&other.given)) {
        Some(other) if !node.in_step => Err(not_yet(
            node,
            format!(
                "it follows {} and is not in step with it; wait until it is",
                other.party
            ),
        )),
        Some(other) => Err(no(
            node,
            format!(
                "it follows {primary}, which is not {} here but another server: their data have \
                 different histories; give the server that it follows",
                other.party
            ),
        )),
        None => Err(no(
            node,
            format!(
                "it follows {primary}, which was not given; give its primary too (with `upstreams` \
                 if servers know each other by other addresses), or attach another server"
            ),
        )),
    }
}

fn follow_the_first(survey: &Survey) -> Judged {
    let Some((first, rest)) = survey.nodes.split_first() else {
        return Ok(());
    };
    if let Some(primary) = &first.follows {
        let why = format!("it follows {primary}; name the primary first, and give it");
        return Err(no(first, why));
    }
    for node in rest {
        if let Some(primary) = &node.follows {
            follows_given(survey, node, primary)?;
        } else if !(node.keys.is_empty() && first.keys.is_empty() && node.feeds == 0) {
            return Err(no(
                node,
                format!(
                    "it is a primary of its own, and to follow {} would replace its data; make it \
                     a replica of {} first, or empty both",
                    first.party, first.party
                ),
            ));
        }
    }
    Ok(())
}

fn follow_one(survey: &Survey) -> Judged {
    let mut primaries = survey.nodes.iter().filter(|node| node.follows.is_none());
    let first = primaries.next();
    if let (Some(first), Some(second)) = (first, primaries.next()) {
        let why = format!(
            "it is a primary, and so is {}; a group of Sentinels has one",
            first.party
        );
        return Err(not_yet(second, why));
    }
    for node in &survey.nodes {
        if let Some(primary) = &node.follows {
            follows_given(survey, node, primary)?;
        }
    }
    Ok(())
}

fn is_whole_cluster(survey: &Survey) -> Judged {
    let ids: BTreeSet<&str> = survey
        .nodes
        .iter()
        .filter_map(|node| Some(node.cluster.as_ref()?.0.as_str()))
        .collect();
    for node in &survey.nodes {
        let members = node.cluster.iter().flat_map(|(_, members)| members);
        if let Some(member) = members
            .clone()
            .find(|member| !ids.contains(member.id.as_str()))
        {
            return Err(no(
                node,
                format!(
                    "its cluster has a member at {}, which was not given; give the whole cluster, \
                     or make its members forget that one (CLUSTER FORGET {})",
                    member.address, member.id
                ),
            ));
        }
        if members.count() < ids.len() {
            let why = "it does not know all given servers as members of its cluster; give the \
                       members of one cluster";
            return Err(not_yet(node, why.into()));
        }
    }
    Ok(())
}

/// Whoever follows a node follows it into all its faults.
fn feeds_given_only(survey: &Survey, node: &Node) -> Judged {
    let member = |other: &&Node| match (&node.cluster, &other.cluster) {
        (Some((id, _)), Some((own, lines))) => lines
            .iter()
            .any(|line| line.id == *own && line.follows.as_ref() == Some(id)),
        _ => is_tied(other, node),
    };
    let given: Vec<&Node> = survey.nodes.iter().filter(member).collect();
    if node.feeds <= given.len() {
        return Ok(());
    }
    let unknown = |told: &&Told| !given.iter().any(|other| told.may_be(&other.given));
    let who = match node.replicas.iter().find(unknown) {
        Some(told) => format!("a replica at {told}"),
        None => format!("{} replicas", node.feeds),
    };
    Err(no(
        node,
        format!(
            "it feeds {who}, which was not given and would get what the run writes; give it too \
             where the scenario has replicas, attach another server, {SHARE}"
        ),
    ))
}

fn is_empty(node: &Node) -> Judged {
    if node.keys.is_empty() {
        return Ok(());
    }
    let counts = node
        .keys
        .iter()
        .map(|(db, count)| format!("{count} in database {db}"));
    let counts: Vec<String> = counts.collect();
    let (example, left) = match &node.example {
        Some(key) if Drawn::looks_so(key) => {
            let left = ". That name looks like what a killed run left: if it is, delete it";
            (format!(", such as `{key}`"), left)
        }
        Some(key) => (format!(", such as `{key}`"), ""),
        None => (String::new(), ""),
    };
    Err(no(
        node,
        format!(
            "it holds keys of others ({}{example}); attach an empty server, {SHARE}{left}",
            counts.join(", ")
        ),
    ))
}

fn list(names: &[&str]) -> String {
    match names {
        [] => "nothing at all".into(),
        names => names.join(", "),
    }
}
