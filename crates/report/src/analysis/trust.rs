//! Says in one line how far to trust a run.

use syncscope_core::Verdict;
use syncscope_core::run::between_rows::frequent_smt_interference;
use syncscope_core::run::fingerprint::Fingerprint;
use syncscope_core::run::machine::Environment;
use syncscope_core::run::provenance::{SessionRecord, StolenTime};
use syncscope_core::run::{another_run, guests};

use crate::RunData;
use crate::analysis::contest::is_absent;
use crate::analysis::phrases::joined;
use crate::analysis::placements::list_length;
use crate::figure::{self, grouped};
use crate::naming::{capitalized, plural};
use crate::reading::State;

/// Says what disturbed the run, the most harmful first, and how many costs are known. `None` if no case can be measured
/// here.
pub fn trust(data: &RunData) -> Option<String> {
    let existing = data.rows.iter().filter(|row| !is_absent(row)).count();
    let resolved = data.rows.iter().filter(|row| row.verdict == Verdict::Resolved).count();
    if existing == 0 {
        return None;
    }
    let virtual_machine =
        data.run.machine.cpu.hypervisor.as_ref().map(|name| format!("this is a virtual machine ({name})"));
    let disturbed = [emulated(data), others(data), interference(data), stolen(data), throttled(data), virtual_machine];
    let disturbed = joined(disturbed, "; ").map(|parts| format!("{}. ", capitalized(&parts))).unwrap_or_default();
    let shared = another_run::sentence(&data.run.shared);
    let rough = data.rows.iter().filter(|row| State::of(row) == State::Rough).count();
    let rough = match rough {
        0 => String::new(),
        rough => {
            let more = if resolved > 0 { " others" } else { "" };
            format!("; {}{more} {} rough (~)", grouped(rough), if rough == 1 { "is" } else { "are" })
        }
    };
    let imported = data.rows.iter().filter(|row| matches!(row.verdict, Verdict::Imported(_))).count();
    let said = |count, noun, what: &str| {
        let (share, is_singular) = figure::share(count, existing, noun);
        format!("{} {} {what}", capitalized(&share), if is_singular { "is" } else { "are" })
    };
    let known = match imported {
        0 => format!("{disturbed}{}{rough}.", said(resolved, "cost", "resolved")),
        _ => said(imported, "figure", "imported, without intervals."),
    };
    let history = history(data);
    let shared = (!shared.is_empty()).then(|| {
        format!(
            "The ± of each CPU row includes run-to-run shifts that all rows of its kind share: {shared}. \
                          {history}."
        )
    });
    let states = data.run.fingerprint.as_ref().and_then(Fingerprint::sentence);
    let states = states.map(|states| format!("The machine changed state: {states}."));
    joined([Some(known), states, shared], " ")
}

/// Says what the half-widths of rows measured by several processes are based on.
fn history(data: &RunData) -> String {
    let (run, joined) = (&data.run, data.rows.iter().filter_map(|row| row.runs).max().filter(|runs| *runs > 1));
    let is_guest = !guests::usual(&run.machine).is_empty();
    match run.between_runs.iter().map(|between| between.runs).max() {
        // Joined runs follow each other, so they differ by less than the next run will.
        _ if let Some(runs) = joined => {
            let others = if is_guest { " and on run-to-run variation on other virtual machines" } else { "" };
            format!("The ± is based on the {runs} runs combined here{others}")
        }
        Some(runs) => format!("The ± is based on {runs} runs of this machine"),
        None if !is_guest => "The ± covers only the processes of this run; runs may differ more".to_owned(),
        None => {
            "The ± of a first run is wide because it allows for run-to-run variation seen on other virtual machines; \
                 `syncscope run --repeat 3` measures the variation on this one"
                .to_owned()
        }
    }
}

fn emulated(data: &RunData) -> Option<String> {
    let emulator = data.run.environment.emulator.as_ref();
    emulator.map(|name| format!("every instruction was emulated ({name}), so timings are meaningless"))
}

/// The share of CPU time that other programs used, if the run warns of it; if the share is unknown, the load at the start.
fn others(data: &RunData) -> Option<String> {
    match share_of_time(data, |session| session.others_share) {
        Some(share) => (share > SessionRecord::largest_share_of_others(cpus(data)))
            .then(|| format!("other programs used {:.0} % of the CPU time", 100.0 * share)),
        None => load(data),
    }
}

fn load(data: &RunData) -> Option<String> {
    // The load covers the whole machine, however few of its CPUs the run might use.
    let cpus = data.run.machine.cpu.hardware_threads as usize;
    let load = data.run.environment.load.filter(|load| cpus > 0 && Environment::is_high_load(*load, cpus))?;
    Some(format!("other programs were running (load {load:.2} on {})", plural(cpus, "CPU")))
}

/// The number of CPUs that the run might use.
pub(crate) fn cpus(data: &RunData) -> usize {
    list_length(&data.run.environment.allowed_cpus).unwrap_or(data.run.machine.cpu.hardware_threads as usize)
}

/// Other work on the same cores, if the run warns of it.
fn interference(data: &RunData) -> Option<String> {
    let share = frequent_smt_interference(&data.rows)?;
    Some(format!(
        "another hardware thread was active on the measured core in {:.0} % of the single-thread samples",
        100.0 * share
    ))
}

/// The share of time that the hypervisor took over all processes of the run, if it is large enough to warn of.
fn stolen(data: &RunData) -> Option<String> {
    let share = share_of_time(data, |session| Some(session.stolen.as_ref()?.share))?;
    (share > StolenTime::LARGEST_SHARE).then(|| format!("the hypervisor took {:.1} % of the CPU time", 100.0 * share))
}

