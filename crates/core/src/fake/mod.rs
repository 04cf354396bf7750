//! An experiment made of numbers: it drives the engine, the journal, the command and the reports where no
//! hardware is wanted, and holds the truth against which the statistics are tested.

use crate::model::sweep::Sweep;
use crate::{
    Case, Check, Disturbance, Dtype, Evidence, Experiment, ExperimentError, Facts, Hertz, Laboratory, Listing, Preset,
    Primitive, Protocol, Refusal, Role, Ruler, Sample, Shot, Side, Ticks,
};
use std::time::Duration;

/// Noise added to the length of a sample, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// None.
    Silent,
    /// Normal, with this standard deviation.
    Normal(f64),
    /// Mostly small, now and then enormous: exponential of a normal, times this scale (log-normal, sigma 2).
    HeavyTailed(f64),
    /// In proportion to the sample: longer samples do not help (log-normal, with this sigma).
    Proportional(f64),
    /// Zero or this much, at random, on a normal of a tenth of it.
    Bimodal(f64),
    /// Grows by this much with each sample, on a normal of ten times it.
    Drifting(f64),
    /// A wave of this amplitude and this period in samples, on a normal of a tenth of the amplitude.
    Periodic {
        /// Height of the wave.
        amplitude_ns: f64,
        /// Length of the wave in samples.
        period: f64,
    },
}

/// What a fake does instead of working.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Fault {
    /// It works.
    #[default]
    None,
    /// No sample ends.
    TimesOut,
    /// No sample ends, because other programs hold the processors.
    Interfered,
    /// Every sample fails.
    Fails(String),
    /// Every fifth sample is disturbed.
    Disturbed,
    /// Every sample is disturbed.
    AlwaysDisturbed,
    /// The clock falls by a tenth for good after this many samples.
    ClockFalls(u64),
    /// The clock falls a little with every sample.
    ClockSinks,
    /// The check fails.
    Miscounts,
    /// The proof does not end, because other programs hold the processors.
    Unproved,
    /// The primitive is not in the machine code.
    Elided,
    /// The laboratory is lost with the case.
    LosesLaboratory,
    /// The sample fails, and the laboratory is lost for the cases that follow.
    BreaksLaboratory,
    /// The process is aborted.
    Crashes,
    /// The thread panics.
    Panics,
    /// The call never returns.
    NeverReturns,
}

/// A case whose true cost is known.
#[derive(Debug, Clone)]
pub struct FakeExperiment {
    /// True cost of an operation in nanoseconds.
    cost_ns: f64,
    /// Cost of a loop iteration besides its operations.
    loop_ns: f64,
    /// What makes samples differ.
    noise: Noise,
    /// What goes wrong.
    fault: Fault,
    /// Time every sample takes for real.
    dwell: Duration,
    random: fastrand::Rng,
    samples: u64,
    spare_normal: Option<f64>,
}

/// Operations per iteration of the baseline; the test has twice as many.
const UNROLL: u32 = 10;

/// One tick is a tenth of a nanosecond.
const TICK_HZ: f64 = 1e10;

/// The fake core runs at 2.5 GHz.
const CYCLES_PER_TICK: f64 = 0.25;

impl FakeExperiment {
    /// A case without noise.
    pub fn new(cost_ns: f64, seed: u64) -> Self {
        Self {
            cost_ns,
            loop_ns: 1.0,
            noise: Noise::Silent,
            fault: Fault::None,
            dwell: Duration::ZERO,
            random: fastrand::Rng::with_seed(seed),
            samples: 0,
            spare_normal: None,
        }
    }

    /// This experiment with noise.
    pub fn with_noise(self, noise: Noise) -> Self {
        Self { noise, ..self }
    }

    /// This experiment with a fault.
    pub fn with_fault(self, fault: Fault) -> Self {
        Self { fault, ..self }
    }

    /// This experiment with another cost of the loop.
    pub fn with_loop(self, loop_ns: f64) -> Self {
        Self { loop_ns, ..self }
    }

