//! `syncscope submit`: makes an anonymous bundle of a run for the gallery, or checks one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syncscope_core::run::IMPORTED;
use syncscope_core::run::directory::RunDirectory;
use syncscope_core::units::plural;
use syncscope_core::{CaseId, Preset, Run};
use syncscope_fleet::bundle;
use syncscope_gpu::DeviceLimits;
use syncscope_host::guard::temporary_folder;
use syncscope_papers::folder_name;

use crate::args::SubmitArguments;
use crate::catalogue::catalogue;
use crate::failure::{Failure, Outcome};
use crate::{output, runs, terminal};

/// The cases of the quick preset on the machine of a run.
fn quick_cases(run: &Run) -> BTreeSet<CaseId> {
    let on_gpu = run.machine.gpus.first().map(|gpu| {
        let limits = DeviceLimits { multiprocessors: gpu.multiprocessors, max_threads: gpu.max_threads_per_block };
        syncscope_gpu::cases(Preset::Quick, &limits)
    });
    let cases = syncscope_cpu::cases(Preset::Quick, &run.machine.cpu).into_iter().chain(on_gpu.into_iter().flatten());
    cases.map(|case| case.id()).collect()
}

/// Makes a bundle, or checks one.
pub(crate) fn submit(arguments: &SubmitArguments) -> Result<Outcome, Failure> {
    let SubmitArguments { path, check: is_check, out } = arguments;
    if *is_check && let Some(out) = out {
        folder_name(out.clone()).map_err(|error| Failure::Usage(error.to_owned()))?;
        output::check(out, [path])?;
    }
    match out {
        _ if !is_check => make(path, out.as_deref()),
        Some(out) => check(path, out),
        None => {
            let scratch = temporary_folder().map_err(Failure::CouldNot)?;
            check(path, scratch.path())
        }
    }
}

fn make(path: &Path, out: Option<&Path>) -> Result<Outcome, Failure> {
    let data = runs::load(path)?;
    let provisional = data.rows.iter().filter(|row| row.provisional).count();
    if provisional > 0 {
        let finish = format!("finish them first by `{}`", terminal::resume_command(path));
        terminal::note(&format!("left out: {}; {finish}", plural(provisional, "provisional row")));
    }
    let run = &data.run;
    if run.preset == IMPORTED || run.experiment().is_some() {
        return Err(Failure::Usage(format!("{} was not written by `syncscope run`", path.display())));
    }
    let out = out.map_or_else(|| PathBuf::from(format!("{}.json.gz", data.name)), Path::to_owned);
    output::check(&out, [path])?;
    if !data.rows.iter().any(|row| row.has_figure() && !row.provisional) {
        return Err(Failure::CouldNot("no finished row has a figure".to_owned()));
    }
    let packed = bundle::pack(&data, &quick_cases(run), &catalogue());
    let packed = packed.map_err(|error| Failure::CouldNot(error.to_string()))?;
    packed.warnings.iter().for_each(|text| terminal::note(text));
    output::write(&out, &packed.bytes)?;
    if !run.machine.gpus.iter().any(|gpu| gpu.compute_capability >= NEVER_RUN) {
        terminal::note(&WANTED);
    }
    terminal::show(&packed.issue(&out))
}

/// The compute capability from which code has only been compiled and disassembled, never run.
const NEVER_RUN: (u32, u32) = (10, 0);
const WANTED: &str = "most wanted: runs on GPUs of compute capability 10.0 to 12.1 (B200, B300, Thor, RTX 50, GB10) \
                      and on ARM64 servers, whose code compiles but has never run";

/// Writes the run of a bundle to `out` and reads it like any run. An invalid bundle leaves nothing there.
fn check(file: &Path, out: &Path) -> Result<Outcome, Failure> {
    let bundle = bundle::read(file).map_err(Failure::in_file(file))?;
    let directory = RunDirectory::create(out)?;
    let rows = match bundle::unpack(&bundle, &directory, &catalogue()) {
        Ok(rows) => rows,
        Err(reason) => {
            fs::remove_dir_all(out).map_err(Failure::in_file(file))?;
            return Err(Failure::in_file(file)(
                reason.to_string().replace(&format!("{}", out.display()), "the bundle"),
            ));
        }
    };
    terminal::note(&format!("{}: {rows} rows of a bundle", file.display()));
    Ok(Outcome::Done)
}
