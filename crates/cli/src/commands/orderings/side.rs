//! The three sources of answers about a variant: the compiler, the memory model, and the test.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use syncscope_core::{Domain, OwnCheck, OwnCode, OwnOperation, OwnUse};
use syncscope_cpu::primitives::own::{SIZES, Trials};
use syncscope_gpu::own::Inspector;
use syncscope_gpu::verify::listings_of_own;
use syncscope_host::scheduling::allowed_cpus;
use syncscope_machine::system::System;
use syncscope_orderings::{Bound, Files, HARNESS, MODELLED, Model, Span, Test, ptx_as_c};

use super::time::{OVER, Time};
use super::{
    LONGEST_MODEL, LONGEST_TEST, LONGEST_TEST_OF_GPU, MODEL_TIME, TEST_TIME, TEST_TIME_OF_GPU, Variant, pricing,
};
use crate::args::MeasureArguments;
use crate::failure::Failure;

/// The processor on which an operation runs.
pub(super) struct Side<'a> {
    kind: Kind<'a>,
    trials: Trials,
    subject: String,
    /// The machine code of the original.
    pub(super) original: String,
    model_time: Duration,
    test_time: Duration,
    pub(super) time: Time,
}

enum Kind<'a> {
    Cpu {
        cpus: Vec<u32>,
        /// The most threads that share memory: the code may be written for this number only.
        most: u32,
        /// The other half of a readers-writer lock: an ordering that one half does not need may be needed by both together.
        other_half: Option<Box<OwnOperation>>,
    },
    /// A GPU, with the machine code of the variants, which are compiled together.
    Gpu {
        arguments: &'a MeasureArguments,
        folder: &'a Path,
        inspector: Box<Inspector>,
        codes: HashMap<String, Result<String, String>>,
    },
}

