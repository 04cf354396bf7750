//! The user's code and questions: the operations of `syncscope measure`, and what is said of their rows.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use syncscope_core::own::is_own;
use syncscope_core::run::{OwnComparison, Status};
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::session::Finished;
use syncscope_core::units::plural;
use syncscope_core::{
    Axes, Case, CaseId, Domain, Dtype, Form, LockRole, MemoryOrder, OwnCheck, OwnCode, OwnOperation, OwnUse, Row, Run,
    SpinBudget, Verdict,
};
use syncscope_cpu::primitives::own;
use syncscope_gpu::own::Inspector;
use syncscope_orderings::Saving;
use syncscope_report::export::answer::Answer;
use syncscope_report::figure::percent;
use syncscope_report::{Change, ComparedCase, Comparison, RunData, compare_in_turn, export, in_groups};

use crate::args::{MeasureArguments, RunArguments};
use crate::commands::gate::Gate;
use crate::commands::own_launch;
use crate::commands::own_pairs::Pairs;
use crate::commands::own_ratios::{crossings, ratios_of_cases};
use crate::commands::own_source::Source;
use crate::failure::{Failure, Outcome};
use crate::{output, runs, terminal};

/// Operations of the user, with the arguments that say what to find out about them.
#[derive(Debug, Clone)]
pub(super) struct OwnRequest {
    sources: Vec<Source>,
    /// The operations that the compilers found in the sources; empty before they are asked.
    pub(super) operations: Vec<OwnOperation>,
    pub(super) arguments: MeasureArguments,
}

const NOTHING_TO_COMPARE: &str = "--fail-if-slower needs something to compare with: name it with --against";

impl OwnRequest {
    /// The request of a resumed run, whose operations are known.
    pub(super) const fn begun(operations: Vec<OwnOperation>, arguments: MeasureArguments) -> Self {
        Self { sources: Vec::new(), operations, arguments }
    }

    /// Reads the code that the arguments name.
    pub(super) fn new(arguments: &MeasureArguments) -> Result<Self, Failure> {
        let own_against: Vec<&String> = arguments.against.iter().filter(|code| !is_id(code)).collect();
        let against_both = !own_against.is_empty() && !arguments.cpu.is_empty() && !arguments.gpu.is_empty();
        let is_of = |code: &&String, side: Domain| code.split('.').next() == Some(side.as_str());
        let mut ids = arguments.against.iter().filter(|code| is_id(code));
        let stray = ids.any(|id| {
            (arguments.cpu.is_empty() && is_of(&id, Domain::Cpu))
                || (arguments.gpu.is_empty() && is_of(&id, Domain::Gpu))
        });
        Failure::refuse([
            (against_both, "--against belongs to one side: give --cpu or --gpu, not both"),
            (stray, "--against names a primitive of the other side: it is compared with code of its own side"),
        ])?;
        let mut sources = Vec::new();
        for (domain, codes) in [(Domain::Cpu, &arguments.cpu), (Domain::Gpu, &arguments.gpu)] {
            let against = own_against.iter().copied().filter(|_| !codes.is_empty());
            for (number, code) in codes.iter().chain(against).enumerate() {
                sources.push(Source::new(arguments, domain, code, number)?);
            }
        }
        let launches: Vec<_> = sources.iter().map(|source| source.own.launch.as_ref()).collect();
        own_launch::refuse_what_does_not_fit(arguments, &launches)?;
        let slower = arguments.fail_if_slower.is_some() && sources.len() + arguments.against.len() < 2;
        let axes = &arguments.axes;
        let (for_gpus, on_cpus) = (arguments.cpu.is_empty(), arguments.gpu.is_empty());
        Failure::refuse([
            (slower && sources.iter().all(|source| source.file.is_none()), NOTHING_TO_COMPARE),
            (on_cpus && !axes.blocks.is_empty(), "--blocks is for --gpu"),
            (on_cpus && !arguments.cluster.is_empty(), "--cluster is for --gpu"),
            (on_cpus && arguments.shared_bytes.is_some(), "--shared-bytes is for --gpu"),
            (for_gpus && !axes.placement.is_empty(), "--placement is for --cpu"),
        ])?;
        if let Some((blocks, cluster)) =
            pairs(&axes.blocks, &arguments.cluster).find(|(blocks, cluster)| blocks % cluster != 0)
        {
            return Err(Failure::Usage(format!("--blocks {blocks} is not a multiple of --cluster {cluster}")));
        }
        check_outputs(arguments, &sources)?;
        let absolute = |file: &Option<PathBuf>| {
            file.as_deref().map(|file| if output::is_stdout(file) { file.to_owned() } else { runs::absolute(file) })
        };
        let (export_json, export_markdown) = (absolute(&arguments.export_json), absolute(&arguments.export_markdown));
        let arguments = MeasureArguments { export_json, export_markdown, ..arguments.clone() };
        Ok(Self { sources, operations: Vec::new(), arguments })
    }

