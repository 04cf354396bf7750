//! How far to trust a run, in one line.

use syncscope_core::run::another_run;
use syncscope_core::run::machine::Environment;
use syncscope_core::run::provenance::StolenTime;
use syncscope_core::run::smt_interference::frequent_share;
use syncscope_core::{Row, Verdict};

use crate::RunData;
use crate::analysis::matrix::list_length;
use crate::figure::grouped;

/// What certainly disturbed the run, the most harmful first; then the share of resolved cases, and what
/// may have disturbed it. `None` without a case that can be measured here.
pub(crate) fn trust(data: &RunData) -> Option<String> {
    let exists = |row: &&Row| !matches!(row.verdict, Verdict::Skipped(_) | Verdict::Elided(_));
    let existing = data.rows.iter().filter(exists).count();
    let resolved = data.rows.iter().filter(|row| row.verdict == Verdict::Resolved).count();
    if existing == 0 {
        return None;
    }
    let share = share_of(resolved, existing);
    let which = if existing < data.rows.len() { " that can be measured here" } else { "" };
    let parts = [
        data.run
            .environment
            .emulator
            .as_ref()
            .map(|name| format!("not at all: every instruction was emulated ({name})")),
        load(data),
        interference(data),
        stolen(data, true),
        Some(format!("{share} of the {} cases{which} are resolved", grouped(existing))),
        data.run.machine.cpu.hypervisor.as_ref().map(|name| format!("the machine is virtual ({name})")),
        stolen(data, false),
        awake(data),
    ];
    let trust = format!("How far to trust it: {}.", parts.into_iter().flatten().collect::<Vec<_>>().join("; "));
    let shared = another_run::sentence(&data.run.shared);
    Some(if shared.is_empty() { trust } else { format!("{trust} Another run may shift all rows at once: {shared}.") })
}

/// `45 %`. Not all is not written as 100 %, and some not as 0 %.
fn share_of(part: usize, whole: usize) -> String {
    let percent = 100.0 * part as f64 / whole as f64;
    match part {
        0 => "0 %".to_owned(),
        _ if percent < 0.5 => "less than 1 %".to_owned(),
        _ if part < whole && percent >= 99.5 => "more than 99 %".to_owned(),
        _ => format!("{percent:.0} %"),
    }
}

/// Other programs at the start, where the run warns of them.
fn load(data: &RunData) -> Option<String> {
    let environment = &data.run.environment;
    let cpus = list_length(&environment.allowed_cpus).unwrap_or(data.run.machine.cpu.hardware_threads as usize);
    let load = environment.load.filter(|load| cpus > 0 && Environment::is_high_load(*load, cpus))?;
    let plural = if cpus == 1 { "" } else { "s" };
    Some(format!("other programs were running (load {load:.2} on {cpus} CPU{plural})"))
}

/// Work of others on the same cores, where the run warns of it.
fn interference(data: &RunData) -> Option<String> {
    let share = frequent_share(&data.rows, &data.details)?;
    Some(format!("another hardware thread of the core was active in {:.0} % of the pairs of one thread", 100.0 * share))
}

/// What the hypervisor took, over all processes of the run: more than a run warns of, or less.
fn stolen(data: &RunData, is_harmful: bool) -> Option<String> {
    let sessions = data.run.sessions.iter();
    let known: Vec<(f64, f64)> =
        sessions.filter_map(|session| Some((session.seconds, session.stolen.as_ref()?.share))).collect();
    let seconds: f64 = known.iter().map(|(seconds, _)| seconds).sum();
    let share = known.iter().map(|(seconds, share)| seconds * share).sum::<f64>() / seconds;
    let is_meant = share.is_finite() && (share > StolenTime::LARGEST_SHARE) == is_harmful;
    is_meant.then(|| match 100.0 * share {
        ..0.05 => "the hypervisor took less than 0.1 % of the CPUs' time".to_owned(),
        percent => format!("the hypervisor took {percent:.1} % of the CPUs' time"),
    })
}

