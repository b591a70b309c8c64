//! What the model says of each world of a run: verdicts, counterexamples, and random walks
//! to be replayed.
//!
//! Each assumption set has a time of its own, so that one which is too large takes none from the
//! others. A set under which the lock is refused is unknown, with the reason; only a lock that is
//! refused under all of a group's sets ends the run.

use std::collections::BTreeSet;

use lockproof_model::check::frontier::{Answer, ELEMENTS_MAX, Subset, frontier};
use lockproof_model::check::{
    CheckError, CheckOptions, CheckResult, Checker, Chosen, ExploreOptions, Guard, Sizes, Verdict,
};
use lockproof_model::lock::LockFile;
use lockproof_model::world::catalogue::{Property, Switch};
use lockproof_report::model::{OnServer, Partition, Walks};
use lockproof_trace::Trace;

use super::config::{Config, Group};
use super::kept::{Asking, Evidence, Kept, Question};
use super::{CampaignError, NOT_RUN, Stage, title};

/// One assumption set of one lock.
pub struct ModelledWorld {
    pub file: LockFile,
    pub sizes: Sizes,
    pub set: Vec<Switch>,
    /// An answer for each property.
    pub results: Vec<CheckResult>,
    /// Random walks through it.
    pub walks: Vec<Trace>,
    /// What of the lock a cluster would refuse, as far as it was checked.
    pub warnings: Vec<String>,
    /// The horizon after it.
    pub reach: i64,
    /// What was asked, if finished worlds are kept, and nobody stopped the search.
    pub question: Option<Question>,
    /// What real servers said, if an earlier run has finished this world.
    pub kept: Option<(Walks, Vec<OnServer>, Vec<Evidence>)>,
}

/// The model's half of a run.
pub struct ModelSide<'s> {
    config: Config,
    stage: &'s dyn Stage,
    explore: ExploreOptions,
    part: Option<Partition>,
    asking: Option<Asking>,
    /// Worlds that were come to so far, those of other parts as well.
    worlds: usize,
}

/// Who takes worlds, until it wants no more.
type Give<'g> = dyn Fn(ModelledWorld) -> bool + 'g;

/// A lock of a group, and what was found of it.
struct Lock<'c> {
    group: &'c Group,
    file: &'c LockFile,
    sizes: Sizes,
    properties: Vec<Property>,
    checker: Checker<'c>,
    /// Sets under which the lock is refused wait until another one is answered.
    refused: Vec<ModelledWorld>,
    why: Option<CheckError>,
    answered: bool,
    /// Nobody wants more.
    ended: bool,
}