    /// The request with the operations that compilers find in the code, on a GPU for `arch` or else for the first device.
    pub(super) fn resolved(&self, arch: Option<&str>) -> Result<Self, Failure> {
        let arguments = &self.arguments;
        own::compile_here_until(terminal::cancel());
        let of_arch =
            || Inspector::new(arch, arguments.device.as_deref()).map_err(|error| Failure::CouldNot(error.to_string()));
        let mut inspector = None;
        let (mut operations, mut ignored) = (Vec::new(), HashSet::new());
        for source in &self.sources {
            let dtype = arguments.axes.dtype.first().copied();
            if let Some(launch) = &source.own.launch {
                operations.extend(own_launch::operations(&source.own, launch, of_arch)?);
                continue;
            }
            let found = if source.domain == Domain::Cpu {
                let unread = [
                    own::ignored_pragma(&source.own, dtype),
                    own::ignored_flags(&source.own),
                    own::ignored_lto(&source.own),
                ];
                for unread in unread.into_iter().flatten().filter(|unread| ignored.insert(unread.clone())) {
                    terminal::note(&unread);
                }
                own::inspect(&source.own, &source.candidates, dtype)
            } else {
                let inspector = match &mut inspector {
                    Some(inspector) => inspector,
                    none => none.insert(of_arch()?),
                };
                inspector.inspect(&source.own, &source.candidates, dtype).map_err(|error| error.to_string())
            };
            operations.extend(source.operations(&found.map_err(Failure::CouldNot)?)?);
        }
        let mut names = HashSet::new();
        for own in &mut operations {
            let (name, mut number) = (own.id.clone(), 1);
            while !names.insert(own.id.clone()) {
                number += 1;
                own.id = format!("{name}{number}");
            }
        }
        for own in operations.iter().filter(|own| own.uses(OwnUse::Starts)) {
            terminal::note(&format!("{}: {}", own.id, own::SHARED_CPU));
        }
        refuse_what_does_not_fit(&operations, arguments)?;
        Ok(Self { operations, ..self.clone() })
    }

    /// Whether a GPU takes part.
    pub(super) fn needs_gpu(&self) -> bool {
        self.only().iter().any(|id| !id.starts_with(Domain::Cpu.as_str()))
    }

    /// The ids of the catalogue's primitives that the user's operations are compared with.
    pub(super) fn ids_of_catalogue(&self) -> impl Iterator<Item = &String> {
        self.arguments.against.iter().filter(|code| is_id(code))
    }

    /// The ids that are measured.
    pub(super) fn only(&self) -> Vec<String> {
        self.operations.iter().map(|own| &own.id).chain(self.ids_of_catalogue()).cloned().collect()
    }

