//! Records the program, machine and environment of a run, and what happens during it.

use std::fmt::Display;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};

use syncscope_core::Run;
use syncscope_core::machine::Environment;
use syncscope_core::run::provenance::{Disturbed, SessionRecord, StolenTime, Tool};
use syncscope_core::run::timestamp;
use syncscope_cpu::CpuLaboratory;
use syncscope_host::cpu_list;
use syncscope_machine::conditions::Changeable;
use syncscope_machine::cpu_time::{CpuCounters, Throttling};
use syncscope_mpi::MpiLaboratory;
use syncscope_report::differences;

use crate::laboratories::Laboratories;

/// This build of syncscope.
pub(crate) fn tool() -> Tool {
    // The link leads to the running file, even where another has taken its name since. Its bytes are read once.
    static BINARY: LazyLock<Option<String>> = LazyLock::new(|| syncscope_host::file_hash(Path::new("/proc/self/exe")));
    Tool {
        commit: option_env!("SYNCSCOPE_COMMIT").map(str::to_owned),
        modified: option_env!("SYNCSCOPE_MODIFIED").map(|modified| modified == "true"),
        binary: BINARY.clone(),
    }
}

/// The words of this command, without the folder of the program, which published runs would reveal. Words that are not UTF-8, as
/// paths may be, have replacement characters.
pub(crate) fn command_line() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once(env!("CARGO_BIN_NAME").to_owned()).chain(words).collect()
}

/// A new run on this machine, with the preset or experiment of this name.
pub(crate) fn new_run(name: impl Display, seed: u64, laboratories: &Laboratories) -> Run {
    Run {
        command: command_line(),
        seed,
        warnings: laboratories.warnings(),
        machine: laboratories.machine(),
        environment: laboratories.environment(),
        tool: Some(tool()),
        ..Run::new(name.to_string(), SystemTime::now())
    }
}

/// Why the rest of a run is not fully comparable with its beginning: another build resumes it.
pub(crate) fn another_build(begun: Option<&Tool>, here: &Tool) -> Option<String> {
    let begun = begun.filter(|begun| *begun != here)?;
    Some(format!(
        "the run was begun by another build of syncscope ({begun}) and resumed by this one ({here}): rows of both are in it"
    ))
}

/// Why the rest of a run is not fully comparable with its beginning: the environment has changed, such as the kernel or
/// settings that decide the cost of library calls. Conditions that the beginning does not record are not compared.
pub(crate) fn another_environment(begun: &Run, here: &Environment) -> Option<String> {
    // Clocks are measured anew, and keeping idle CPUs awake may be decided later.
    let environment = Environment { clocks: Vec::new(), keep_awake: None, ..here.clone() };
    let found = differences(begun, &Run { environment, ..begun.clone() });
    let names: Vec<String> = found.into_iter().map(|difference| difference.what).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("the run was begun with other values of {names} and resumed with those of this process: rows of both are in it")
    })
}

/// The disturbances of a run in this session.
pub(crate) fn disturbed(record: &SessionRecord, run: &Run) -> Vec<Disturbed> {
    record.disturbed(cpu_list::parse(&run.environment.allowed_cpus).map_or(0, |cpus| cpus.len())).collect()
}

/// The state of the machine when measuring began.
pub(crate) struct SessionStart {
    time: SystemTime,
    clock: Instant,
    load: Option<f64>,
    counters: Option<CpuCounters>,
    throttling: Option<Throttling>,
    /// The CPUs that the processes of a launcher use here.
    cpus: Option<Vec<u32>>,
    changeable: Option<Changeable>,
}

/// The conditions that others may change meanwhile; `None` for fakes.
fn changeable(laboratories: &Laboratories) -> Option<Changeable> {
    laboratories.cpu.as_ref().map(|cpu| Changeable::here(&cpu.topology().allowed_cpus()))
}

impl SessionStart {
    /// Records the state now.
    pub(crate) fn now(laboratories: &Laboratories) -> Self {
        let cpu = laboratories.cpu.as_ref();
        let cpus = laboratories.mpi.as_ref().map(MpiLaboratory::cpus);
        Self {
            time: SystemTime::now(),
            clock: Instant::now(),
            load: cpu.and_then(CpuLaboratory::initial_load),
            counters: cpu.and_then(|cpu| cpu.cpu_counters(cpus.as_deref())),
            throttling: cpu.map(CpuLaboratory::throttling),
            cpus,
            changeable: changeable(laboratories),
        }
    }