    /// This experiment, taking real time for each sample.
    pub fn with_dwell(self, dwell: Duration) -> Self {
        Self { dwell, ..self }
    }

    /// A standard normal number (Box and Muller, 1958).
    fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.random.f64()).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.random.f64();
        self.spare_normal = Some(radius * angle.sin());
        radius * angle.cos()
    }

    fn noise_ns(&mut self, true_ns: f64) -> f64 {
        let normal = self.normal();
        match self.noise {
            Noise::Silent => 0.0,
            Noise::Normal(deviation) => deviation * normal,
            Noise::HeavyTailed(scale) => scale * (2.0 * normal).exp(),
            Noise::Proportional(sigma) => true_ns * ((sigma * normal).exp() - 1.0),
            Noise::Bimodal(gap) => f64::from(u8::from(self.random.bool())) * gap + gap / 10.0 * normal,
            Noise::Drifting(step) => step * self.samples as f64 + step * 10.0 * normal,
            Noise::Periodic { amplitude_ns, period } => {
                let phase = std::f64::consts::TAU * self.samples as f64 / period;
                amplitude_ns * phase.sin() + amplitude_ns / 10.0 * normal
            }
        }
    }
}

impl Experiment for FakeExperiment {
    fn ruler(&self) -> Ruler {
        Ruler { name: "fake", frequency: Hertz(TICK_HZ), resolution: Ticks(1), read_cost: Ticks(10) }
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        iterations * (1 + side.copies()) * u64::from(UNROLL)
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        std::thread::sleep(self.dwell);
        match &self.fault {
            Fault::TimesOut => return Err(ExperimentError::TimedOut(Duration::from_secs(2))),
            Fault::Interfered => return Err(ExperimentError::Interfered("the processors were taken".to_owned())),
            Fault::Fails(reason) => return Err(ExperimentError::Failed(reason.clone())),
            Fault::BreaksLaboratory => return Err(ExperimentError::Failed("the fake broke its context".to_owned())),
            Fault::Crashes => std::process::abort(),
            Fault::Panics => unreachable!("a fault that was asked for"),
            Fault::NeverReturns => loop {
                std::thread::sleep(Duration::from_secs(3600));
            },
            _ => {}
        }
        let operations = self.operations(shot.side, shot.iterations) as f64;
        let true_ns = operations * self.cost_ns + shot.iterations as f64 * self.loop_ns;
        let ns = (true_ns + self.noise_ns(true_ns)).max(0.0);
        self.samples += 1;
        // A slower clock makes longer ticks; the number of ticks stays.
        let slower = match self.fault {
            Fault::ClockFalls(after) if self.samples > after => 1.0 / 0.9,
            Fault::ClockSinks => 1.05_f64.powf(self.samples as f64),
            _ => 1.0,
        };
        let ticks = |share: f64| Ticks((ns * share * TICK_HZ / 1e9).round() as u64);
        let disturbed = match self.fault {
            Fault::AlwaysDisturbed => true,
            Fault::Disturbed => self.samples.is_multiple_of(5),
            _ => false,
        };
        Ok(Sample {
            fastest: ticks(0.8),
            median: ticks(0.9),
            slowest: ticks(1.0),
            mean_rate: ns * 0.9 * TICK_HZ / 1e9,
            ns_per_tick: slower * 1e9 / TICK_HZ,
            cycles_per_tick: Some(CYCLES_PER_TICK),
            disturbance: disturbed.then_some(Disturbance::InvoluntarySwitch),
            ..Sample::default()
        })
    }

    fn protocol(&self) -> Protocol {
        Protocol { clock_tolerance: Some(0.02), ..Protocol::of(UNROLL) }
    }

    fn check(&mut self) -> Check {
        if self.fault == Fault::Miscounts { Check::Failed("expected 2, found 1".to_owned()) } else { Check::Ok }
    }

    fn prove(&mut self) -> Result<(), ExperimentError> {
        let taken = || Err(ExperimentError::Interfered("the processors were taken".to_owned()));
        if self.fault == Fault::Unproved { taken() } else { Ok(()) }
    }