    /// The code that the laboratories measure.
    pub(super) fn code(&self) -> OwnCode {
        let axes = Axes { clusters: self.arguments.cluster.clone(), ..self.arguments.axes.axes() };
        OwnCode { operations: self.operations.clone(), axes }
    }

    /// The arguments of the run.
    pub(super) fn as_run(&self) -> RunArguments {
        let MeasureArguments { out, budget, device, seed, axes, .. } = self.arguments.clone();
        RunArguments { only: self.only(), out, budget, device, seed, axes, ..RunArguments::default() }
    }

    /// Shows a finished run by `report`, and the results of the comparison; only the reason, if nothing was measured.
    pub(super) fn conclude(
        &self,
        finished: &Finished,
        report: impl FnOnce(&Finished) -> Result<Outcome, Failure>,
    ) -> Result<Outcome, Failure> {
        if self.arguments.trial_ms.is_some() {
            // The process that started this one reads the directory.
            return Ok(Outcome::Done);
        }
        let data = runs::load(finished.directory.path())?;
        let reasons = data.rows.iter().map(|row| (format!("{}: {}", row.case.primitive, row.explanation()), row));
        let reasons: Vec<String> = in_groups(reasons).into_iter().map(|(text, _)| text).collect();
        // A check that failed is a finding about the code.
        let has_outcome = |row: &Row| has_answer(row) || row.check == Some(false);
        if finished.status == Status::Done && !reasons.is_empty() && !data.rows.iter().any(has_outcome) {
            return Err(terminal::could_not(reasons));
        }
        let compared = self.compare(&data, &finished.directory)?;
        if !compared.ratios.is_empty() {
            let run = Run { compared: compared.ratios, ..finished.directory.read_run()? };
            finished.directory.write_run(&run)?;
        }
        let outcome = report(finished)?;
        let spilling = data.rows.iter().filter_map(|row| {
            let (_, what) = row.evidence.as_deref()?.split_once(syncscope_gpu::own::SPILLS)?;
            Some((format!("{} {}{what}", row.case.primitive, syncscope_gpu::own::SPILLS), row))
        });
        let growing = data.rows.iter().filter(|row| row.verdict.growth().is_some());
        let growing = growing.map(|row| (format!("{}: {}", row.case.primitive, row.verdict.reason()), row));
        for (text, _) in in_groups(spilling.chain(growing)) {
            terminal::warning(&text);
        }
        for text in &compared.texts {
            terminal::show(text)?;
        }
        let Some(threshold) = self.arguments.fail_if_slower.map(|percentage| percentage.0) else { return Ok(outcome) };
        if let slower @ [_, ..] = compared.gate.slower() {
            terminal::note(&format!("slower by more than {}: {}", percent(threshold), slower.join("; ")));
        }
        compared.gate.outcome(outcome)
    }

    /// The pairs of ids of a side that are compared. Tells which ones have no counterpart.
    pub(super) fn pairs(&self, domain: Domain) -> Vec<[String; 2]> {
        let Pairs { compared, left_out } = Pairs::of(&self.operations, domain, &self.only(), &self.arguments);
        for id in left_out {
            terminal::note(&format!("{id} has no counterpart with its name and is not compared"));
        }
        compared
    }

