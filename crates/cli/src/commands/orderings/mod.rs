//! `syncscope measure --orderings`: what each memory ordering in the user's code costs here, and whether a test or the memory model
//! needs it. Variants are compiled, asked of the model, tested (`side.rs`), and those that differ are measured in turn with the
//! original (`pricing.rs`).

mod pricing;
mod side;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use syncscope_core::{Domain, OwnCheck, OwnOperation};
use syncscope_host::guard::temporary_folder;
use syncscope_orderings::{
    Change, Found, Model, NotTried, Ordering, Price, Row, Table, Test, Together, changed, find, without_meaning,
};

use self::side::Side;
use crate::args::MeasureArguments;
use crate::commands::begun_run::default_directory;
use crate::commands::own_request::OwnRequest;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Processor time of the model, and time of the test, for all variants of an operation.
const MODEL_TIME: Duration = Duration::from_secs(9);
const TEST_TIME: Duration = Duration::from_secs(5);

/// The most of it for one variant.
const LONGEST_MODEL: Duration = Duration::from_millis(1200);
const LONGEST_TEST: Duration = Duration::from_millis(500);

/// The same of the test on a GPU, which ends at once for most of the variants that fail.
const TEST_TIME_OF_GPU: Duration = Duration::from_secs(24);
const LONGEST_TEST_OF_GPU: Duration = Duration::from_secs(3);

const NOT_MEASURED: &str = "not measured";

/// One change of an operation.
struct Variant<'a> {
    ordering: &'a Ordering,
    change: &'a Change,
    own: OwnOperation,
}

/// Where the price of a variant goes.
#[derive(Debug, Clone, Copy)]
enum Priced {
    Row(usize),
    Cheapest,
    WithoutAny,
}

/// What is known of an operation, and its variants that are measured.
struct Study {
    own: OwnOperation,
    table: Table,
    measured: Vec<(Priced, OwnOperation)>,
}

/// Shows the table of each operation.
pub(super) fn orderings(arguments: &MeasureArguments) -> Result<Outcome, Failure> {
    let folder = temporary_folder().map_err(|error| Failure::CouldNot(error.to_string()))?;
    let arguments = with_forms(arguments, folder.path())?;
    let request = OwnRequest::new(&arguments)?;
    let cancel = terminal::cancel_on_signal();
    let request = request.resolved(arguments.sass.as_deref())?;
    let count = request.operations.len();
    let mut tables = Vec::new();
    for (number, own) in (1..).zip(&request.operations) {
        let mut study = studied(own, &arguments, folder.path())?;
        if arguments.sass.is_none() && !cancel.is_cancelled() && !study.measured.is_empty() {
            let place = arguments.out.clone().unwrap_or_else(|| default_directory("measure"));
            let place = if count > 1 { PathBuf::from(format!("{}-{number}", place.display())) } else { place };
            study.price(&arguments, folder.path(), &place)?;
        }
        terminal::show(&study.table.for_terminal())?;
        tables.push(study.table);
    }
    let json = serde_json::to_string_pretty(&tables).map_err(|error| Failure::CouldNot(error.to_string()))?;
    let markdown = tables.iter().map(Table::as_markdown).collect::<Vec<_>>().join("\n");
    request.export([format!("{json}\n"), markdown])?;
    Ok(if cancel.is_cancelled() { Outcome::Interrupted } else { Outcome::Done })
}

/// With the source forms of our own locks and barriers in place of their ids.
fn with_forms(arguments: &MeasureArguments, folder: &Path) -> Result<MeasureArguments, Failure> {
    let in_c = syncscope_cpu::primitives::own::FORMS.iter().map(|(id, text)| (*id, *text, "c"));
    let in_cuda = syncscope_gpu::own::FORMS.iter().map(|(id, text)| (*id, *text, "cuh"));
    let forms: Vec<(&str, &str, &str)> = in_c.chain(in_cuda).collect();
    let file = |code: &String| {
        let Some((id, text, ending)) = forms.iter().find(|(id, ..)| id == code) else {
            let is_known = crate::catalogue::catalogue().get(code).is_some();
            let known: Vec<&str> = forms.iter().map(|(id, ..)| *id).collect();
            let why = format!("has no form whose orderings can be tried: name a file, or one of {}", known.join(", "));
            return if is_known { Err(Failure::Usage(format!("{code} {why}"))) } else { Ok(code.clone()) };
        };
        let path = folder.join(format!("{}.{ending}", id.rsplit('.').next().unwrap_or(id)));
        fs::write(&path, text).map_err(Failure::in_file(&path))?;
        terminal::note(&format!("{id} as a user would write it; the catalogue's is about the same"));
        Ok(path.display().to_string())
    };
    let files = |codes: &[String]| codes.iter().map(file).collect::<Result<Vec<_>, _>>();
    let [cpu, gpu, against] = [&arguments.cpu, &arguments.gpu, &arguments.against].map(|codes| files(codes));
    Ok(MeasureArguments { cpu: cpu?, gpu: gpu?, against: against?, ..arguments.clone() })
}

