//! How far to trust a run, in one line.

use syncscope_core::{Row, Verdict};

use crate::RunData;
use crate::figure::grouped;

/// The share of resolved cases, the width of the intervals to quote, and what may have disturbed the run; `None` without a
/// case that can be measured here.
pub(crate) fn trust(data: &RunData) -> Option<String> {
    let exists = |row: &&Row| !matches!(row.verdict, Verdict::Skipped(_) | Verdict::Elided(_));
    let existing = data.rows.iter().filter(exists).count();
    let resolved = data.rows.iter().filter(|row| row.verdict == Verdict::Resolved).count();
    if existing == 0 {
        return None;
    }
    let share = (100.0 * resolved as f64 / existing as f64).floor();
    let which = if existing < data.rows.len() { " that can be measured here" } else { "" };
    let parts = [
        data.run
            .environment
            .emulator
            .as_ref()
            .map(|name| format!("not at all: every instruction was emulated ({name})")),
        Some(format!("{share:.0} % of the {} cases{which} are resolved", grouped(existing))),
        widths(data),
        data.run.machine.cpu.hypervisor.as_ref().map(|name| format!("the machine is virtual ({name})")),
        stolen(data),
        awake(data),
    ];
    Some(format!("How far to trust it: {}.", parts.into_iter().flatten().collect::<Vec<_>>().join("; ")))
}

/// `the median interval for another run is ±17 % (CPU), ±0.6 % (GPU)`.
fn widths(data: &RunData) -> Option<String> {
    let known: Vec<String> =
        [("cpu", "CPU"), ("gpu", "GPU")].iter().filter_map(|(domain, name)| width(data, domain, name)).collect();
    (!known.is_empty()).then(|| format!("the median interval for another run is {}", known.join(", ")))
}

/// The median half-width of the intervals for another run. Rows of older versions have none.
fn width(data: &RunData, domain: &str, name: &str) -> Option<String> {
    let half_width = |row: &Row| {
        let interval = row.ns_within.and(row.ns_interval)?;
        Some(interval.half_width() / row.ns?.value())
    };
    let rows =
        data.rows.iter().filter(|row| row.verdict == Verdict::Resolved && row.case.domain_and_family().0 == domain);
    let mut widths: Vec<f64> = rows.filter_map(half_width).collect();
    widths.sort_by(f64::total_cmp);
    let median = 100.0 * widths.get(widths.len() / 2)?;
    let digits = usize::from(median < 9.95);
    Some(format!("±{median:.digits$} % ({name})"))
}

/// What the hypervisor took, over all processes of the run.
fn stolen(data: &RunData) -> Option<String> {
    let sessions = data.run.sessions.iter();
    let known: Vec<(f64, f64)> =
        sessions.filter_map(|session| Some((session.seconds, session.stolen.as_ref()?.share))).collect();
    let seconds: f64 = known.iter().map(|(seconds, _)| seconds).sum();
    let share = 100.0 * known.iter().map(|(seconds, share)| seconds * share).sum::<f64>() / seconds;
    share.is_finite().then(|| match share {
        ..0.05 => "the hypervisor took less than 0.1 % of the CPUs' time".to_owned(),
        _ => format!("the hypervisor took {share:.1} % of the CPUs' time"),
    })
}

fn awake(data: &RunData) -> Option<String> {
    let text = data.run.environment.keep_awake.as_deref()?;
    Some(if text.starts_with("off") { "idle CPUs could sleep" } else { "idle CPUs were kept awake" }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{case, data, row};
    use super::*;
    use syncscope_core::run::provenance::{SessionRecord, StolenTime};

    #[test]
    fn what_is_known_of_the_run_is_said() {
        let add = |threads, share| row(case("cpu.atomic.add", threads), 10.0, share);
        let skipped = Row::unmeasured(case("cpu.lock.mcs", 1), Verdict::Skipped("none".into()));
        let noisy = Row { verdict: Verdict::Noisy("wide".into()), ..add(8, 0.5) };
        let mut data = data(vec![add(1, 0.1), add(2, 0.17), add(4, 0.2), noisy, skipped]);
        assert_eq!(
            trust(&data).unwrap(),
            "How far to trust it: 75 % of the 4 cases that can be measured here are resolved; the median interval for another run is ±17 % (CPU)."
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
        let end = "; the machine is virtual (KVM); the hypervisor took 1.5 % of the CPUs' time; idle CPUs could sleep.";
        assert!(text.ends_with(end), "{text}");
        data.run.environment.emulator = Some("QEMU TCG".into());
        let text = trust(&data).unwrap();
        assert!(
            text.starts_with("How far to trust it: not at all: every instruction was emulated (QEMU TCG); 75 %"),
            "{text}"
        );
    }

    #[test]
    fn a_run_without_cases_says_nothing() {
        assert_eq!(trust(&data(vec![])), None);
    }
}
