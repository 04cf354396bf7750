//! Runs an operation and its variants in turn, in supervised processes: what each costs, and on a GPU what its check finds
//! under stress.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use syncscope_core::run_directory::RunDirectory;
use syncscope_core::units::plural;
use syncscope_core::{Domain, OwnOperation, Row, Verdict};
use syncscope_orderings::{Price, Saving, Test};
use syncscope_report::RunData;

use super::time::{OVER, Time};
use super::{Priced, Study};
use crate::args::MeasureArguments;
use crate::commands::own_ratios::in_brackets;
use crate::commands::own_request::OwnRequest;
use crate::commands::repeat;
use crate::failure::Failure;
use crate::{runs, supervisor, terminal};

/// The threads of a block under stress, if the user asks for none.
const THREADS_UNDER_STRESS: &str = "32,256,1024";

impl Study {
    /// Measures the variants in turn with the original, and adds their prices.
    pub(super) fn price(
        &mut self,
        arguments: &MeasureArguments,
        folder: &Path,
        place: &Path,
        time: Time,
    ) -> Result<(), Failure> {
        let budget = match time.for_prices() {
            Ok(budget) => budget,
            Err(why) => {
                terminal::warning(&format!("{why} before the prices were measured: give it more, or none"));
                return Ok(());
            }
        };
        let arguments = &MeasureArguments { budget, ..arguments.clone() };
        terminal::note(&format!(
            "measuring {} in turn with the original",
            plural(self.measured.len() as u32, "variant")
        ));
        let variants: Vec<&OwnOperation> = self.measured.iter().map(|(_, own)| own).collect();
        let Some(data) = run_of(&self.own, &variants, (arguments, folder), place, 0)? else { return Ok(()) };
        let directory = RunDirectory::open(place)?;
        let request = OwnRequest::begun(data.run.own.clone(), arguments.clone());
        let ids: Vec<String> = data.run.own.iter().map(|own| own.id.clone()).collect();
        let Some((first, others)) = ids.split_first() else { return Ok(()) };
        for ((priced, _), id) in self.measured.iter().zip(others) {
            let savings = request.savings(&data, &directory, [first, id])?;
            let price = if savings.is_empty() { without_figure(&data, id) } else { Price::Measured(savings) };
            match priced {
                Priced::Row(number) => self.table.rows[*number].price = price,
                Priced::Set(number) => self.sets[*number].price = price,
                Priced::WithoutAny => self.table.without_any.iter_mut().for_each(|one| one.price = price.clone()),
                Priced::Against => self.table.against.iter_mut().for_each(|one| one.price = price.clone()),
            }
        }
        self.add_sum();
        Ok(())
    }

    /// Adds the sum of what the changes that leave all orderings out save one by one, if each saving is shown.
    pub(super) fn add_sum(&mut self) {
        let Some(without_any) = &mut self.table.without_any else { return };
        let Price::Measured(together) = &without_any.price else { return };
        let prices = without_any.rows.iter().map(|row| &self.table.rows[*row].price);
        let prices: Vec<&Price> = prices.filter(|price| **price != Price::SameInstructions).collect();
        let of_case = |case: &Saving| -> Option<f64> {
            let shown = |price: &&Price| match price {
                Price::Measured(of) => {
                    of.iter().find(|one| one.case == case.case && one.is_shown()).map(|one| one.saved_ns)
                }
                _ => None,
            };
            let of_it = prices.iter().map(shown).collect::<Option<Vec<f64>>>()?;
            (!of_it.is_empty()).then(|| of_it.iter().sum())
        };
        without_any.sum_ns = together.iter().map(of_case).collect::<Option<_>>().unwrap_or_default();
    }
}

/// The reason why a variant has no price, from its first row.
fn without_figure(data: &RunData, id: &str) -> Price {
    let row = data.rows.iter().find(|row| row.case.primitive == id);
    let reason = row.map(Row::explanation).filter(|reason| !reason.is_empty());
    let of_variant = reason.map(|reason| format!("; the variant: {reason}")).unwrap_or_default();
    Price::NotMeasured(format!("no figure{of_variant}"))
}