/// The orderings that an operation reaches.
fn found_in(own: &OwnOperation, is_gpu: bool) -> Result<Found, Failure> {
    const HELPERS: [&str; 6] = ["release", "release_shared", "receive", "setup", "acquire", "check"];
    let helpers: Vec<String> = HELPERS.iter().filter_map(|name| own.helper(name)).collect();
    let functions: Vec<&str> = own.function.iter().chain(&helpers).map(String::as_str).collect();
    let found = find(&own.text, if own.function.is_some() { &functions } else { &[] }, is_gpu);
    if !found.orderings.is_empty() {
        return Ok(found);
    }
    let others: Vec<String> = found
        .not_tried
        .iter()
        .map(|NotTried { line, name, reason }| format!("line {line}, {name}: {reason}"))
        .collect();
    let others = if others.is_empty() { String::new() } else { format!(" (not tried: {})", others.join("; ")) };
    Err(Failure::CouldNot(format!("{} has no memory ordering that could be weaker{others}", own.id)))
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
    }
}

/// An operation with changes.
fn variant<'a>(own: &OwnOperation, name: &str, changes: impl IntoIterator<Item = &'a Change>) -> OwnOperation {
    OwnOperation { id: format!("{}_{name}", own.id), text: changed(&own.text, changes), ..own.clone() }
}

fn not_measured() -> Price {
    Price::NotMeasured(NOT_MEASURED.to_owned())
}

/// All that is known of an operation without measuring it.
fn studied(own: &OwnOperation, arguments: &MeasureArguments, folder: &Path) -> Result<Study, Failure> {
    let is_gpu = !own.id.starts_with(Domain::Cpu.as_str());
    let Found { orderings, not_tried } = found_in(own, is_gpu)?;
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
    let side = Side::new(own, &variants, (arguments, folder), &table.subject)?;
    let model = side.model(own);
    let has_model = matches!(model, Model::NotRefuted(_));
    table.model = Some(model);
    if !is_gpu {
        table.test = side.tests(&[own]).pop();
        refuse_failing(own, table.test.as_ref())?;
    }
    let mut study = Study { own: own.clone(), table, measured: Vec::new() };
    // Every test on a GPU begins with a process that opens it.
    for group in variants.chunks(if is_gpu { variants.len() } else { 1 }) {
        if terminal::cancel().is_cancelled() {
            break;
        }
        study.add(&side, group, has_model)?;
    }
    study.add_together(&side, &variants, has_model);
    Ok(study)
}

/// A test that fails without any change says nothing of changes.
fn refuse_failing(own: &OwnOperation, test: Option<&Test>) -> Result<(), Failure> {
    match test.and_then(Test::failure) {
        Some(how) => Err(Failure::CouldNot(format!("{} fails its check as it is: {how}", own.id))),
        None => Ok(()),
    }
}