impl<'a> Side<'a> {
    /// The side of an operation and its variants.
    pub(super) fn new(
        (own, other_half): (&OwnOperation, Option<OwnOperation>),
        variants: &[Variant<'_>],
        (arguments, folder): (&'a MeasureArguments, &'a Path),
        subject: &str,
        time: Time,
    ) -> Result<Self, Failure> {
        let dtype = arguments.axes.dtype.first().copied();
        let is_cpu = own.id.starts_with(Domain::Cpu.as_str());
        let kind = if is_cpu {
            let most = arguments.axes.threads.iter().copied().max().filter(|most| *most > 1).unwrap_or(u32::MAX);
            Kind::Cpu { cpus: allowed_cpus(), most, other_half: other_half.map(Box::new) }
        } else {
            let all = std::iter::once(own).chain(variants.iter().map(|variant| &variant.own));
            let codes = listings(&all.collect::<Vec<_>>(), arguments).map_err(Failure::CouldNot)?;
            let inspector = Inspector::new(arguments.sass.as_deref(), arguments.device.as_deref())
                .map_err(|error| Failure::CouldNot(error.to_string()))?;
            Kind::Gpu { arguments, folder, inspector: Box::new(inspector), codes }
        };
        let halves = if matches!(kind, Kind::Cpu { other_half: Some(_), .. }) { 2 } else { 1 };
        let share = |all: Duration, most| (time.at_most(all) / (variants.len() as u32 + 1)).min(most);
        let mut side = Self {
            kind,
            trials: Trials::new(dtype).map_err(Failure::CouldNot)?,
            subject: subject.to_owned(),
            original: String::new(),
            model_time: share(MODEL_TIME, LONGEST_MODEL) / halves,
            test_time: if is_cpu {
                share(TEST_TIME, LONGEST_TEST)
            } else {
                share(TEST_TIME_OF_GPU, LONGEST_TEST_OF_GPU)
            },
            time,
        };
        side.original = side.code(own).map_err(|error| Failure::CouldNot(format!("{}: {error}", own.id)))?;
        Ok(side)
    }

    pub(super) const fn is_gpu(&self) -> bool {
        matches!(self.kind, Kind::Gpu { .. })
    }

    /// The machine code of an operation.
    ///
    /// # Errors
    /// The compiler's error.
    pub(super) fn code(&self, own: &OwnOperation) -> Result<String, String> {
        match &self.kind {
            Kind::Cpu { .. } => self.trials.assembly(own),
            Kind::Gpu { arguments, codes, .. } => match codes.get(&own.id) {
                Some(known) => known.clone(),
                None => {
                    listings(&[own], arguments)?.remove(&own.id).unwrap_or_else(|| Err("it has no case".to_owned()))
                }
            },
        }
    }

    /// Why nothing is measured: the compiler writes code for another processor, or an emulator executes it.
    pub(super) fn without_price(&self) -> Option<String> {
        if self.is_gpu() {
            return None;
        }
        let target = Trials::foreign(&self.original).map(|target| format!("for {target}"));
        target.or_else(|| System::default().emulator()).map(|why| format!("no price: {why}"))
    }

    /// The names of the instructions in machine code that may order memory, as often as they occur.
    pub(super) fn names(&self, code: &str) -> Vec<String> {
        if self.is_gpu() { opcodes(code).collect() } else { Trials::instructions(&Trials::code(code)) }
    }

    /// Whether the compiler accepts an operation.
    ///
    /// # Errors
    /// Where there is no compiler.
    pub(super) fn is_taken(&self, own: &OwnOperation) -> Result<bool, String> {
        match &self.kind {
            Kind::Cpu { .. } => self.trials.is_taken(own),
            Kind::Gpu { arguments, .. } => {
                let own = OwnOperation { id: format!("{}_taken", own.id), ..own.clone() };
                Ok(listings(&[&own], arguments)?.remove(&own.id).is_some_and(|listing| listing.is_ok()))
            }
        }
    }

    /// The instructions of machine code, one per line.
    pub(super) fn instructions(&self, code: &str) -> Vec<String> {
        match &self.kind {
            Kind::Cpu { .. } => Trials::code(code),
            Kind::Gpu { .. } => {
                let counts = code.lines().find(|line| line.contains(" per operation"));
                let mut kinds: Vec<String> = Vec::new();
                for name in opcodes(code) {
                    if !kinds.contains(&name) {
                        kinds.push(name);
                    }
                }
                counts.map(|line| line.trim().to_owned()).into_iter().chain([kinds.join(", ")]).collect()
            }
        }
    }

    pub(super) fn model(&self, own: &OwnOperation) -> Model {
        let time = self.time.at_most(self.model_time);
        if time.is_zero() {
            return Model::Cannot(OVER.to_owned());
        }
        let parse = |said: Result<(String, Files), String>| {
            said.map_or_else(Model::Cannot, |(lines, mut files)| {
                files.retain(|_, file| file.as_deref() != Some(HARNESS));
                Model::parse(&lines, &files)
            })
        };
        let inspector = match &self.kind {
            Kind::Cpu { most, other_half, .. } => {
                let sizes: Vec<_> = SIZES.into_iter().filter(|(threads, _)| threads <= most).collect();
                let half = |own: &OwnOperation| parse(self.trials.model(own, time, &sizes));
                let model = half(own);
                let other = other_half
                    .iter()
                    .map(|other| OwnOperation { text: own.text.clone(), ..OwnOperation::clone(other) });
                let is_asked = matches!(model, Model::NotRefuted(_));
                let refuted =
                    other.filter(|_| is_asked).map(|other| half(&other)).find(|of| matches!(of, Model::Refuted(_)));
                return refuted.unwrap_or(model);
            }
            Kind::Gpu { inspector, .. } => inspector,
        };
        // With several devices: first blocks of one device, then blocks of different ones.
        let spans: &[Span] = if own.uses(OwnUse::Devices) { &[Span::Grid, Span::System] } else { &[span_of(own)] };
        let mut bounds = Vec::new();
        for span in spans {
            let said = modelled(own, inspector, *span)
                .and_then(|(own, sizes)| self.trials.model(&own, time / spans.len() as u32, sizes));
            match parse(said) {
                Model::NotRefuted(more) => {
                    let place = match span {
                        Span::System => Some("of different GPUs"),
                        Span::Grid if spans.len() > 1 => Some("of one GPU"),
                        // The order within a warp does not imply order in the block.
                        Span::Block => Some("of one warp"),
                        Span::Grid | Span::Cluster => None,
                    };
                    let place = place.map(str::to_owned);
                    bounds.extend(more.into_iter().map(|bound| Bound { place: place.clone(), ..bound }));
                }
                other => return other,
            }
        }
        Model::NotRefuted(bounds)
    }

    /// Whether the blocks of the model have several threads, so that it checks the order by a barrier of the block.
    pub(super) fn models_blocks(&self, own: &OwnOperation) -> bool {
        !self.is_gpu() || own.checked() == Some(OwnCheck::Barrier)
    }

    /// The results of the check under stress, for each operation.
    pub(super) fn tests(&self, operations: &[&OwnOperation]) -> Vec<Test> {
        match &self.kind {
            Kind::Cpu { cpus, most, .. } => {
                let test = |own: &&OwnOperation| {
                    let time = self.time.at_most(self.test_time);
                    if time.is_zero() {
                        return Test::Cannot(OVER.to_owned());
                    }
                    let said = self.trials.stress(own, time, cpus, *most as usize);
                    said.map_or_else(Test::Cannot, |line| Test::parse(&line, &self.subject))
                };
                operations.iter().map(test).collect()
            }
            Kind::Gpu { arguments, .. } if arguments.sass.is_some() => {
                operations.iter().map(|_| Test::Cannot("--sass runs nothing".to_owned())).collect()
            }
            Kind::Gpu { arguments, folder, .. } => {
                pricing::tests(operations, arguments, folder, (self.test_time, self.time))
            }
        }
    }
}

/// The threads between which an operation orders memory.
fn span_of(own: &OwnOperation) -> Span {
    match () {
        () if own.is("grid_wait") || !own.is_barrier() || own.is("send") => Span::Grid,
        () if own.is("cluster_wait") || own.uses(OwnUse::Clusters) => Span::Cluster,
        () => Span::Block,
    }
}

/// The names of the instructions of a listing, in order, without registers.
pub(in crate::commands) fn listing_opcodes(listing: &str) -> impl Iterator<Item = &str> {
    listing.lines().filter_map(|line| {
        let (_, rest) = line.trim().strip_prefix("0x")?.split_once(": ")?;
        let opcode = rest.split_whitespace().find(|word| !word.starts_with('@'))?;
        Some(opcode.trim_end_matches(';'))
    })
}

/// The instructions of a listing that access memory or order it.
fn opcodes(listing: &str) -> impl Iterator<Item = String> + '_ {
    // Accesses by a generic pointer, such as that of `cuda::atomic_ref`, are LD and ST.
    const KINDS: &str = "BAR MEMBAR ERRBAR CGAERRBAR CCTL LD LDG LDS ST STG STS RED ATOM UCGABAR SYNCS";
    let orders = |opcode: &&str| {
        let name = opcode.split('.').next().unwrap_or_default();
        KINDS.split(' ').any(|kind| name == kind || (kind.len() > 2 && name.starts_with(kind)))
    };
    listing_opcodes(listing).filter(orders).map(str::to_owned)
}