    /// Compares the operations of each side.
    fn compare(&self, data: &RunData, directory: &RunDirectory) -> Result<Compared, Failure> {
        let threshold = self.arguments.fail_if_slower.map_or(0.0, |percentage| percentage.0);
        let (mut json, mut markdown, mut answers) = (Vec::new(), String::new(), Vec::new());
        let Compared { mut gate, mut texts, mut ratios } = Compared::default();
        let samples = directory.read_samples()?;
        let is_asked = !self.arguments.against.is_empty();
        for domain in [Domain::Cpu, Domain::Gpu] {
            let pairs = if is_asked { self.pairs(domain) } else { Vec::new() };
            for [first, other] in pairs.iter().filter(|[_, other]| !self.is_region(other)) {
                let [a, b] = self.both(data, [first, other]);
                let by_loops = self.are_compared_by_loops([first, other]);
                let (of_cases, beside) = ratios_of_cases([&a.1, &b.1], &samples, domain, by_loops);
                let comparison = compare_in_turn(&b.0, &a.0, threshold, &of_cases);
                if comparison.cases.is_empty() {
                    let text = format!("{first} and {other} have no case in common");
                    terminal::warning(&text);
                    gate.leave_open(text);
                    continue;
                }
                texts.push(in_words(&comparison, &beside, [first, other], by_loops));
                // The case of the run: rows of launches are compared without their grids.
                let of_launch = |compared: &ComparedCase<'_>| {
                    let id = a.1.get(&compared.b.case.id()).filter(|_| self.are_launches())?;
                    data.rows.iter().map(|row| &row.case).find(|case| case.id() == *id)
                };
                ratios.extend(by_case(&comparison).into_iter().map(|compared| {
                    let case = of_launch(compared).unwrap_or(&compared.a.case);
                    stored(compared, case, (&beside, threshold), [first, other])
                }));
                let answer = |compared: &ComparedCase<'_>| {
                    let [case_a, case_b] = [compared.a, compared.b].map(|row| row.case.id());
                    let of_run = |ids: &HashMap<CaseId, CaseId>, id| ids.get(&id).cloned().unwrap_or(id);
                    let ids = [of_run(&b.1, case_a), of_run(&a.1, case_b)];
                    Answer::of_change(compared, [other, first], ids)
                };
                answers.extend(comparison.cases.iter().map(answer));
                json.push(export::comparison::as_json_answering(&comparison, answer));
                markdown.push_str(&export::comparison::as_markdown(&comparison));
                for compared in &comparison.cases {
                    let name = format!("{first} against {other}, {}", parameters(compared));
                    gate.add(compared, &name, &remark_in_words(compared, [first, other]));
                }
                if comparison.only_b > 0 {
                    let more = plural(comparison.only_b as u32, "case");
                    gate.leave_open(format!("{more} of {first} are not among those of {other}"));
                }
            }
        }
        let answers = answers.into_iter().chain(data.rows.iter().map(Answer::of_cost)).collect();
        let markdown = if json.is_empty() { export::rows::as_markdown(data) } else { markdown };
        let mut exported = export::rows::as_json(data, Some(answers));
        exported["comparisons"] = json.into();
        self.export([syncscope_report::json(&exported), markdown])?;
        Ok(Compared { gate, texts, ratios })
    }

    /// The rows of two operations, as if each had a run of its own, with equal names for equal cases.
    fn both(&self, data: &RunData, [first, other]: [&str; 2]) -> [OperationRows; 2] {
        // The type of a lock or a barrier is that of its own words and does not count: other operations have no such parameter,
        // or other words.
        let is_typed = |own: &OwnOperation| !waits(own) && (own.uses(OwnUse::Variable) || own.uses(OwnUse::Element));
        let has_type = self.operations.iter().all(is_typed);
        let dtype = self.arguments.axes.dtype.first().copied().unwrap_or(Dtype::I32);
        let is_launch = self.are_launches();
        let [mut a, mut b] = [first, other].map(|id| part(data, id, (has_type, is_launch), dtype));
        // An operation that calls no library costs the same in a process of one thread, and is not measured there.
        let is_alone = |row: &Row| row.case.form == Some(Form::OneThreadProcess);
        let are_alone = b.0.rows.iter().any(is_alone);
        a.0.rows.retain(|row| are_alone || !is_alone(row));
        // Readers beside writers count for both operations or for neither.
        let has_role = |row: &Row| !is_launch && row.case.group.is_some();
        let have_roles = [&a, &b].into_iter().all(|(part, _)| part.rows.iter().any(has_role));
        a.0.rows.retain(|row| have_roles || !has_role(row));
        b.0.rows.retain(|row| have_roles || !has_role(row));
        [a, b]
    }

    fn are_launches(&self) -> bool {
        self.operations.iter().any(|own| own.launch.is_some())
    }

    /// Whether an operation is a part of a kernel, which is not compared with whole kernels.
    fn is_region(&self, id: &str) -> bool {
        let launch = self.operations.iter().find(|own| own.id == id).and_then(|own| own.launch.as_ref());
        launch.is_some_and(|launch| launch.region.is_some())
    }

    fn are_compared_by_loops(&self, ids: [&str; 2]) -> bool {
        let of_cpu = |id: &str| is_own(id) && id.starts_with(Domain::Cpu.as_str());
        ids.into_iter().all(of_cpu) && self.operations.iter().all(|own| own.baseline.is_none())
    }

    /// The savings of another operation, measured in turn with the first one, in each case.
    pub(super) fn savings(
        &self,
        data: &RunData,
        directory: &RunDirectory,
        [first, other]: [&str; 2],
    ) -> Result<Vec<Saving>, Failure> {
        let pairs = directory.read_samples()?;
        let domain = if first.starts_with(Domain::Cpu.as_str()) { Domain::Cpu } else { Domain::Gpu };
        let [a, b] = self.both(data, [first, other]);
        let (ratios, _) = ratios_of_cases([&a.1, &b.1], &pairs, domain, self.are_compared_by_loops([first, other]));
        let comparison = compare_in_turn(&b.0, &a.0, 0.0, &ratios);
        let mut cases: Vec<&ComparedCase<'_>> = comparison.cases.iter().collect();
        cases.sort_by_key(|compared| &compared.a.case);
        let saving = |compared: &&ComparedCase<'_>| {
            let original_ns = compared.b.ns?.0;
            let saved = |ratio: f64| original_ns * (1.0 - ratio.recip());
            Some(Saving {
                case: parameters(compared),
                original_ns,
                saved_ns: saved(compared.ratio?),
                saved_low_ns: compared.low.map(saved),
                saved_high_ns: compared.high.map(saved),
            })
        };
        Ok(cases.iter().filter_map(saving).collect())
    }

    /// The files that were named for JSON and Markdown.
    pub(super) fn exports(&self) -> [Option<&Path>; 2] {
        [&self.arguments.export_json, &self.arguments.export_markdown].map(Option::as_deref)
    }

    /// Writes the texts as JSON and Markdown to the files that were named.
    pub(super) fn export(&self, texts: [String; 2]) -> Result<(), Failure> {
        let named = self.exports().into_iter().zip(texts).filter_map(|(file, text)| Some((file?, text)));
        for (file, text) in named {
            output::write(file, text.as_bytes())?;
        }
        Ok(())
    }
}