impl Study {
    /// Adds the rows of variants, tested together.
    fn add(&mut self, side: &Side<'_>, variants: &[Variant<'_>], has_model: bool) -> Result<(), Failure> {
        let mut tested: Vec<(usize, &OwnOperation)> = Vec::new();
        for variant in variants {
            match row_of(side, &self.own, variant, has_model) {
                Ok(row) => {
                    if row.price != Price::SameInstructions {
                        tested.push((self.table.rows.len(), &variant.own));
                    }
                    // The tests on a GPU come later.
                    if side.is_gpu() || row.price == Price::SameInstructions {
                        self.tell(&row);
                    }
                    self.table.rows.push(row);
                }
                Err(not_tried) => self.table.not_tried.push(not_tried),
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
            self.tell(&self.table.rows[number]);
            if hangs {
                self.table.rows[number].price = Price::NotMeasured("it hangs".to_owned());
            } else {
                self.measured.push((Priced::Row(number), own.clone()));
            }
        }
        Ok(())
    }

    fn tell(&self, row: &Row) {
        let needed = row.needed(&self.table.subject);
        terminal::note(&format!("line {}, {} → {}: {needed}", row.line, row.ordering, row.variant));
    }

    /// Adds what becomes of several changes in one: of those that nothing refutes, and of all that order memory.
    fn add_together(&mut self, side: &Side<'_>, variants: &[Variant<'_>], has_model: bool) {
        let row_of = |variant: &Variant<'_>| {
            let is_row = |row: &&Row| {
                (row.line, &*row.ordering, &*row.variant)
                    == (variant.ordering.line, &*variant.ordering.name, &*variant.change.words)
            };
            self.table.rows.iter().find(is_row).filter(|row| row.price != Price::SameInstructions)
        };
        // Of each ordering the weakest of those that are left.
        let weakest = |is_left: &dyn Fn(&Variant<'_>, &Row) -> bool| -> Vec<&Variant<'_>> {
            let mut kept: Vec<&Variant<'_>> = Vec::new();
            for variant in variants.iter().filter(|variant| row_of(variant).is_some_and(|row| is_left(variant, row))) {
                kept.retain(|known| known.ordering.token != variant.ordering.token);
                kept.push(variant);
            }
            kept
        };
        let passed = weakest(&|_, row| row.has_passed());
        let ordering = weakest(&|variant, _| !variant.ordering.is_meeting);
        let of = |name: &str, taken: &[&Variant<'_>]| {
            let own = variant(&self.own, name, taken.iter().map(|variant| variant.change));
            let words = |Variant { ordering, change, .. }: &&Variant<'_>| {
                format!("line {}: {} → {}", ordering.line, ordering.name, change.words)
            };
            let changes = taken.iter().map(words).collect();
            (Together { changes, price: not_measured(), sum_ns: Vec::new(), code: Vec::new() }, own)
        };
        let count = longest_that_passes(side, has_model, &passed, |taken| of("cheapest", taken).1);
        let (mut cheapest, own) = of("cheapest", &passed[..count]);
        if count > 0
            && let Ok(code) = side.code(&own)
        {
            cheapest.code = side.instructions(&code);
            self.table.cheapest = Some(cheapest);
            self.measured.push((Priced::Cheapest, own));
        }
        if ordering.len() > 1 {
            let (without_any, own) = of("without_any", &ordering);
            self.table.without_any = Some(without_any);
            self.measured.push((Priced::WithoutAny, own));
        }
    }
}

/// Of changes that passed one by one, how many of the first ones pass together.
fn longest_that_passes<'a, 'b>(
    side: &Side<'_>,
    has_model: bool,
    passed: &[&'a Variant<'b>],
    of: impl Fn(&[&'a Variant<'b>]) -> OwnOperation,
) -> usize {
    let mut tried: Vec<OwnOperation> = Vec::new();
    for count in 2..=passed.len() {
        let own = of(&passed[..count]);
        if has_model && !matches!(side.model(&own), Model::NotRefuted(_)) {
            break;
        }
        tried.push(own);
    }
    let tests = side.tests(&tried.iter().collect::<Vec<_>>());
    let passing = tests.iter().take_while(|test| test.failure().is_none()).count();
    if passed.is_empty() { 0 } else { 1 + passing }
}

/// What is known of a variant without running it.
fn row_of(side: &Side<'_>, own: &OwnOperation, variant: &Variant<'_>, has_model: bool) -> Result<Row, NotTried> {
    let Variant { ordering, change, own: of_variant } = variant;
    let not_tried = |reason: String| {
        let name = format!("{} → {}", ordering.name, change.words);
        NotTried { line: ordering.line, name, reason }
    };
    let is_same = side.is_same(of_variant).map_err(|error| not_tried(format!("does not compile: {error}")))?;
    if is_same {
        let text = without_meaning(&own.text, ordering);
        if side.is_taken(&OwnOperation { text, ..own.clone() }).map_err(not_tried)? {
            return Err(not_tried("the compiler does not read it".to_owned()));
        }
    }
    Ok(Row {
        line: ordering.line,
        ordering: ordering.name.clone(),
        variant: change.words.clone(),
        step: change.step,
        price: if is_same { Price::SameInstructions } else { not_measured() },
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