/// Numbers of threads, each with the number of uses per thread.
type Sizes = &'static [(u32, u32)];

/// An operation of a GPU as C for the model, and the sizes to model.
fn modelled(own: &OwnOperation, inspector: &Inspector, span: Span) -> Result<(OwnOperation, Sizes), String> {
    /// Two blocks of one thread, two blocks of two, and three blocks: the last block may pass on what the first has written.
    const OF_GRID: [(u32, u32); 3] = [(2, 2), (3, 1), (4, 1)];
    let function = match own.checked() {
        Some(OwnCheck::Barrier) => "wait",
        Some(OwnCheck::Lock) => "acquire",
        Some(OwnCheck::Message) => "send",
        _ => {
            return Err(
                "nothing says what it orders: write it as a lock, a barrier or a message (--header gpu)".to_owned()
            );
        }
    };
    let (Some(file), Some(own_function)) = (&own.file, &own.function) else {
        return Err("it is a statement".to_owned());
    };
    let mut functions = vec![(own_function.clone(), function.to_owned())];
    let helper = |name: &str| Some((own.helper(name)?, name.to_owned()));
    functions.extend(["release", "receive", "setup"].into_iter().filter_map(helper));
    let names: Vec<String> = functions.iter().map(|(name, _)| name.clone()).collect();
    let (ptx, kernels) = inspector.ptx(own, &names).map_err(|error| error.to_string())?;
    let pairs: Vec<(String, String)> = kernels.into_iter().zip(functions.into_iter().map(|(_, name)| name)).collect();
    let of_line = |line: &str| line.strip_prefix("#line")?.split('"').nth(1).map(str::to_owned);
    let headers = own.text.lines().filter_map(of_line).filter(|header| header != file);
    let files: Vec<String> = std::iter::once(file.clone()).chain(headers).collect();
    let text = ptx_as_c(&ptx, &pairs, span, &files)?;
    let helpers = pairs.iter().skip(1).map(|(_, name)| name.clone()).collect();
    let (file, function) = (Some(MODELLED.to_owned()), Some(function.to_owned()));
    let id = format!("{}.own.modelled", Domain::Cpu);
    let is_wide = own.checked() == Some(OwnCheck::Barrier) && [Span::Cluster, Span::Grid].contains(&span);
    let sizes: Sizes = if is_wide { &OF_GRID } else { &SIZES };
    Ok((OwnOperation { id, text, file, function, helpers, ..OwnOperation::default() }, sizes))
}

/// The machine code of operations for GPUs, compiled on all CPUs.
fn listings(
    operations: &[&OwnOperation],
    arguments: &MeasureArguments,
) -> Result<HashMap<String, Result<String, String>>, String> {
    let operations = operations.iter().map(|own| (*own).clone()).collect();
    let code = OwnCode { operations, axes: arguments.axes.axes() };
    Ok(listings_of_own(&code, arguments.sass.as_deref(), arguments.device.as_deref(), true)?.into_iter().collect())
}