/// The parameters of a compared case: `1 thread close`.
fn parameters(compared: &ComparedCase<'_>) -> String {
    in_parameters(&compared.a.case)
}

fn in_parameters(case: &Case) -> String {
    Some(case.parameters()).filter(|text| !text.is_empty()).unwrap_or_else(|| "one launch".to_owned())
}

/// Whether a row has an answer about a cost, even that there is none.
pub(super) fn has_answer(row: &Row) -> bool {
    row.ns.is_some() || matches!(row.verdict, Verdict::BelowResolution(_) | Verdict::Elided(_))
}

/// The results of the comparisons of a run.
#[derive(Debug, Default)]
struct Compared {
    gate: Gate,
    texts: Vec<String>,
    ratios: Vec<OwnComparison>,
}

/// How the first operation compares with another one in a case, to be stored with the run.
fn stored(
    compared: &ComparedCase<'_>,
    case: &Case,
    judged: (&HashSet<CaseId>, f64),
    names: [&str; 2],
) -> OwnComparison {
    let [first, other] = names.map(str::to_owned);
    OwnComparison {
        first,
        other,
        parameters: in_parameters(case),
        threads: case.threads,
        blocks: case.blocks,
        ratio: compared.ratio.filter(|_| is_answered(compared.change)),
        low: compared.low,
        high: compared.high,
        is_faster: Some(compared.change == Change::Faster),
        words: change_in_words(judged, compared, names),
    }
}

