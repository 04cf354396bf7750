//! `syncscope measure --orderings`: what each memory ordering in the user's code costs here, and whether a test or the memory
//! model needs it. Variants are compiled, run in the model and tested (`side.rs`). Those that differ from the original are
//! measured in turn with it (`pricing.rs`).

mod pricing;
mod side;
mod time;

use std::fs;
use std::io::{IsTerminal as _, stderr, stdout};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use syncscope_core::run_directory::{ORDERINGS, RunDirectory, replace_own_file};
use syncscope_core::{Domain, OwnCheck, OwnOperation, data_file};
use syncscope_host::guard::temporary_folder;
use syncscope_orderings::{
    Against, Change, Found, Model, NotTried, Ordering, Price, Row, Table, Test, Together, changed, difference, find,
    largest_sets, with_included, without_meaning, without_rows,
};

use self::side::Side;
pub(super) use self::side::listing_opcodes;
use self::time::{OVER, Time};
use crate::args::MeasureArguments;
use crate::commands::begun_run::default_directory;
use crate::commands::own_request::OwnRequest;
use crate::commands::report::write_of_run;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{runs, terminal};

/// The processor time of the model, and the time of the test, for all variants of an operation.
const MODEL_TIME: Duration = Duration::from_secs(9);
const TEST_TIME: Duration = Duration::from_secs(5);

/// The most time for one variant.
const LONGEST_MODEL: Duration = Duration::from_millis(1200);
const LONGEST_TEST: Duration = Duration::from_millis(500);

/// The times of the test on a GPU, which ends at once for most variants that fail.
const TEST_TIME_OF_GPU: Duration = Duration::from_secs(24);
const LONGEST_TEST_OF_GPU: Duration = Duration::from_secs(3);

const NOT_MEASURED: &str = "not measured";

/// One change of an operation.
struct Variant<'a> {
    ordering: &'a Ordering,
    change: &'a Change,
    own: OwnOperation,
}

/// The place in the table for the price of a variant.
#[derive(Debug, Clone, Copy)]
enum Priced {
    Row(usize),
    Set(usize),
    WithoutAny,
    Against,
}

/// The results for an operation, and its variants to measure.
struct Study {
    own: OwnOperation,
    table: Table,
    /// Sets of changes that pass together: the cheapest set is the cheapest form.
    sets: Vec<Together>,
    /// The row of each tried variant, in their order; `None` for variants without a row.
    rows: Vec<Option<usize>>,
    /// The number of variants for which no time was left.
    out_of_time: usize,
    measured: Vec<(Priced, OwnOperation)>,
    /// The progress, if it is drawn on the terminal that later shows the table: its rows are not shown twice.
    progress: Option<Progress>,
}

/// Why a variant has no row.
enum Untried {
    OutOfTime,
    Because(String),
}

/// Shows the table of orderings of each operation.
pub(super) fn orderings(arguments: &MeasureArguments) -> Result<Outcome, Failure> {
    let begin = Instant::now();
    let folder = temporary_folder().map_err(Failure::CouldNot)?;
    let arguments = with_forms(arguments, folder.path())?;
    let request = OwnRequest::new(&arguments)?;
    let cancel = terminal::cancel();
    let request = request.resolved(arguments.sass.as_deref())?;
    let count = request.operations.len();
    let mut tables = Vec::new();
    for (number, own) in (1..).zip(&request.operations) {
        let time = Time::new(
            arguments.budget.map(|budget| budget.saturating_sub(begin.elapsed())),
            count + 1 - number,
            arguments.sass.is_none(),
        );
        let mut study = studied(own, other_half(own, &request.operations), (&arguments, folder.path()), time)?;
        let first = (!arguments.against.is_empty() && number > 1).then(|| &request.operations[0]);
        study.compare_with(first.filter(|first| first.id.split('.').next() == own.id.split('.').next()));
        study.progress.take().inspect(Progress::finish);
        let is_measured = arguments.sass.is_none() && !cancel.is_cancelled() && !study.measured.is_empty();
        let place = arguments.out.clone().unwrap_or_else(|| default_directory("measure"));
        let place = if count > 1 { PathBuf::from(format!("{}-{number}", place.display())) } else { place };
        if is_measured {
            study.price(&arguments, folder.path(), &place, time)?;
        }
        study.choose();
        terminal::show(&study.table.for_terminal())?;
        if is_measured && place.exists() {
            on_page(&place, &study.table)?;
        }
        tables.push(study.table);
    }
    let json = json_of(&tables)?;
    let markdown = tables.iter().map(Table::as_markdown).collect::<Vec<_>>().join("\n");
    request.export([json, markdown])?;
    Ok(if cancel.is_cancelled() { Outcome::Interrupted } else { Outcome::Done })
}

