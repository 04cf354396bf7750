//! `syncscope measure --orderings`: what each memory ordering in the user's code costs here, and whether a test or the memory model
//! needs it. Variants are compiled, asked of the model and tested in processes of their own, one after the other; those that differ are
//! then measured in turn with the original, as `syncscope measure --against` does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use syncscope_core::run_directory::RunDirectory;
use syncscope_core::units::plural;
use syncscope_core::{Domain, OwnCheck, OwnCode, OwnOperation};
use syncscope_cpu::primitives::own::{FORMS, Trials};
use syncscope_gpu::verify::listings_of_own;
use syncscope_host::guard::temporary_folder;
use syncscope_host::scheduling::allowed_cpus;
use syncscope_orderings::{
    Change, Cheapest, Found, Model, NotTried, Ordering, Price, Row, Table, Test, changed, find, without_meaning,
};

use crate::args::MeasureArguments;
use crate::commands::begun_run::default_directory;
use crate::commands::own_request::OwnRequest;
use crate::commands::repeat;
use crate::failure::{Failure, Outcome};
use crate::{runs, supervisor, terminal};

/// Processor time of the model, and time of the test, for all variants of an operation.
const MODEL_TIME: Duration = Duration::from_secs(9);
const TEST_TIME: Duration = Duration::from_secs(5);

/// The most of it for one variant.
const LONGEST_MODEL: Duration = Duration::from_millis(1200);
const LONGEST_TEST: Duration = Duration::from_millis(500);

/// What is known of an operation, and its variants that are measured: their rows (`None`: the cheapest form), and their texts.
struct Study {
    own: OwnOperation,
    table: Table,
    measured: Vec<(Option<usize>, OwnOperation)>,
}

/// Shows the table of each operation.
pub(super) fn orderings(arguments: &MeasureArguments) -> Result<Outcome, Failure> {
    let folder = temporary_folder().map_err(|error| Failure::CouldNot(error.to_string()))?;
    let arguments = with_forms(arguments, folder.path())?;
    let request = OwnRequest::new(&arguments)?;
    let cancel = terminal::cancel_on_signal();
    let request = request.resolved(arguments.sass.as_deref())?;
    let mut studies = Vec::new();
    for own in &request.operations {
        studies.push(if own.id.starts_with(Domain::Cpu.as_str()) {
            of_cpu(own, &arguments)?
        } else {
            of_gpu(own, &arguments)?
        });
    }
    let count = studies.len();
    for (number, study) in studies.iter_mut().enumerate() {
        if arguments.sass.is_none() && !cancel.is_cancelled() && !study.measured.is_empty() {
            let place = arguments.out.clone().unwrap_or_else(|| default_directory("measure"));
            let place = if count > 1 { PathBuf::from(format!("{}-{}", place.display(), number + 1)) } else { place };
            measure(study, &arguments, folder.path(), &place)?;
        }
        terminal::show(&study.table.for_terminal())?;
    }
    let tables: Vec<&Table> = studies.iter().map(|study| &study.table).collect();
    let json = serde_json::to_string_pretty(&tables).map_err(|error| Failure::CouldNot(error.to_string()))?;
    let markdown = tables.iter().map(|table| table.as_markdown()).collect::<Vec<_>>().join("\n");
    request.export([format!("{json}\n"), markdown])?;
    Ok(if cancel.is_cancelled() { Outcome::Interrupted } else { Outcome::Done })
}

/// With the C forms of our own locks and barriers in place of their ids.
fn with_forms(arguments: &MeasureArguments, folder: &Path) -> Result<MeasureArguments, Failure> {
    let file = |code: &String| {
        let Some((id, text)) = FORMS.iter().find(|(id, _)| id == code) else {
            let is_known = crate::catalogue::catalogue().get(code).is_some();
            let why = "is not written in C here: name a file, or one of cpu.lock.* and cpu.barrier.* that are our own";
            return if is_known { Err(Failure::Usage(format!("{code} {why}"))) } else { Ok(code.clone()) };
        };
        let path = folder.join(format!("{}.c", id.rsplit('.').next().unwrap_or(id)));
        fs::write(&path, text).map_err(Failure::in_file(&path))?;
        terminal::note(&format!("{id} is written in Rust; this is about the same in C"));
        Ok(path.display().to_string())
    };
    let files = |codes: &[String]| codes.iter().map(file).collect::<Result<Vec<_>, _>>();
    Ok(MeasureArguments { cpu: files(&arguments.cpu)?, against: files(&arguments.against)?, ..arguments.clone() })
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
    Table { operation, subject, model: None, test: None, rows: Vec::new(), not_tried, cheapest: None }
}