/// Tests operations under stress in one process, each for about this time, and returns what their checks found.
pub(super) fn tests(
    operations: &[&OwnOperation],
    arguments: &MeasureArguments,
    folder: &Path,
    (duration, time): (Duration, Time),
) -> Vec<Test> {
    let Some((first, others)) = operations.split_first() else { return Vec::new() };
    if first.checked().is_none() {
        return operations.iter().map(|_| Test::Cannot("nothing about it is checked".to_owned())).collect();
    }
    let mut arguments = arguments.clone();
    let place = folder.join(format!("{}-under-stress", first.id));
    let shapes = THREADS_UNDER_STRESS.split(',').filter_map(|count| count.parse().ok());
    if arguments.axes.threads.is_empty() {
        arguments.axes.threads = shapes.collect();
    }
    if time.is_over() {
        return operations.iter().map(|_| Test::Cannot(OVER.to_owned())).collect();
    }
    arguments.budget = arguments.budget.map(|budget| time.at_most(budget));
    let each = duration.as_millis() as u32 / arguments.axes.threads.len() as u32;
    let cannot = |reason: &str| operations.iter().map(|_| Test::Cannot(reason.to_owned())).collect();
    match run_of(first, others, (&arguments, folder), &place, each.max(1)) {
        Ok(Some(data)) => data.run.own.iter().map(|own| test_of(&data, &own.id)).collect(),
        Ok(None) => cannot("it could not run"),
        Err(failure) => cannot(&failure.to_string()),
    }
}

/// The result of an operation's check, from its rows.
fn test_of(data: &RunData, id: &str) -> Test {
    let rows: Vec<&Row> = data.rows.iter().filter(|row| row.case.primitive == *id).collect();
    let passed = rows.iter().filter_map(|row| row.pairs).sum::<u64>();
    let failed = rows.iter().find_map(|row| match &row.verdict {
        Verdict::TimedOut(reason) => Some(Test::Hangs(format!("hangs: {reason}{}", in_brackets(&row.case)))),
        Verdict::Failed(reason) => {
            let uses =
                row.pairs.filter(|uses| *uses > 0).map_or_else(String::new, |uses| format!(", within {uses} uses"));
            Some(Test::Failed(format!("{reason}{uses}{}", in_brackets(&row.case)).into()))
        }
        _ => None,
    });
    let skipped = || rows.iter().map(|row| row.verdict.reason()).next().unwrap_or("it has no case");
    failed.unwrap_or_else(|| if passed > 0 { Test::NotSeen(passed) } else { Test::Cannot(skipped().to_owned()) })
}

/// Runs an operation and its variants into a directory; `None` if the run left nothing.
fn run_of(
    own: &OwnOperation,
    variants: &[&OwnOperation],
    (arguments, folder): (&MeasureArguments, &Path),
    place: &Path,
    trial_ms: u32,
) -> Result<Option<RunData>, Failure> {
    let could_not = |error: std::io::Error| Failure::CouldNot(format!("the program cannot start itself: {error}"));
    let mut command = syncscope_host::this_program().map_err(could_not)?;
    command.args(words(own, variants, arguments, folder)?).arg("--trial-ms").arg(trial_ms.to_string());
    command.arg("--out").arg(place).stdout(Stdio::null());
    let cancel = terminal::cancel();
    let ended = repeat::wait(&mut command, || cancel.is_cancelled())?;
    if RunDirectory::open(place).is_err() {
        let how = ended.map_or_else(|| "was ended".to_owned(), |end| end.to_string());
        terminal::warning(&format!("the variants could not be run: their process {how}; see above"));
        return Ok(None);
    }
    Ok(Some(runs::load(place)?))
}

/// The command line that measures an operation and its variants, whose texts are written to files.
fn words(
    own: &OwnOperation,
    variants: &[&OwnOperation],
    arguments: &MeasureArguments,
    folder: &Path,
) -> Result<Vec<String>, Failure> {
    let side = own.id.split('.').next().unwrap_or_default();
    let mut codes = Vec::new();
    if let (Some(file), Some(function)) = (&own.file, &own.function) {
        let ending = Path::new(file).extension().map_or_else(|| "c".into(), |ending| ending.to_string_lossy());
        for one in std::iter::once(&own).chain(variants) {
            let path = folder.join(format!("{}.{ending}", one.id.rsplit('.').next().unwrap_or_default()));
            fs::write(&path, &one.text).map_err(Failure::in_file(&path))?;
            codes.push(format!("{}:{function}", path.display()));
        }
    } else {
        codes.push(own.text.clone());
        codes.extend(variants.iter().map(|variant| variant.text.clone()));
    }
    let against = codes.split_off(1);
    let mut words = vec!["measure".to_owned(), format!("--{side}")];
    words.extend(codes);
    if !against.is_empty() {
        words.push("--against".to_owned());
        words.extend(against);
    }
    let options = arguments.compiler_options().into_iter();
    words.extend(options.map(|option| if option.starts_with("-std=") { format!("-{option}") } else { option }));
    // Headers are found next to the original: the variants are in another folder.
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