/// What quotas took, as [`stolen`].
fn throttled(data: &RunData) -> Option<String> {
    let share = share_of_time(data, |session| session.throttled_share(cpus(data)))?;
    (share > StolenTime::LARGEST_SHARE)
        .then(|| format!("a CPU quota stopped the run's control group for {:.1} % of the CPU time", 100.0 * share))
}

/// A share of the CPUs' time over all processes of the run.
fn share_of_time(data: &RunData, of: impl Fn(&SessionRecord) -> Option<f64>) -> Option<f64> {
    let sessions = data.run.sessions.iter();
    let known: Vec<(f64, f64)> = sessions.filter_map(|session| Some((session.seconds, of(session)?))).collect();
    let seconds: f64 = known.iter().map(|(seconds, _)| seconds).sum();
    let share = known.iter().map(|(seconds, share)| seconds * share).sum::<f64>() / seconds;
    share.is_finite().then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::questions::testing::{case, data, row};
    use syncscope_core::{Detail, Row};

    #[test]
    fn what_disturbed_the_run_is_said_before_what_is_known() {
        let alone = Row { pairs: Some(200), ..row(case("cpu.atomic.add", 1), 10.0, 0.1) };
        let skipped = Row::unmeasured(case("cpu.lock.mcs", 1), Verdict::Skipped("none".into()));
        let noisy = Row { verdict: Verdict::Noisy("wide".into()), ..row(case("cpu.atomic.add", 8), 10.0, 0.5) };
        let mut data = data(vec![alone, noisy, skipped]);
        assert_eq!(trust(&data).unwrap(), "1 of 2 costs is resolved.");
        data.run.machine.cpu.hypervisor = Some("KVM".into());
        let session = |seconds, share| SessionRecord {
            seconds,
            stolen: Some(StolenTime { share, ..StolenTime::default() }),
            ..SessionRecord::default()
        };
        data.run.sessions = vec![session(30.0, 0.008), session(10.0, 0.0)];
        assert_eq!(trust(&data).unwrap(), "This is a virtual machine (KVM). 1 of 2 costs is resolved.");
        data.run.sessions = vec![session(30.0, 0.02), session(10.0, 0.0)];
        let start = "The hypervisor took 1.5 % of the CPU time; this is a virtual machine (KVM). 1 of 2";
        assert!(trust(&data).unwrap().starts_with(start), "{:?}", trust(&data));
        data.run.sessions[0].throttled_seconds = Some(72.0);
        let quota = "a CPU quota stopped the run's control group for 15.0 % of the CPU time; this is a virtual machine";
        assert!(trust(&data).unwrap().contains(quota), "{:?}", trust(&data));
        data.run.sessions[0].throttled_seconds = None;
        // Joined runs keep the details of the first run and the columns of all.
        data.details.insert(data.rows[0].case.id(), vec![Detail::of_case(Detail::SMT_INTERFERENCE, 0.9)]);
        data.rows[0].beside_share = Some(0.8);
        // The share is unknown for a row without a cost, whose pairs were all disturbed.
        let disturbed = Verdict::Interfered("200 of 200 pairs excluded".into());
        data.rows.push(Row { excluded: Some(200), ..Row::unmeasured(case("cpu.wait.pause", 1), disturbed) });
        data.run.environment.allowed_cpus = "0-3".into();
        data.run.machine.cpu.hardware_threads = 8;
        data.run.environment.load = Some(18.03);
        let start = "Other programs were running (load 18.03 on 8 CPUs); another hardware thread was active on the \
                     measured core in 80 % of the single-thread samples; the hypervisor took";
        assert!(trust(&data).unwrap().starts_with(start), "{:?}", trust(&data));
        data.run.sessions[0].others_share = Some(0.25);
        assert!(trust(&data).unwrap().starts_with("Other programs used 25 % of the CPU time; another hardware"));
        data.run.sessions[0].others_share = Some(0.01);
        assert!(trust(&data).unwrap().starts_with("Another hardware thread was"), "the load is from before the run");
        data.run.environment.allowed_cpus = "0-63".into();
        let loop_of_one_cpu = "Other programs used 1 % of the CPU time";
        assert!(trust(&data).unwrap().starts_with(loop_of_one_cpu), "{:?}", trust(&data));
        data.run.environment.emulator = Some("QEMU TCG".into());
        assert!(trust(&data).unwrap().starts_with("Every instruction was emulated (QEMU TCG)"), "{:?}", trust(&data));
    }

    #[test]
    fn joined_runs_are_not_called_a_first_run() {
        let said = |runs, hypervisor: Option<&str>| {
            let mut data = data(vec![Row { runs, ..row(case("cpu.atomic.add", 1), 10.0, 0.1) }]);
            data.run.machine.cpu.hypervisor = hypervisor.map(Into::into);
            data.run.machine.cpu.architecture = "x86_64".to_owned();
            history(&data)
        };
        assert!(said(None, Some("KVM")).starts_with("The ± of a first run is wide"), "{}", said(None, Some("KVM")));
        let guests = "The ± is based on the 3 runs combined here and on run-to-run variation on other virtual machines";
        assert_eq!(said(Some(3), Some("KVM")), guests);
        assert_eq!(said(Some(3), None), "The ± is based on the 3 runs combined here");
    }

    #[test]
    fn a_run_without_cases_says_nothing() {
        assert_eq!(trust(&data(vec![])), None);
    }
}