/// Writes a table to the page of its run.
fn on_page(place: &Path, table: &Table) -> Result<(), Failure> {
    let Ok(directory) = RunDirectory::open(place) else { return Ok(()) };
    replace_own_file(&place.join(ORDERINGS), json_of(std::slice::from_ref(table))?.as_bytes())?;
    let (data, sections) = runs::load_with_sections(place)?;
    write_of_run(&directory, &data.in_order(), &sections)
}

fn json_of(tables: &[Table]) -> Result<String, Failure> {
    let json = serde_json::to_string_pretty(tables).map_err(|error| Failure::CouldNot(error.to_string()))?;
    Ok(json + "\n")
}

/// The arguments with the sources of our own locks and barriers in place of their ids. An id may name one of several operations
/// behind a colon.
fn with_forms(arguments: &MeasureArguments, folder: &Path) -> Result<MeasureArguments, Failure> {
    let in_c = syncscope_cpu::primitives::own::FORMS.iter().map(|(id, text)| (*id, *text, "c"));
    let in_cuda = syncscope_gpu::own::FORMS.iter().map(|(id, text)| (*id, *text, "cuh"));
    let forms: Vec<(&str, &str, &str)> = in_c.chain(in_cuda).collect();
    let file = |code: &String| {
        let (wanted, operation) = code.split_once(':').unwrap_or((code, ""));
        let Some((id, text, ending)) = forms.iter().find(|(id, ..)| *id == wanted) else {
            let is_known = crate::catalogue::catalogue().get(wanted).is_some();
            let known: Vec<&str> = forms.iter().map(|(id, ..)| *id).collect();
            let why = format!("has no form whose orderings can be tried: name a file, or one of {}", known.join(", "));
            return if is_known { Err(Failure::Usage(format!("{code} {why}"))) } else { Ok(code.clone()) };
        };
        let path = folder.join(format!("{}.{ending}", id.rsplit('.').next().unwrap_or(id)));
        fs::write(&path, text).map_err(Failure::in_file(&path))?;
        terminal::note(&format!("{id} as a user would write it; the catalogue's is about the same"));
        let operation = if operation.is_empty() { String::new() } else { format!(":{operation}") };
        Ok(format!("{}{operation}", path.display()))
    };
    let files = |codes: &[String]| codes.iter().map(file).collect::<Result<Vec<_>, _>>();
    let [cpu, gpu, against] = [&arguments.cpu, &arguments.gpu, &arguments.against].map(|codes| files(codes));
    Ok(MeasureArguments { cpu: cpu?, gpu: gpu?, against: against?, ..arguments.clone() })
}

/// An operation with the user's own headers in its text.
fn with_headers(own: &OwnOperation, arguments: &MeasureArguments) -> OwnOperation {
    let Some(file) = &own.file else { return own.clone() };
    let folders: Vec<PathBuf> = arguments.folders.iter().map(PathBuf::from).collect();
    let read = |path: &Path| path.is_file().then(|| data_file::read_text(path).ok()).flatten();
    OwnOperation { text: with_included(Path::new(file), &own.text, &folders, &read), ..own.clone() }
}

