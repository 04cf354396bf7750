//! A fake experiment whose samples or protocol are changed.

use std::time::Duration;

use syncscope_core::fake::FakeExperiment;
use syncscope_core::{
    Actor, Check, Evidence, Experiment, ExperimentError, Limit, Population, Protocol, Ruler, Sample, Shot, Side,
};

/// A fake whose samples or protocol are changed.
pub(crate) struct Altered<S> {
    pub(crate) fake: FakeExperiment,
    pub(crate) sample: S,
    pub(crate) longest: Option<Duration>,
    pub(crate) share: f64,
    pub(crate) actor: Actor,
    pub(crate) population: Population,
    pub(crate) limit: Option<Limit>,
}

impl<S> Altered<S>
where
    S: FnMut(&mut FakeExperiment, Shot) -> Result<Sample, ExperimentError>,
{
    pub(crate) fn of(fake: FakeExperiment, sample: S) -> Self {
        Self {
            fake,
            sample,
            longest: None,
            share: 1.0,
            actor: Actor::Slowest,
            population: Population::All,
            limit: None,
        }
    }
}

impl<S> Experiment for Altered<S>
where
    S: FnMut(&mut FakeExperiment, Shot) -> Result<Sample, ExperimentError>,
{
    fn ruler(&self) -> Ruler {
        self.fake.ruler()
    }
    fn operations(&self, side: Side, iterations: u64) -> u64 {
        self.fake.operations(side, iterations)
    }
    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        (self.sample)(&mut self.fake, shot)
    }
    fn protocol(&self) -> Protocol {
        let Self { longest: longest_sample, share: share_of_time, actor, population, .. } = *self;
        let unroll = self.fake.protocol().unroll;
        Protocol { longest_sample, share_of_time, actor, population, has_double: true, ..Protocol::of(unroll) }
    }
    fn limit(&self) -> Option<Limit> {
        self.limit.clone()
    }
    fn check(&mut self) -> Check {
        self.fake.check()
    }
    fn evidence(&mut self) -> Evidence {
        self.fake.evidence()
    }
}