/// Whether a change says how the two costs compare.
const fn is_answered(change: Change) -> bool {
    !matches!(change, Change::NotComparable | Change::AnotherState)
}

/// The compared cases in the order of their parameters.
fn by_case<'c, 'a>(comparison: &'c Comparison<'a>) -> Vec<&'c ComparedCase<'a>> {
    let mut cases: Vec<&ComparedCase<'_>> = comparison.cases.iter().collect();
    cases.sort_by_key(|compared| &compared.a.case);
    cases
}

/// The remark on both operations. A is the other one, because the ratio divides the first by it.
fn remark_in_words(compared: &ComparedCase<'_>, [first, other]: [&str; 2]) -> String {
    compared.remark([&format!(" ({other})"), &format!(" ({first})")])
}

/// How the first operation compares with another one in a case: `1.032 times (1.012 to 1.051) as expensive`. A change below the
/// threshold counts as none.
fn change_in_words(
    (beside, threshold): (&HashSet<CaseId>, f64),
    compared: &ComparedCase<'_>,
    [first, other]: [&str; 2],
) -> String {
    let limit = |word: &str| if threshold > 0.0 { format!(" {word} {}", percent(threshold)) } else { String::new() };
    let factor = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), factor_in_words);
    let times = |invert: bool| {
        let of = |value: Option<f64>| factor(value.map(|value| if invert { value.recip() } else { value }));
        let (low, high) = if invert { (compared.high, compared.low) } else { (compared.low, compared.high) };
        format!("{} times ({} to {})", of(compared.ratio), of(low), of(high))
    };
    let seen = compared.least_change;
    let seen =
        seen.map_or_else(String::new, |factor| format!(" ({} times or more would show)", factor_in_words(factor)));
    let what = match compared.change {
        Change::Slower => format!("{} as expensive", times(false)),
        Change::Faster => format!("{} as fast", times(true)),
        Change::Same => format!("{} the cost: the same{}{seen}", times(false), limit("within")),
        Change::Undecided => format!("{} the cost: no difference shown{}{seen}", times(false), limit("beyond")),
        Change::NotComparable => format!("not comparable: {}", remark_in_words(compared, [first, other])),
        Change::AnotherState => "the machine was in another state".to_owned(),
    };
    let ends = |[low, high]: [Option<f64>; 2]| format!("{} to {}", factor(low), factor(high));
    let equal_work = compared.equal_work.map(|(ratio, both)| format!("; equal work {ratio:.3} times ({})", ends(both)));
    let neighbours = if beside.contains(&compared.a.case.id()) { ", both beside neighbours on the cores" } else { "" };
    format!("{what}{neighbours}{}", equal_work.unwrap_or_default())
}

/// A factor with four digits, if it is below ten.
fn factor_in_words(factor: f64) -> String {
    let digits = 3 - (factor.abs().max(1.0).log10() as usize).min(3);
    format!("{factor:.digits$}")
}

/// The comparison of the first operation with another one, with a line for each case in the order of their parameters.
fn in_words(
    comparison: &Comparison<'_>,
    beside: &HashSet<CaseId>,
    [first, other]: [&str; 2],
    by_loops: bool,
) -> String {
    let line = |compared: &ComparedCase<'_>| {
        let judged = (beside, comparison.threshold);
        format!("{}: {}", parameters(compared), change_in_words(judged, compared, [first, other]))
    };
    let compared: Vec<(&Case, Change)> =
        comparison.cases.iter().map(|compared| (&compared.a.case, compared.change)).collect();
    let what = if by_loops { ", by the time of their loops" } else { "" };
    let heading = std::iter::once(format!("\n{first} against {other}, measured in turn{what}:"));
    let lines = heading.chain(by_case(comparison).into_iter().map(line)).chain(crossings(&compared, first, other));
    lines.collect::<Vec<_>>().join("\n  ")
}