/// The orderings that an operation reaches.
fn found_in(own: &OwnOperation, is_gpu: bool) -> Found {
    // Orderings of other operations in the file do not belong to this one: nothing would run or refute them.
    let parts: &[&str] = match () {
        () if own.admits_several() => &["release_shared", "acquire", "release"],
        () if own.is_lock() => &["release"],
        () if own.is("send") => &["receive"],
        () => &[],
    };
    let helpers = |names: &[&str]| names.iter().filter_map(|name| own.helper(name)).collect::<Vec<String>>();
    let timed: Vec<String> = own.function.iter().cloned().chain(helpers(parts)).collect();
    let of = |functions: &[String]| {
        let functions: Vec<&str> = functions.iter().map(String::as_str).collect();
        find(&own.text, if own.function.is_some() { &functions } else { &[] }, is_gpu)
    };
    let mut found = of(&timed);
    if own.function.is_some() {
        for (helper, name) in
            ["setup", "check"].into_iter().flat_map(|name| helpers(&[name]).into_iter().map(move |one| (one, name)))
        {
            let outside = of(&[helper]).orderings.into_iter().filter(|one| !found.orderings.contains(one));
            let not_tried = outside.map(|Ordering { line, file, name: ordering, .. }| {
                let reason = format!("{name}() is not in the timed loop, and no thread runs beside it");
                NotTried { line, file, name: ordering, reason }
            });
            let not_tried: Vec<NotTried> = not_tried.collect();
            found.not_tried.extend(not_tried);
        }
    }
    let files = found.orderings.iter_mut().map(|one| &mut one.file);
    for file in files.chain(found.not_tried.iter_mut().map(|one| &mut one.file)) {
        *file = file.take().filter(|file| Some(file) != own.file.as_ref());
    }
    found
}

/// The error for an operation without an ordering that can be weakened.
fn nothing_found(own: &OwnOperation, not_tried: &[NotTried]) -> Failure {
    let others: Vec<String> =
        not_tried.iter().map(|NotTried { line, name, reason, .. }| format!("line {line}, {name}: {reason}")).collect();
    let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join("; ")) };
    Failure::CouldNot(format!("{}: {}{others}", own.id, without_rows(not_tried)))
}

fn empty_table(own: &OwnOperation, not_tried: Vec<NotTried>) -> Table {
    let subject = match own.checked() {
        Some(OwnCheck::Lock) => "what the lock protects",
        Some(OwnCheck::Barrier) => "what was written before the barrier",
        Some(OwnCheck::Message) => "the message's data",
        Some(OwnCheck::Counter) => "the counter",
        None => "the data",
    };
    let (operation, subject) = (own.id.clone(), subject.to_owned());
    Table {
        operation,
        subject,
        model: None,
        test: None,
        rows: Vec::new(),
        not_tried,
        cheapest: None,
        without_any: None,
        against: None,
    }
}

/// The operation with these changes.
fn variant<'a>(own: &OwnOperation, name: &str, changes: impl IntoIterator<Item = &'a Change>) -> OwnOperation {
    OwnOperation { id: format!("{}_{name}", own.id), text: changed(&own.text, changes), ..own.clone() }
}

fn not_measured() -> Price {
    Price::NotMeasured(NOT_MEASURED.to_owned())
}

/// The other half of a readers-writer lock whose halves are two operations.
fn other_half(own: &OwnOperation, all: &[OwnOperation]) -> Option<OwnOperation> {
    let alone = |other: &OwnOperation| other.exclusive_half().map(|[acquire, _]| acquire);
    match alone(own) {
        Some(acquire) => Some(OwnOperation { function: Some(acquire), ..own.clone() }),
        None => all
            .iter()
            .find(|other| other.file == own.file && alone(other).is_some_and(|it| own.function == Some(it)))
            .cloned(),
    }
}

/// Studies an operation without measuring it.
fn studied(
    own: &OwnOperation,
    other_half: Option<OwnOperation>,
    (arguments, folder): (&MeasureArguments, &Path),
    time: Time,
) -> Result<Study, Failure> {
    let is_gpu = !own.id.starts_with(Domain::Cpu.as_str());
    let own = &with_headers(own, arguments);
    let Found { orderings, not_tried } = found_in(own, is_gpu);
    let mut table = empty_table(own, not_tried);
    let changes = orderings.iter().flat_map(|ordering| ordering.changes.iter().map(move |change| (ordering, change)));
    let variants: Vec<Variant<'_>> = changes
        .enumerate()
        .map(|(number, (ordering, change))| Variant {
            ordering,
            change,
            own: variant(own, &format!("variant_{number}"), [change]),
        })
        .collect();
    let side = Side::new((own, other_half), &variants, (arguments, folder), &table.subject, time)?;
    let model = side.model(own);
    let has_model = matches!(model, Model::NotRefuted(_));
    // The model may refute code that lacks orderings unchanged.
    if variants.is_empty() && matches!(model, Model::Cannot(_)) {
        return Err(nothing_found(own, &table.not_tried));
    }
    table.model = Some(model);
    if !is_gpu {
        table.test = side.tests(&[own]).pop();
        refuse_failing(own, table.test.as_ref())?;
    }
    let is_one_terminal = stdout().is_terminal() && stderr().is_terminal();
    let progress = is_one_terminal.then(|| Progress::new("trying the memory orderings"));
    let mut study = Study { progress, ..Study::new(own.clone(), table) };
    // Every test on a GPU starts a process that opens the GPU.
    let together = if is_gpu { variants.len() } else { thread::available_parallelism().map_or(1, usize::from) };
    for group in variants.chunks(together.max(1)) {
        if terminal::cancel().is_cancelled() {
            break;
        }
        study.add(&side, group, has_model)?;
    }
    let (left_out, all) = (study.out_of_time, variants.len());
    if left_out > 0 {
        terminal::warning(&format!("{OVER} before {left_out} of {all} variants were tried: give it more, or none"));
    }
    study.add_together(&side, &variants, has_model);
    if side.without_price().is_some() {
        study.measured.clear();
    }
    Ok(study)
}