fn awake(data: &RunData) -> Option<String> {
    let are_awake = data.run.environment.kept_cpus_awake()?;
    Some(if are_awake { "idle CPUs were kept awake" } else { "idle CPUs could sleep" }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::questions::testing::{case, data, row};
    use syncscope_core::Detail;
    use syncscope_core::run::provenance::SessionRecord;

    #[test]
    fn what_is_known_of_the_run_is_said() {
        let add = |threads, share| row(case("cpu.atomic.add", threads), 10.0, share);
        let skipped = Row::unmeasured(case("cpu.lock.mcs", 1), Verdict::Skipped("none".into()));
        let noisy = Row { verdict: Verdict::Noisy("wide".into()), ..add(8, 0.5) };
        let mut data = data(vec![add(1, 0.1), add(2, 0.17), add(4, 0.2), noisy, skipped]);
        assert_eq!(
            trust(&data).unwrap(),
            "How far to trust it: 75 % of the 4 cases that can be measured here are resolved."
        );
        data.run.machine.cpu.hypervisor = Some("KVM".into());
        data.run.environment.keep_awake = Some("off (no trial: 16 CPUs, more than 8)".into());
        let session = |seconds, share| SessionRecord {
            seconds,
            stolen: Some(StolenTime { share, ..StolenTime::default() }),
            ..SessionRecord::default()
        };
        data.run.sessions = vec![session(30.0, 0.02), session(10.0, 0.0)];
        let text = trust(&data).unwrap();
        let start = "How far to trust it: the hypervisor took 1.5 % of the CPUs' time; 75 % of the 4 cases";
        assert!(
            text.starts_with(start) && text.ends_with("; the machine is virtual (KVM); idle CPUs could sleep."),
            "{text}"
        );
        data.run.sessions = vec![session(30.0, 0.008), session(10.0, 0.0)];
        let end = "; the machine is virtual (KVM); the hypervisor took 0.6 % of the CPUs' time; idle CPUs could sleep.";
        assert!(trust(&data).unwrap().ends_with(end), "{:?}", trust(&data));
        data.run.environment.emulator = Some("QEMU TCG".into());
        let text = trust(&data).unwrap();
        assert!(
            text.starts_with("How far to trust it: not at all: every instruction was emulated (QEMU TCG); 75 %"),
            "{text}"
        );
    }

    #[test]
    fn what_disturbed_the_run_most_comes_first() {
        let alone = Row { pairs: Some(200), ..row(case("cpu.atomic.add", 1), 10.0, 0.1) };
        let mut data = data(vec![alone, row(case("cpu.atomic.add", 2), 20.0, 0.1)]);
        data.details.insert(data.rows[0].case.id(), vec![Detail::of_case(Detail::SMT_INTERFERENCE, 0.8)]);
        data.run.environment.allowed_cpus = "0-3".into();
        data.run.environment.load = Some(18.03);
        let start = "How far to trust it: other programs were running (load 18.03 on 4 CPUs); another hardware thread of the core \
                     was active in 80 % of the pairs of one thread; 100 % of the 2 cases are resolved";
        assert!(trust(&data).unwrap().starts_with(start), "{:?}", trust(&data));
        data.run.environment.load = Some(0.9);
        data.details.clear();
        assert!(trust(&data).unwrap().starts_with("How far to trust it: 100 % of"), "{:?}", trust(&data));
    }

    #[test]
    fn shares_are_rounded_and_never_to_all_or_nothing() {
        let texts = [(2, 34), (67, 149), (0, 7), (1, 300), (299, 300), (197, 200), (7, 7)];
        let texts = texts.map(|(part, whole)| share_of(part, whole));
        assert_eq!(texts, ["6 %", "45 %", "0 %", "less than 1 %", "more than 99 %", "98 %", "100 %"]);
    }

    #[test]
    fn a_run_without_cases_says_nothing() {
        assert_eq!(trust(&data(vec![])), None);
    }
}