/// Whether threads wait for each other in an operation.
fn waits(own: &OwnOperation) -> bool {
    own.is_lock() || own.is_barrier()
}

/// Whether threads can work inside and outside of an operation's critical section.
fn can_have_work(own: &OwnOperation) -> bool {
    own.is_lock() && own.id.starts_with(Domain::Cpu.as_str())
}

/// Whether a word is the id of a primitive of the catalogue.
fn is_id(code: &str) -> bool {
    crate::catalogue::catalogue().get(code).is_some()
}

/// Refuses arguments that no operation can have.
fn refuse_what_does_not_fit(operations: &[OwnOperation], arguments: &MeasureArguments) -> Result<(), Failure> {
    let axes = &arguments.axes;
    let has_work = !(axes.inside.is_empty() && axes.outside.is_empty());
    let work = has_work && !operations.iter().all(can_have_work);
    let is_message = arguments.check == Some(OwnCheck::Message);
    let message = is_message && !operations.iter().all(|own| own.is("send"));
    let baseline = arguments.baseline.is_some() && operations.iter().any(waits);
    let slower = arguments.fail_if_slower.is_some() && operations.len() + arguments.against.len() < 2;
    let stride = !axes.stride.is_empty() && !operations.iter().any(|own| own.uses(OwnUse::Element));
    let is_shared = |own: &OwnOperation| own.admits_several() && !own.id.starts_with(Domain::Cpu.as_str());
    let shared = operations.iter().any(is_shared);
    let waits = operations.iter().any(OwnOperation::is_wait_for);
    let wait = waits && operations.iter().any(|own| own.is_wait_for() && !own.id.starts_with(Domain::Cpu.as_str()));
    let of_grid = !arguments.cluster.is_empty() && operations.iter().any(syncscope_gpu::own::is_of_grid);
    Failure::refuse([
        (work, "--inside and --outside are for CPU locks: files with `acquire` and `release`"),
        (message, "--check message is for files with `send` and `receive`; see --header"),
        (baseline, "--baseline is for operations whose threads do not wait for each other"),
        (slower, NOTHING_TO_COMPARE),
        (stride, "--stride is for private elements, and no operation uses `mine`"),
        (shared, "`acquire_shared` is for --cpu: write what a GPU does under such a lock as `operation`"),
        (wait, "`wait_for` is for --cpu: a thread of a GPU does not sleep"),
        (waits && !axes.threads.is_empty(), "--threads is not for `wait_for`: one thread waits for another"),
        (waits && arguments.orderings, "--orderings is not for `wait_for`: call it `receive`, and `wake` `send`"),
        (of_grid, "--cluster is for operations of a thread, a block or a cluster, not of the whole grid"),
    ])?;
    let is_without = |own: &&OwnOperation| own.uses(OwnUse::LaunchMemory) && own.launch_memory.is_none();
    operations.iter().find(is_without).map_or(Ok(()), |own| {
        let what = "it uses shared memory whose size the launch gives (`extern __shared__`)";
        Err(Failure::Usage(format!("{}: {what}: give it with --shared-bytes N", own.id)))
    })
}

/// Refuses exports that would replace a source, each other, or the results.
fn check_outputs(arguments: &MeasureArguments, sources: &[Source]) -> Result<(), Failure> {
    let exports: Vec<&PathBuf> = arguments.export_json.iter().chain(&arguments.export_markdown).collect();
    for export in &exports {
        output::check(export, sources.iter().flat_map(|source| &source.files).chain(&arguments.out))?;
    }
    if let [json, markdown] = exports[..] { output::check_distinct(json, markdown) } else { Ok(()) }
}