/// An operation with changes.
fn variant(own: &OwnOperation, number: usize, changes: &[&Change]) -> OwnOperation {
    let text = changed(&own.text, changes.iter().copied());
    OwnOperation { id: format!("{}_variant_{number}", own.id), text, ..own.clone() }
}

fn row_of(ordering: &Ordering, change: &Change, price: Price) -> Row {
    let (ordering, variant) = ((ordering.line, ordering.name.clone()), change.words.clone());
    Row { line: ordering.0, ordering: ordering.1, variant, step: change.step, price, model: None, test: None }
}

const NOT_MEASURED: &str = "not measured";

/// What asks the model and the test.
struct Asker {
    trials: Trials,
    cpus: Vec<u32>,
    subject: String,
    model_time: Duration,
    test_time: Duration,
}

impl Asker {
    fn model(&self, own: &OwnOperation) -> Model {
        let said = self.trials.model(own, self.model_time);
        said.map_or_else(Model::Cannot, |(lines, files)| Model::parse(&lines, &files))
    }

    fn test(&self, own: &OwnOperation) -> Test {
        let said = self.trials.stress(own, self.test_time, &self.cpus);
        said.map_or_else(Test::Cannot, |line| Test::parse(&line, &self.subject))
    }
}

fn of_cpu(own: &OwnOperation, arguments: &MeasureArguments) -> Result<Study, Failure> {
    let Found { orderings, not_tried } = found_in(own, false)?;
    let mut table = empty_table(own, not_tried);
    let count = orderings.iter().map(|ordering| ordering.changes.len()).sum::<usize>() as u32 + 1;
    let asker = Asker {
        trials: Trials::new(arguments.axes.dtype.first().copied()).map_err(Failure::CouldNot)?,
        cpus: allowed_cpus(),
        subject: table.subject.clone(),
        model_time: (MODEL_TIME / count).min(LONGEST_MODEL),
        test_time: (TEST_TIME / count).min(LONGEST_TEST),
    };
    let code = asker.trials.assembly(own).map_err(Failure::CouldNot)?;
    let (model, test) = (asker.model(own), asker.test(own));
    if let Test::Failed(how) = &test {
        return Err(Failure::CouldNot(format!("{} fails its check as it is: {how}", own.id)));
    }
    let has_model = matches!(model, Model::NotRefuted(_));
    (table.model, table.test) = (Some(model), Some(test));
    let (mut measured, mut passed) = (Vec::new(), Vec::new());
    for ordering in &orderings {
        let mut weakest = None;
        for change in &ordering.changes {
            if terminal::cancel().is_cancelled() {
                break;
            }
            let variant = variant(own, table.rows.len(), &[change]);
            match variant_of_cpu(&asker, own, &code, (ordering, change), &variant, has_model) {
                Ok(row) => {
                    terminal::note(&format!(
                        "line {}, {} → {}: {}",
                        row.line,
                        row.ordering,
                        row.variant,
                        row.needed(&table.subject)
                    ));
                    if row.price != Price::SameInstructions {
                        measured.push((Some(table.rows.len()), variant));
                        weakest = Some(change).filter(|_| !row.is_refuted()).or(weakest);
                    }
                    table.rows.push(row);
                }
                Err(not_tried) => table.not_tried.push(not_tried),
            }
        }
        passed.extend(weakest.map(|change| (ordering, change)));
    }
    if let Some((cheapest, own)) = cheapest(&asker, own, &passed, has_model) {
        table.cheapest = Some(cheapest);
        measured.push((None, own));
    }
    Ok(Study { own: own.clone(), table, measured })
}

/// What is known of a variant without measuring it.
fn variant_of_cpu(
    asker: &Asker,
    own: &OwnOperation,
    code: &str,
    (ordering, change): (&Ordering, &Change),
    variant: &OwnOperation,
    has_model: bool,
) -> Result<Row, NotTried> {
    let not_tried = |reason: String| {
        let name = format!("{} → {}", ordering.name, change.words);
        NotTried { line: ordering.line, name, reason }
    };
    let of_variant = asker.trials.assembly(variant).map_err(|error| not_tried(format!("does not compile: {error}")))?;
    let is_same = of_variant == code;
    let mut row = row_of(
        ordering,
        change,
        if is_same { Price::SameInstructions } else { Price::NotMeasured(NOT_MEASURED.to_owned()) },
    );
    if is_same {
        let text = without_meaning(&own.text, ordering);
        let is_unread = asker.trials.is_taken(&OwnOperation { text, ..own.clone() }).map_err(not_tried)?;
        if is_unread {
            return Err(not_tried("the compiler does not read it".to_owned()));
        }
    } else {
        row.test = Some(asker.test(variant));
    }
    row.model = has_model.then(|| asker.model(variant));
    Ok(row)
}