    /// The warning if others have changed a condition since then.
    pub(crate) fn change(&self, laboratories: &Laboratories) -> Option<String> {
        let change = self.changeable.as_ref()?.change(&changeable(laboratories)?)?;
        Some(format!("this changed while the run measured ({change}): its figures are of both; measure again"))
    }

    /// The record of the time from then to now.
    pub(crate) fn ended(self, laboratories: &Laboratories) -> SessionRecord {
        let cpu = laboratories.cpu.as_ref();
        let seconds = self.clock.elapsed().as_secs_f64();
        let counters = self.counters.zip(cpu.and_then(|cpu| cpu.cpu_counters(self.cpus.as_deref())));
        // Unknown where the other processes of a launcher do not answer.
        let of_others = laboratories.mpi.as_ref().map_or(Some(Duration::ZERO), MpiLaboratory::time_of_others);
        let share = |(start, end): (CpuCounters, CpuCounters)| {
            end.with_other_processes(of_others?).share_of_others(&start, seconds)
        };
        let throttled = self.throttling.zip(cpu).and_then(|(start, cpu)| cpu.throttling().since(&start));
        SessionRecord {
            started: timestamp(self.time),
            ended: timestamp(SystemTime::now()),
            seconds,
            load_start: self.load,
            load_end: cpu.and_then(CpuLaboratory::current_load),
            stolen: counters.as_ref().map(|(start, end)| StolenTime::of(&end.stolen_since(start), seconds)),
            throttled_seconds: throttled.map(|time| time.as_secs_f64()),
            others_share: counters.and_then(share),
            peak_memory_bytes: cpu.and_then(CpuLaboratory::peak_memory_bytes),
            processes: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_identified() {
        let tool = tool();
        assert_eq!(tool.binary.as_ref().map(String::len), Some(16));
        let is_commit = |text: &String| text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(tool.commit.as_ref().is_none_or(is_commit), "{tool:?}");
        assert_eq!(tool.commit.is_some(), tool.modified.is_some(), "{tool:?}");
    }

    #[test]
    fn another_build_is_named() {
        let build = |commit: &str, modified| Tool {
            commit: Some(commit.repeat(40)),
            modified: Some(modified),
            binary: Some("00ff".to_owned()),
        };
        assert_eq!(another_build(None, &build("a", false)), None, "an older file does not say");
        assert_eq!(another_build(Some(&build("a", false)), &build("a", false)), None);
        let text = another_build(Some(&build("a", false)), &build("b", true)).unwrap();
        assert!(text.contains("(commit aaaaaaaaaaaa, binary 00ff)"), "{text}");
        assert!(text.contains("(commit bbbbbbbbbbbb, modified, binary 00ff)"), "{text}");
        assert_eq!(Tool::default().to_string(), "unknown");
    }

    #[test]
    fn what_has_changed_around_a_run_is_named() {
        let with = |policy: Option<&str>, preloaded: &[&str], os: &str| Environment {
            os: os.to_owned(),
            variables: Some(
                policy.map(|policy| ("OMP_WAIT_POLICY".to_owned(), policy.to_owned())).into_iter().collect(),
            ),
            preloaded: Some(preloaded.iter().map(|name| (*name).to_owned()).collect()),
            ..Environment::default()
        };
        let begun = with(Some("active"), &[], "kernel 6.1");
        let run = |environment: &Environment| Run {
            environment: environment.clone(),
            ..Run::new("quick".to_owned(), SystemTime::UNIX_EPOCH)
        };
        let another = |here: &Environment| another_environment(&run(&begun), here);
        assert_eq!(another(&begun), None);
        let silent = Environment { variables: None, preloaded: None, ..begun.clone() };
        assert_eq!(another_environment(&run(&silent), &begun), None, "an older file does not say");
        let text = another(&with(None, &["spin.so"], "kernel 6.1")).unwrap();
        assert!(text.contains("values of preloaded libraries, OMP_WAIT_POLICY and"), "{text}");
        let text = another(&with(Some("active"), &[], "kernel 6.2")).unwrap();
        assert!(text.contains("values of operating system and"), "{text}");
    }
}