impl<'s> ModelSide<'s> {
    pub fn new(
        config: &Config,
        stage: &'s dyn Stage,
        explore: ExploreOptions,
        part: Option<Partition>,
        asking: Option<Asking>,
    ) -> ModelSide<'s> {
        ModelSide {
            config: config.clone(),
            stage,
            explore,
            part,
            asking,
            worlds: 0,
        }
    }

    /// Gives one world after the other, until `give` wants no more.
    pub fn run(mut self, give: impl Fn(ModelledWorld) -> bool) -> Result<(), CampaignError> {
        for group in self.config.group.clone() {
            for name in &group.locks {
                if !self.lock(&group, name, &give)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn lock(&mut self, group: &Group, name: &str, give: &Give) -> Result<bool, CampaignError> {
        let file = self.stage.load(name)?;
        let bound = self.stage.bound(&format!("a first look at {}", file.name));
        let sets = self.own_sets(group)?;
        if sets.is_empty() {
            return Ok(true);
        }
        let sizes = Sizes {
            clients: group.clients,
            nodes: group.nodes.unwrap_or(file.nodes.default),
            ttl_ticks: group.ttl_ticks,
            ..Sizes::for_file(&file)
        };
        let chosen = Chosen {
            ttl_ticks: true,
            tick_ms: false,
        };
        let sizes = match self.is_stopped() {
            true => sizes,
            false => sizes.fitted(&file, chosen, &self.explore.should_stop),
        };
        drop(bound);
        let properties = group.properties(file.fair)?;
        let options = CheckOptions {
            sizes: sizes.clone(),
            properties: properties.clone(),
            explore: ExploreOptions {
                states_max: Some(self.config.states_max),
                ..self.explore.clone()
            },
            guard: Guard::usual(self.config.seed),
            timed: false,
        };
        let mut checker = Checker::new(&file, options)?;
        checker.order(group.order.clone());
        let mut lock = Lock {
            group,
            file: &file,
            sizes,
            properties,
            checker,
            refused: Vec::new(),
            why: None,
            answered: false,
            ended: false,
        };
        let mut known = Vec::new();
        for set in sets {
            let found = self.set(&mut lock, &set, give)?;
            known.push((set, found));
            if lock.ended {
                return Ok(false);
            }
        }
        if let (false, Some(why)) = (lock.answered, lock.why.take()) {
            return Err(why.into());
        }
        if let Some(most) = self.config.frontier {
            self.frontier(&mut lock, known, most, give)?;
        }
        Ok(!lock.ended)
    }

    /// Asks of further sets of a group's faults what tells which of them break the lock and under
    /// which it is safe. What follows from others is not asked. (`lockproof frontier` asks for each
    /// property; that takes far more sets, since what breaks one property says nothing of another.)
    fn frontier(
        &self,
        lock: &mut Lock,
        mut known: Vec<(Vec<Switch>, Answer)>,
        most: u32,
        give: &Give,
    ) -> Result<(), CampaignError> {
        let singles = known.iter().filter(|(set, _)| set.len() == 1);
        let switches = singles.map(|(set, _)| set[0]);
        let switches: BTreeSet<Switch> = switches.filter(|one| one.fault.joins_all()).collect();
        let switches: Vec<Switch> = switches.into_iter().take(ELEMENTS_MAX as usize).collect();
        let elsewhere = self.elsewhere(lock)?;
        let mut failed = None;
        let mut ask = |bits: Subset| {
            let set = (0..switches.len()).filter(|at| bits >> at & 1 == 1);
            let set: Vec<Switch> = set.map(|at| switches[at]).collect();
            if let Some((_, found)) = known.iter().find(|(known, _)| *known == set) {
                return *found;
            }
            // A single one that the group does not name was not asked for, and a set that another
            // group names is told there.
            let stopped = lock.ended || self.is_stopped() || failed.is_some();
            if set.len() < 2 || elsewhere.contains(&set) || stopped {
                return Answer::Unknown;
            }
            let found = match self.set(lock, &set, give) {
                Ok(found) => found,
                Err(error) => {
                    failed.get_or_insert(error);
                    Answer::Unknown
                }
            };
            known.push((set, found));
            found
        };
        frontier(switches.len() as u32, most, &mut ask);
        failed.map_or(Ok(()), Err)
    }

    /// Sets that other groups have of the same lock at the same sizes.
    fn elsewhere(&self, lock: &Lock) -> Result<BTreeSet<Vec<Switch>>, CampaignError> {
        let mut sets = BTreeSet::new();
        for group in &self.config.group {
            let nodes = group.nodes.unwrap_or(lock.file.nodes.default);
            let same = (group.clients, nodes, group.ttl_ticks)
                == (lock.group.clients, lock.sizes.nodes, lock.group.ttl_ticks);
            let names = |name: &String| *name == lock.file.name || *name == lock.file.path;
            if same && group.locks.iter().any(names) {
                sets.extend(group.sets()?);
            }
        }
        Ok(sets)
    }

    /// The assumption sets that are this part's to check.
    fn own_sets(&mut self, group: &Group) -> Result<Vec<Vec<Switch>>, CampaignError> {
        let first = self.worlds;
        let sets = group.sets()?;
        self.worlds += sets.len();
        let own = |place: &usize| self.part.is_none_or(|part| part.takes(first + place));
        let sets = sets.into_iter().enumerate();
        Ok(sets
            .filter(|(place, _)| own(place))
            .map(|(_, set)| set)
            .collect())
    }

    fn is_stopped(&self) -> bool {
        (self.explore.should_stop)()
    }

    /// Answers for one set, and gives its world.
    fn set(&self, lock: &mut Lock, set: &[Switch], give: &Give) -> Result<Answer, CampaignError> {
        let (world, refusal) = self.world(lock, set)?;
        let found = answer(&world.results);
        match refusal {
            Some(why) if !lock.answered => {
                lock.why.get_or_insert(why);
                lock.refused.push(world);
            }
            _ => {
                lock.answered = true;
                let waiting = std::mem::take(&mut lock.refused).into_iter();
                lock.ended |= !waiting.chain([world]).all(give);
            }
        }
        Ok(found)
    }

    /// One world, and why the lock is refused there if it is.
    fn world(
        &self,
        lock: &mut Lock,
        set: &[Switch],
    ) -> Result<(ModelledWorld, Option<CheckError>), CampaignError> {
        let question = self.question(lock, set);
        if let Some(world) = question
            .as_ref()
            .and_then(|question| self.recalled(lock, set, question))
        {
            return Ok((world, None));
        }
        let title = title(lock.file, &lock.sizes, set);
        let mut world = ModelledWorld {
            file: lock.file.clone(),
            sizes: lock.sizes.clone(),
            set: set.to_vec(),
            results: Vec::new(),
            walks: Vec::new(),
            warnings: Vec::new(),
            reach: 1,
            question: None,
            kept: None,
        };
        if self.is_stopped() {
            world.results = lock.checker.not_checked(set, NOT_RUN);
            return Ok((world, None));
        }
        self.stage.say(&format!("{title}: exploring"));
        let bound = self.stage.bound(&format!("the check of {title}"));
        if let Some(seconds) = self.config.seconds_max {
            self.stage.within(seconds);
        }
        let found = lock.checker.check_set(set, self.stage);
        let in_time = !self.is_stopped();
        drop(bound);
        let refusal = match found {
            Ok(results) => {
                world.results = results;
                None
            }
            Err(error) if error.is_refusal() => {
                world.results = lock.checker.not_checked(set, &error.to_string());
                Some(error)
            }
            Err(error) => return Err(error.into()),
        };
        if refusal.is_none() && !self.is_stopped() {
            world.walks = self.walks(lock, set, &title, &world.results)?;
        }
        world.warnings = lock.checker.cluster_warnings();
        world.reach = lock.checker.reach();
        world.question = question.filter(|_| in_time && refusal.is_none());
        Ok((world, refusal))
    }

    fn walks(
        &self,
        lock: &mut Lock,
        set: &[Switch],
        title: &str,
        results: &[CheckResult],
    ) -> Result<Vec<Trace>, CampaignError> {
        let first = self.config.seed;
        let seeds = first..first + u64::from(self.config.walks);
        let _bound = self
            .stage
            .bound(&format!("walking through the model of {title}"));
        let walks = lock.checker.walks(set, seeds, self.config.walk_moves);
        let unknown = |result: &CheckResult| result.verdict == Verdict::Unknown;
        match walks {
            // What the model does not follow has no walks.
            Err(_) if results.iter().all(unknown) => Ok(Vec::new()),
            walks => Ok(walks?),
        }
    }

    fn question(&self, lock: &Lock, set: &[Switch]) -> Option<Question> {
        let sizes = format!("{:?}", lock.sizes);
        Some(Question::new(
            self.asking.as_ref()?,
            &self.config,
            lock.group,
            (lock.file, sizes, set),
            (&lock.properties, lock.checker.reach()),
        ))
    }

    /// The world as an earlier run has finished it.
    fn recalled(
        &self,
        lock: &mut Lock,
        set: &[Switch],
        question: &Question,
    ) -> Option<ModelledWorld> {
        let key = serde_json::to_string(question).ok()?;
        let text = self.stage.recall(&key)?;
        let wanted = lock.checker.not_checked(set, NOT_RUN);
        let kept = match Kept::read(&text, &wanted, question) {
            Ok(kept) => kept,
            Err(why) => {
                let title = title(lock.file, &lock.sizes, set);
                self.stage.warn(&format!(
                    "{title}: what was kept is refused, and asked again: {why}"
                ));
                return None;
            }
        };
        lock.checker.resume(kept.reach);
        Some(ModelledWorld {
            file: lock.file.clone(),
            sizes: lock.sizes.clone(),
            set: set.to_vec(),
            results: kept.results,
            walks: Vec::new(),
            warnings: kept.warnings,
            reach: kept.reach,
            question: Some(question.clone()),
            kept: Some((kept.walks, kept.walked_on, kept.evidence)),
        })
    }
}

/// What is known of all properties together.
fn answer(results: &[CheckResult]) -> Answer {
    let has = |verdict: Verdict| results.iter().any(|result| result.verdict == verdict);
    match (has(Verdict::Violated), has(Verdict::Unknown)) {
        (true, _) => Answer::Breaks,
        (false, false) if !results.is_empty() => Answer::Holds,
        _ => Answer::Unknown,
    }
}
