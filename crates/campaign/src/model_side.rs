//! What the model says of each world of a run: verdicts, counterexamples, and random walks
//! to be replayed.

use lockproof_model::check::{
    CheckOptions, CheckResult, Checker, Chosen, ExploreOptions, Guard, Sizes,
};
use lockproof_model::lock::LockFile;
use lockproof_model::world::catalogue::Switch;
use lockproof_report::model::Partition;
use lockproof_trace::Trace;

use super::config::{Config, Group};
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
}

/// The model's half of a run.
pub struct ModelSide<'s> {
    config: Config,
    stage: &'s dyn Stage,
    explore: ExploreOptions,
    part: Option<Partition>,
    /// Worlds that were come to so far, those of other parts as well.
    worlds: usize,
}

impl<'s> ModelSide<'s> {
    pub fn new(
        config: &Config,
        stage: &'s dyn Stage,
        explore: ExploreOptions,
        part: Option<Partition>,
    ) -> ModelSide<'s> {
        ModelSide {
            config: config.clone(),
            stage,
            explore,
            part,
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

    fn lock(
        &mut self,
        group: &Group,
        name: &str,
        give: &impl Fn(ModelledWorld) -> bool,
    ) -> Result<bool, CampaignError> {
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
        let options = CheckOptions {
            sizes: sizes.clone(),
            properties: group.properties(file.fair)?,
            explore: ExploreOptions {
                states_max: Some(self.config.states_max),
                ..self.explore.clone()
            },
            guard: Guard::usual(self.config.seed),
            timed: false,
        };
        let mut checker = Checker::new(&file, options)?;
        checker.order(group.order.clone());
        for set in sets {
            let (results, walks) = self.set(&mut checker, &title(&file, &sizes, &set), &set)?;
            let world = ModelledWorld {
                file: file.clone(),
                sizes: sizes.clone(),
                set,
                results,
                walks,
                warnings: checker.cluster_warnings(),
            };
            if !give(world) {
                return Ok(false);
            }
        }
        Ok(true)
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

    fn set(
        &self,
        checker: &mut Checker,
        title: &str,
        set: &[Switch],
    ) -> Result<(Vec<CheckResult>, Vec<Trace>), CampaignError> {
        if self.is_stopped() {
            return Ok((checker.not_checked(set, NOT_RUN), Vec::new()));
        }
        self.stage.say(&format!("{title}: exploring"));
        let bound = self.stage.bound(&format!("the check of {title}"));
        let results = checker.check_set(set, self.stage)?;
        drop(bound);
        if self.is_stopped() {
            return Ok((results, Vec::new()));
        }
        let first = self.config.seed;
        let seeds = first..first + u64::from(self.config.walks);
        let bound = self
            .stage
            .bound(&format!("walking through the model of {title}"));
        let walks = checker.walks(set, seeds, self.config.walk_moves)?;
        drop(bound);
        Ok((results, walks))
    }
}