/// The changes that were not refuted, together, as far as nothing refutes that.
fn cheapest(
    asker: &Asker,
    own: &OwnOperation,
    passed: &[(&Ordering, &Change)],
    has_model: bool,
) -> Option<(Cheapest, OwnOperation)> {
    let mut taken: Vec<(&Ordering, &Change)> = Vec::new();
    for one in passed {
        taken.push(*one);
        let changes: Vec<&Change> = taken.iter().map(|(_, change)| *change).collect();
        let together = variant(own, 0, &changes);
        let is_refuted = taken.len() > 1
            && (matches!(asker.test(&together), Test::Failed(_))
                || (has_model && !matches!(asker.model(&together), Model::NotRefuted(_))));
        if is_refuted {
            taken.pop();
        }
    }
    let changes: Vec<&Change> = taken.iter().map(|(_, change)| *change).collect();
    let together = OwnOperation { id: format!("{}_cheapest", own.id), ..variant(own, 0, &changes) };
    let code = asker.trials.assembly(&together).ok().filter(|_| !taken.is_empty())?;
    let words = |(ordering, change): &(&Ordering, &Change)| {
        format!("line {}: {} → {}", ordering.line, ordering.name, change.words)
    };
    let changes = taken.iter().map(words).collect();
    let price = Price::NotMeasured(NOT_MEASURED.to_owned());
    Some((Cheapest { changes, price, code: Trials::code(&code) }, together))
}

/// GPU code: by its machine code, and by the check of what is measured. There is no model of it here.
fn of_gpu(own: &OwnOperation, arguments: &MeasureArguments) -> Result<Study, Failure> {
    let Found { orderings, not_tried } = found_in(own, true)?;
    let mut table = empty_table(own, not_tried);
    let changes: Vec<(&Ordering, &Change)> =
        orderings.iter().flat_map(|ordering| ordering.changes.iter().map(move |change| (ordering, change))).collect();
    let variants = changes.iter().enumerate().map(|(number, (_, change))| variant(own, number, &[change]));
    let operations: Vec<OwnOperation> = [own.clone()].into_iter().chain(variants).collect();
    let axes = arguments.axes.axes();
    let code = OwnCode { operations: operations.clone(), axes };
    let listings =
        listings_of_own(&code, arguments.sass.as_deref(), arguments.device.as_deref()).map_err(Failure::CouldNot)?;
    let listing = |id: &str| listings.iter().find(|(known, _)| known == id).map(|(_, listing)| listing);
    let original = match listing(&own.id) {
        Some(Ok(listing)) => listing,
        Some(Err(reason)) => return Err(Failure::CouldNot(format!("{}: {reason}", own.id))),
        None => return Err(Failure::CouldNot(format!("{} has no case", own.id))),
    };
    let mut measured = Vec::new();
    for ((ordering, change), variant) in changes.into_iter().zip(operations.iter().skip(1)) {
        match listing(&variant.id) {
            Some(Ok(same)) if same == original => table.rows.push(row_of(ordering, change, Price::SameInstructions)),
            Some(Ok(_)) => {
                measured.push((Some(table.rows.len()), variant.clone()));
                table.rows.push(row_of(ordering, change, Price::NotMeasured(NOT_MEASURED.to_owned())));
            }
            other => {
                let reason = other.and_then(|listing| listing.as_ref().err()).map_or("", String::as_str);
                let name = format!("{} → {}", ordering.name, change.words);
                let reason = format!("does not compile: {}", reason.lines().next().unwrap_or_default());
                table.not_tried.push(NotTried { line: ordering.line, name, reason });
            }
        }
    }
    Ok(Study { own: own.clone(), table, measured })
}