/// Every pair of a value of `some` and a value of `others`.
fn pairs<'a>(some: &'a [u32], others: &'a [u32]) -> impl Iterator<Item = (u32, u32)> + 'a {
    some.iter().flat_map(|one| others.iter().map(|other| (*one, *other)))
}

/// The rows of one operation, as if they were a run of its own, with the intervals within the run, because the operations were
/// measured in turn. Also the case of the run for each of the new cases.
fn part(data: &RunData, id: &str, (has_type, is_launch): (bool, bool), dtype: Dtype) -> OperationRows {
    let mut ids = HashMap::new();
    let mut part = RunData { name: id.to_owned(), rows: Vec::new(), details: HashMap::new(), ..data.clone() };
    let is_usual = |case: &Case| {
        let is_relaxed = case.order.is_none_or(|order| order == MemoryOrder::Relaxed);
        is_own(id) || (case.form.is_none_or(|form| form == Form::OneThreadProcess) && is_relaxed)
    };
    let mut rows: Vec<&Row> = data.rows.iter().filter(|row| row.case.primitive == id && is_usual(&row.case)).collect();
    // If types do not count, rows of the operation's type come first.
    rows.sort_by_key(|row| row.case.dtype != Some(dtype));
    for row in rows {
        let has_role = LockRole::of(&row.case).is_some() || SpinBudget::of(&row.case).is_some();
        let Case { threads, blocks, dtype, layout, placement, form, inside, outside, group, .. } = row.case.clone();
        let primitive = format!("{}.own.operation", row.case.domain_and_family().0);
        let (dtype, layout) = (dtype.filter(|_| has_type), layout.filter(|_| has_type));
        // Each kernel has a grid of its own.
        let (threads, blocks, group) = if is_launch {
            (None, None, row.case.group.clone())
        } else {
            (threads, blocks, group.filter(|_| has_role))
        };
        let case =
            Case { threads, blocks, dtype, layout, placement, form, inside, outside, group, ..Case::new(&primitive) };
        if part.rows.iter().any(|known| known.case == case) {
            continue;
        }
        if let Some(details) = data.details.get(&row.case.id()) {
            part.details.insert(case.id(), details.clone());
        }
        ids.insert(case.id(), row.case.id());
        part.rows.push(Row { case, ..row.within_run() });
    }
    (part, ids)
}

/// The rows of one operation, and the case of the run for each of its cases.
type OperationRows = (RunData, HashMap<CaseId, CaseId>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_four_digits() {
        let words = [0.5, 1.0499, 9.5, 12.3456, 281.545, 12_345.6].map(factor_in_words);
        assert_eq!(words, ["0.500", "1.050", "9.500", "12.35", "281.5", "12346"]);
    }

    /// A cost that is certainly 8 % higher is the same only within a limit, and the limit is part of the words.
    #[test]
    fn what_counts_as_the_same_is_said_with_its_limit() {
        let row = Row::unmeasured(Case::new("cpu.own.line"), Verdict::Resolved);
        let said = |change, threshold| {
            let compared = ComparedCase {
                a: &row,
                b: &row,
                change,
                ratio: Some(1.083),
                common_factor: 1.0,
                low: Some(1.071),
                high: Some(1.095),
                equal_work: None,
                p_value: None,
                least_change: Some(1.133),
            };
            change_in_words((&HashSet::new(), threshold), &compared, ["a", "b"])
        };
        let of = |what: &str| format!("1.083 times (1.071 to 1.095) the cost: {what} (1.133 times or more would show)");
        assert_eq!(said(Change::Same, 0.12), of("the same within 12 %"));
        assert_eq!(said(Change::Undecided, 0.025), of("no difference shown beyond 2.5 %"));
        assert_eq!(said(Change::Undecided, 0.0), of("no difference shown"));
    }
}