/// Refuses an operation that fails its test unchanged: the test would say nothing of changes.
fn refuse_failing(own: &OwnOperation, test: Option<&Test>) -> Result<(), Failure> {
    let Some(how) = test.and_then(Test::failure) else { return Ok(()) };
    let is_kept = matches!(test, Some(Test::Failed(failed)) if failed.may_be_of_kept_values());
    let helps = if is_kept && own.helper("setup").is_none() {
        "; variables of the file keep their values from sample to sample: set them in a function `setup`"
    } else {
        ""
    };
    Err(Failure::CouldNot(format!("{} fails its check as it is: {how}{helps}", own.id)))
}

impl Study {
    const fn new(own: OwnOperation, table: Table) -> Self {
        Self { own, table, sets: Vec::new(), rows: Vec::new(), out_of_time: 0, measured: Vec::new(), progress: None }
    }

    /// Adds the rows of variants that are tested together.
    fn add(&mut self, side: &Side<'_>, variants: &[Variant<'_>], has_model: bool) -> Result<(), Failure> {
        let own = &self.own;
        let rows: Vec<Result<Row, Untried>> = at_once(variants, |variant| row_of(side, own, variant, has_model));
        let mut tested: Vec<(usize, &OwnOperation)> = Vec::new();
        for (variant, row) in variants.iter().zip(rows) {
            self.rows.push(row.is_ok().then_some(self.table.rows.len()));
            match row {
                Ok(row) => {
                    if row.price != Price::SameInstructions {
                        tested.push((self.table.rows.len(), &variant.own));
                    }
                    let is_known = row.price == Price::SameInstructions;
                    self.table.rows.push(row);
                    // The tests on a GPU follow later.
                    if is_known || side.is_gpu() {
                        self.tell(self.table.rows.len() - 1, is_known);
                    }
                }
                Err(why) => {
                    self.out_of_time += usize::from(matches!(why, Untried::OutOfTime));
                    self.table.not_tried.push(variant.not_tried(why));
                }
            }
        }
        if tested.is_empty() {
            return Ok(());
        }
        let with_original = side.is_gpu().then_some(&self.own);
        let operations: Vec<&OwnOperation> =
            with_original.into_iter().chain(tested.iter().map(|(_, own)| *own)).collect();
        let mut tests = side.tests(&operations).into_iter();
        if with_original.is_some() {
            self.table.test = tests.next();
            refuse_failing(&self.own, self.table.test.as_ref())?;
        }
        for ((number, own), test) in tested.into_iter().zip(tests) {
            let hangs = matches!(test, Test::Hangs(_));
            self.table.rows[number].test = Some(test);
            self.tell(number, true);
            if hangs {
                self.table.rows[number].price = Price::NotMeasured("it hangs".to_owned());
            } else {
                self.measured.push((Priced::Row(number), own.clone()));
            }
        }
        Ok(())
    }

    /// Shows what is being tried. Where nothing can be drawn, writes each row once it is complete.
    fn tell(&mut self, number: usize, is_known: bool) {
        let row = &self.table.rows[number];
        let text = format!("line {}, {} → {}", row.line, row.ordering, row.variant);
        match &mut self.progress {
            Some(progress) => progress.show(&text),
            None if is_known => terminal::note(&format!("{text}: {}", row.needed(&self.table.subject))),
            None => {}
        }
    }

    /// Adds the operation to compare with.
    fn compare_with(&mut self, first: Option<&OwnOperation>) {
        let Some(first) = first else { return };
        self.table.against = Some(Against { operation: first.id.clone(), price: not_measured() });
        self.measured.push((Priced::Against, first.clone()));
    }

    /// Adds forms with several changes: the changes that nothing refutes, and those of all orderings.
    fn add_together(&mut self, side: &Side<'_>, variants: &[Variant<'_>], has_model: bool) {
        // The weakest remaining variant of each ordering.
        let weakest = |is_left: &dyn Fn(&Variant<'_>, &Row) -> bool| {
            let mut kept: Vec<(&Variant<'_>, usize)> = Vec::new();
            for (variant, number) in variants.iter().zip(&self.rows).filter_map(|(one, row)| Some((one, (*row)?))) {
                let row = &self.table.rows[number];
                if row.price != Price::SameInstructions && is_left(variant, row) {
                    kept.retain(|(known, _)| known.ordering.token != variant.ordering.token);
                    kept.push((variant, number));
                }
            }
            kept
        };
        // Code that is refuted unchanged has no cheaper form.
        let is_sound = !matches!(self.table.model, Some(Model::Refuted(_)));
        let passed = weakest(&|_, row| is_sound && row.has_passed());
        let ordering = weakest(&|variant, _| !variant.ordering.is_meeting);
        let of = |name: &str, taken: &[(&Variant<'_>, usize)]| {
            let own = variant(&self.own, name, taken.iter().map(|(variant, _)| variant.change));
            let changes = taken.iter().map(|(variant, _)| variant.in_words()).collect();
            let rows = taken.iter().map(|(_, row)| *row).collect();
            (Together { changes, rows, price: not_measured(), ..Together::default() }, own)
        };
        let taken = |set: &Vec<usize>| set.iter().map(|at| passed[*at]).collect::<Vec<_>>();
        let mut sets = largest_sets(passed.len(), |sets| {
            let own: Vec<OwnOperation> = sets.iter().map(|set| of(&named(set), &taken(set)).1).collect();
            if side.time.is_over() {
                return vec![false; sets.len()];
            }
            let models = at_once(&own, |own| !has_model || matches!(side.model(own), Model::NotRefuted(_)));
            let left: Vec<&OwnOperation> =
                own.iter().zip(&models).filter(|(_, passes)| **passes).map(|(own, _)| own).collect();
            let mut tests = side.tests(&left).into_iter();
            models.iter().map(|passes| *passes && tests.next().is_some_and(|test| !test.has_failed())).collect()
        });
        sets.extend((0..passed.len()).map(|one| vec![one]));
        let (mut together, mut measured) = (Vec::new(), Vec::new());
        for set in &sets {
            let (one, own) = of(&named(set), &taken(set));
            let code = side.code(&own).map(|code| side.instructions(&code)).unwrap_or_default();
            // A single change is measured as a row.
            measured.extend((set.len() > 1).then_some((Priced::Set(together.len()), own)));
            together.push(Together { code, ..one });
        }
        if ordering.len() > 1 && side.without_price().is_none() {
            let (without_any, own) = of("without_any", &ordering);
            self.table.without_any = Some(without_any);
            measured.push((Priced::WithoutAny, own));
        }
        self.sets = together;
        self.measured.extend(measured);
    }

    /// Chooses the cheapest set: the first one where there are no prices, and none if all sets cost more.
    fn choose(&mut self) {
        for set in &mut self.sets {
            if let [row] = set.rows[..] {
                set.price = self.table.rows[row].price.clone();
            }
        }
        let best = self.sets.iter().rev().max_by(|a, b| a.price.saved().total_cmp(&b.price.saved()));
        let saves = |best: &&Together| best.price.saved() > 0.0 || !matches!(best.price, Price::Measured(_));
        self.table.cheapest = best.filter(saves).cloned();
    }
}

/// The name of a set, such as `set_0_2`.
fn named(set: &[usize]) -> String {
    format!("set_{}", set.iter().map(ToString::to_string).collect::<Vec<_>>().join("_"))
}

impl Variant<'_> {
    /// `fetch_add release → relaxed`.
    fn name(&self) -> String {
        format!("{} → {}", self.ordering.name, self.change.words)
    }

    /// `line 7: fetch_add release → relaxed`.
    fn in_words(&self) -> String {
        let Ordering { line, file, .. } = self.ordering;
        let of = file.as_ref().map_or_else(String::new, |file| format!(" of {file}"));
        format!("line {line}{of}: {}", self.name())
    }

    fn not_tried(&self, why: Untried) -> NotTried {
        let reason = match why {
            Untried::OutOfTime => OVER.to_owned(),
            Untried::Because(reason) => reason,
        };
        NotTried { line: self.ordering.line, file: self.ordering.file.clone(), name: self.name(), reason }
    }
}