/// Measures the variants in turn with the original, in a process that is watched, and adds their prices.
fn measure(study: &mut Study, arguments: &MeasureArguments, folder: &Path, place: &Path) -> Result<(), Failure> {
    let could_not = |error: std::io::Error| Failure::CouldNot(format!("the program cannot start itself: {error}"));
    let mut command = syncscope_host::this_program().map_err(could_not)?;
    command.args(words(study, arguments, folder)?).arg("--out").arg(place).stdout(Stdio::null());
    terminal::note(&format!("measuring {} in turn with the original", plural(study.measured.len() as u32, "variant")));
    let cancel = terminal::cancel();
    let status = repeat::wait(&mut command, || cancel.is_cancelled())?;
    let Ok(directory) = RunDirectory::open(place) else {
        let why = status.map_or_else(|| "it was ended".to_owned(), |status| status.to_string());
        terminal::warning(&format!("the variants could not be measured ({why}, above)"));
        return Ok(());
    };
    let data = runs::load(place)?;
    let request = OwnRequest::begun(data.run.own.clone(), arguments.clone());
    let ids: Vec<String> = data.run.own.iter().map(|own| own.id.clone()).collect();
    let Some((first, others)) = ids.split_first() else { return Ok(()) };
    for ((number, _), id) in study.measured.iter().zip(others) {
        let savings = request.savings(&data, &directory, [first, id])?;
        let no_figure = || Price::NotMeasured("no figure".to_owned());
        let price = if savings.is_empty() { no_figure() } else { Price::Measured(savings) };
        let failed = data.rows.iter().find(|row| row.case.primitive == *id && row.check == Some(false));
        match number {
            Some(number) => {
                let row = &mut study.table.rows[*number];
                row.price = price;
                if let Some(failed) = failed {
                    row.test = Some(Test::Failed(failed.verdict.reason().to_owned()));
                } else if row.test.is_none() {
                    let uses = |row: &syncscope_core::Row| row.pairs.unwrap_or(0) * row.iterations.unwrap_or(0);
                    let of_variant = data.rows.iter().filter(|row| row.case.primitive == *id);
                    row.test = Some(Test::NotSeen(of_variant.map(uses).sum()));
                }
            }
            None => study.table.cheapest = study.table.cheapest.take().map(|cheapest| Cheapest { price, ..cheapest }),
        }
    }
    Ok(())
}

/// The command line that measures the original and its variants, whose texts are written to files.
fn words(study: &Study, arguments: &MeasureArguments, folder: &Path) -> Result<Vec<String>, Failure> {
    let own = &study.own;
    let side = own.id.split('.').next().unwrap_or_default();
    let mut codes = vec![own.text.clone()];
    if let (Some(file), Some(function)) = (&own.file, &own.function) {
        codes = vec![format!("{file}:{function}")];
        let ending =
            Path::new(file).extension().map_or_else(|| "c".into(), |ending| ending.to_string_lossy().into_owned());
        for (number, (_, variant)) in study.measured.iter().enumerate() {
            let path = folder.join(format!("variant_{number}.{ending}"));
            fs::write(&path, &variant.text).map_err(Failure::in_file(&path))?;
            codes.push(format!("{}:{function}", path.display()));
        }
    } else {
        codes.extend(study.measured.iter().map(|(_, variant)| variant.text.clone()));
    }
    let against = codes.split_off(1);
    let mut words = vec!["measure".to_owned(), format!("--{side}")];
    words.extend(codes);
    words.push("--against".to_owned());
    words.extend(against);
    let options = arguments.compiler_options().into_iter();
    words.extend(options.map(|option| if option.starts_with("-std=") { format!("-{option}") } else { option }));
    // The variants stand in another folder.
    let beside = own.file.as_ref().map(|file| Path::new(file).parent().map_or_else(PathBuf::new, Path::to_owned));
    words.extend(
        beside.map(|folder| {
            format!("-I{}", if folder.as_os_str().is_empty() { Path::new(".") } else { &folder }.display())
        }),
    );
    let option = |name: &str, value: &Option<String>| {
        value.iter().flat_map(|value| [name.to_owned(), value.clone()]).collect::<Vec<_>>()
    };
    words.extend(option("--setup", &arguments.setup));
    words.extend(option("--check", &arguments.check.map(|check| check.as_str().to_owned())));
    words.extend(option("--seed", &arguments.seed.map(|seed| seed.to_string())));
    words.extend(option("--shared-bytes", &arguments.shared_bytes.map(|bytes| bytes.to_string())));
    words.extend(arguments.include.iter().flat_map(|file| ["--include".to_owned(), file.clone()]));
    words.extend(arguments.cluster.iter().flat_map(|size| ["--cluster".to_owned(), size.to_string()]));
    words.extend(arguments.axes.options());
    if arguments.axes.threads.is_empty() && side == Domain::Cpu.as_str() {
        words.extend(["--threads".to_owned(), if own.is_lock() { "1,2" } else { "2" }.to_owned()]);
    }
    words.extend(supervisor::options(arguments.device.as_deref(), arguments.budget));
    Ok(words)
}