    fn evidence(&mut self) -> Evidence {
        let listing = format!("; {UNROLL} times\nfake\n");
        if self.fault == Fault::Elided {
            Evidence::Elided { summary: format!("no fake in the test, expected {UNROLL}"), listing }
        } else {
            Evidence::Present { summary: format!("fake {UNROLL}/{}", 2 * UNROLL), listing, receipt: None }
        }
    }
}

// A laboratory of fakes: the command, the journal and the reports run on it where hardware is not the question.

const fn fake(id: &'static str, summary: &'static str, role: Role) -> Primitive {
    let facts = Facts::of(role);
    Primitive { id, summary, operation: "one operation that is only a number", source: "nowhere", facts }
}

/// One primitive for each way a case can end.
pub(crate) static CATALOGUE: [Primitive; 5] = [
    fake("cpu.atomic.add", "A cost that grows with the threads and is resolved", Role::Update),
    fake("cpu.atomic.read", "A cost of zero", Role::Access),
    fake("cpu.barrier.std", "A cost that drowns in noise", Role::ThreadBarrier),
    fake("cpu.fence.flush", "A primitive that does not exist here", Role::Fence),
    fake("cpu.lock.std_mutex", "A primitive that fails on request", Role::ThreadLock),
];

/// Makes fakes.
#[derive(Debug, Clone, Default)]
pub struct FakeLaboratory {
    /// Time every sample takes for real.
    pub dwell: Duration,
    /// Each primitive is planned with 1 to this many threads; 0 leaves the number to the preset.
    pub most_threads: u32,
    /// What goes wrong with `cpu.lock.std_mutex`.
    pub fault: Fault,
    /// Whether a case has broken the laboratory.
    is_broken: bool,
}

impl Laboratory for FakeLaboratory {
    fn listing(&self) -> Vec<Listing> {
        let reason = |primitive: &Primitive| (primitive.name() == "flush").then(|| "no such fake".to_owned());
        CATALOGUE.iter().map(|primitive| Listing { primitive, unavailable: reason(primitive) }).collect()
    }

    fn plan(&self, preset: Preset) -> Vec<Case> {
        let threads: Vec<u32> = match preset {
            _ if self.most_threads > 0 => (1..=self.most_threads).collect(),
            Preset::Quick => vec![1, 2],
            Preset::Standard | Preset::Paper => vec![1, 2, 4, 8],
        };
        let sweep = |id: &str| Sweep::of(id).threads(&threads);
        let mut cases = sweep("cpu.atomic.add").dtypes(&[Dtype::I32, Dtype::F64]).cases();
        for primitive in &CATALOGUE[1..] {
            cases.extend(sweep(primitive.id).cases());
        }
        cases
    }

    fn prepare(&mut self, cases: &[Case], progress: &mut dyn FnMut(usize, usize)) {
        progress(cases.len(), cases.len());
    }

    fn experiment(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
        if self.is_broken {
            return Err(Refusal::Lost("an earlier case broke the laboratory of fakes".to_owned()));
        }
        self.is_broken = self.fault == Fault::BreaksLaboratory && case.primitive == "cpu.lock.std_mutex";
        let threads = f64::from(case.threads.unwrap_or(1));
        let cost = |ns: f64| FakeExperiment::new(ns, case.id().number()).with_dwell(self.dwell);
        Ok(Box::new(match case.primitive.as_str() {
            "cpu.atomic.add" => cost(5.0 * threads).with_noise(Noise::Normal(50.0)),
            "cpu.atomic.read" => cost(0.0).with_noise(Noise::Normal(50.0)),
            "cpu.barrier.std" => cost(100.0 * threads).with_noise(Noise::Proportional(1.0)),
            "cpu.lock.std_mutex" if self.fault == Fault::LosesLaboratory => {
                return Err(Refusal::Lost("the fake broke its laboratory".to_owned()));
            }
            "cpu.lock.std_mutex" => cost(20.0 * threads).with_fault(self.fault.clone()),
            other => return Err(Refusal::Skipped(format!("there is no fake of {other}"))),
        }))
    }
}