/// Applies `of` to all items in parallel.
fn at_once<T: Sync, R: Send>(all: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let most = thread::available_parallelism().map_or(1, usize::from);
    let mut done = Vec::new();
    for group in all.chunks(most) {
        thread::scope(|scope| {
            let threads: Vec<_> = group.iter().map(|one| scope.spawn(|| of(one))).collect();
            done.extend(threads.into_iter().filter_map(|thread| thread.join().ok()));
        });
    }
    done
}

/// The row of a variant, before it is run.
fn row_of(side: &Side<'_>, own: &OwnOperation, variant: &Variant<'_>, has_model: bool) -> Result<Row, Untried> {
    let Variant { ordering, change, own: of_variant } = variant;
    if side.time.is_over() {
        return Err(Untried::OutOfTime);
    }
    let first = |error: String| error.lines().next().unwrap_or_default().to_owned();
    let does_not_compile = |error| Untried::Because(format!("does not compile: {}", first(error)));
    let code = side.code(of_variant).map_err(does_not_compile)?;
    let is_same = code == side.original;
    if is_same {
        let text = without_meaning(&own.text, ordering);
        if side.is_taken(&OwnOperation { text, ..own.clone() }).map_err(Untried::Because)? {
            return Err(Untried::Because("the compiler does not read it".to_owned()));
        }
    }
    let measured = || side.without_price().map_or_else(not_measured, Price::NotMeasured);
    Ok(Row {
        line: ordering.line,
        file: ordering.file.clone(),
        ordering: ordering.name.clone(),
        variant: change.words.clone(),
        step: change.step,
        price: if is_same { Price::SameInstructions } else { measured() },
        instructions: difference(&side.names(&side.original), &side.names(&code)),
        model: has_model.then(|| match change.words.as_str() {
            "__syncwarp" => Model::Cannot("the blocks of the model have one warp".to_owned()),
            _ if ordering.is_meeting && !side.models_blocks(own) => {
                Model::Cannot("the blocks of the model have one thread".to_owned())
            }
            _ => side.model(of_variant),
        }),
        test: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_orderings::{Saving, Step};

    /// Orderings of another operation in the file do not belong to this one.
    #[test]
    fn orderings_are_those_of_the_operation_alone() {
        let functions = ["acquire", "release", "acquire_shared", "release_shared", "wait", "send", "receive"];
        let line = |name: &&str| format!("void {name}(void) {{ atomic_thread_fence(memory_order_release); }}\n");
        let text: String = functions.iter().map(line).collect();
        let lines = |function: &str| -> Vec<u32> {
            let helpers = functions.iter().filter(|name| **name != function).map(|name| (*name).to_owned()).collect();
            let (file, function) = (Some("a.c".to_owned()), Some(function.to_owned()));
            let own = OwnOperation { text: text.clone(), file, function, helpers, ..OwnOperation::default() };
            found_in(&own, false).orderings.iter().map(|ordering| ordering.line).collect()
        };
        assert_eq!(lines("acquire"), [1, 2]);
        assert_eq!(lines("acquire_shared"), [1, 2, 3, 4]);
        assert_eq!(lines("wait"), [5]);
        assert_eq!(lines("send"), [6, 7]);
        let text = format!("{text}int check(void) {{ atomic_thread_fence(memory_order_acquire); return 1; }}\n");
        let (file, function) = (Some("a.c".to_owned()), Some("wait".to_owned()));
        let own = OwnOperation { text, file, function, helpers: vec!["check".to_owned()], ..OwnOperation::default() };
        let found = found_in(&own, false);
        assert_eq!((found.orderings.len(), found.not_tried[0].line), (1, 8), "{found:?}");
        assert!(found.not_tried[0].reason.contains("check() is not in the timed loop"), "{found:?}");
    }

    /// A sum with prices that are not shown would be a sum of noise.
    #[test]
    fn prices_are_added_where_all_are_shown() {
        let price = |saved_ns, half| {
            let (saved_low_ns, saved_high_ns) = (Some(saved_ns - half), Some(saved_ns + half));
            let case = "2 threads".to_owned();
            Price::Measured(vec![Saving { case, original_ns: 100.0, saved_ns, saved_low_ns, saved_high_ns }])
        };
        let (shown, hidden) = (price(10.0, 1.0), price(-0.001, 5.0));
        let sum_of = |prices: [&Price; 2]| {
            let row = |(line, price): (u32, &Price)| Row {
                line,
                file: None,
                ordering: "exchange acquire".to_owned(),
                variant: "relaxed".to_owned(),
                step: Step::Weaker,
                price: price.clone(),
                instructions: None,
                model: None,
                test: None,
            };
            let rows: Vec<Row> = (1..).zip(prices).map(row).collect();
            let own = OwnOperation::default();
            let together = Together { rows: vec![0, 1], price: price(30.0, 1.0), ..Together::default() };
            let table = Table { rows, without_any: Some(together), ..empty_table(&own, Vec::new()) };
            let mut study = Study::new(own, table);
            study.add_sum();
            study.table.without_any.unwrap().sum_ns
        };
        assert_eq!(sum_of([&shown, &shown]), [20.0]);
        assert_eq!(sum_of([&shown, &Price::SameInstructions]), [10.0], "it costs nothing");
        for unknown in [&hidden, &not_measured()] {
            assert!(sum_of([&shown, unknown]).is_empty() && sum_of([unknown, unknown]).is_empty());
        }
    }

    /// The cheapest form is the one that saves most, whether a set or a single change.
    #[test]
    fn the_cheapest_form_is_the_cheapest() {
        let price = |saved_ns| {
            let (saved_low_ns, saved_high_ns) = (Some(saved_ns), Some(saved_ns));
            let case = "2 threads".to_owned();
            Price::Measured(vec![Saving { case, original_ns: 100.0, saved_ns, saved_low_ns, saved_high_ns }])
        };
        // Two orderings of one line, as in a call with two: their words are equal.
        let row = |saved| Row {
            line: 7,
            file: None,
            ordering: "exchange acquire".to_owned(),
            variant: "relaxed".to_owned(),
            step: Step::Weaker,
            price: price(saved),
            instructions: None,
            model: None,
            test: Some(Test::NotSeen(1000)),
        };
        let chosen = |rows: Vec<Row>, sets: &[(&[usize], Option<f64>)]| {
            let set = |(rows, saved): &(&[usize], Option<f64>)| Together {
                rows: rows.to_vec(),
                price: saved.map_or_else(not_measured, price),
                ..Together::default()
            };
            let own = OwnOperation::default();
            let table = Table { rows, ..empty_table(&own, Vec::new()) };
            let mut study = Study { sets: sets.iter().map(set).collect(), ..Study::new(own, table) };
            study.choose();
            study.table.cheapest.map(|cheapest| cheapest.rows)
        };
        let rows = || vec![row(10.0), row(-30.0), row(3.0), row(12.0)];
        let single: [(&[usize], Option<f64>); 4] = [(&[0], None), (&[1], None), (&[2], None), (&[3], None)];
        let with = |sets: &[(&'static [usize], Option<f64>)]| chosen(rows(), &[sets, &single[..]].concat());
        assert_eq!(with(&[(&[0, 1, 2], Some(-15.0))]), Some(vec![3]), "a change that costs is in the set");
        assert_eq!(with(&[(&[0, 1], Some(-20.0)), (&[0, 2], Some(15.0))]), Some(vec![0, 2]));
        assert_eq!(chosen(rows(), &single[1..2]), None, "it costs more");
        assert_eq!(chosen(Vec::new(), &[(&[0, 1], None)]), Some(vec![0, 1]), "without prices");
        assert_eq!(chosen(Vec::new(), &[]), None);
    }
}
