//! Charts of rows: no mark and no figure hides another.

use syncscope_core::{Case, Group, Placement};
use syncscope_report::RunData;

use super::{DESKTOP, case, exact, run};
use crate::chromium::{number, open_and};

/// How many of the elements `a` and `b` of one chart cover each other, in charts that match `charts`.
const COVERED: &str = "
    const covered = (charts, a, b) => [...page.querySelectorAll(charts)].flatMap((chart) => {
        const [first, second] = [a, b].map((one) => [...chart.querySelectorAll(one)].map((node) => [node, node.getBoundingClientRect()]));
        return first.flatMap(([node, s]) => second.filter(([other, t]) => node !== other && s.width > 0 && t.width > 0
            && s.left < t.right - 1 && t.left < s.right - 1 && s.top < t.bottom - 1 && t.top < s.bottom - 1));
    }).length;";

/// The mark of the second run once covered the mark of the first where their figures were equal.
#[test]
fn equal_figures_of_two_runs_have_two_marks() {
    let rows = ["cpu.atomic.add", "cpu.fence.seq_cst", "cpu.lock.ticket"].map(|name| exact(case(name, 1), 6.0));
    let first = run(rows.to_vec());
    let second = RunData { name: "second".into(), ..first.clone() };
    let script = [
        COVERED,
        "root.dataset.marks = page.querySelectorAll('.ladder .mark path').length;
         root.dataset.covered = covered('.ladder svg.dots', '.mark path', '.mark path');
         root.dataset.names = [...page.querySelectorAll('.ladder .axis-title, #changes th')].map((one) => one.textContent).join('|');",
    ];
    let Some((counts, _)) = open_and(&[first, second], DESKTOP, &script.concat()) else { return };
    assert_eq!((number(&counts, "marks"), number(&counts, "covered")), (6, 0), "{counts:?}");
    assert!(
        counts["names"].contains("|A|B|B/A"),
        "the ladder names the runs as the table of what changed does: {counts:?}"
    );
}

/// A class of pairs has a mark for each pair and one figure, the median pair's.
#[test]
fn a_figure_does_not_stand_on_the_marks_of_its_row() {
    let pair = |at: u32| {
        let placement = Some(Placement::List(vec![0, at]));
        let case = Case { group: Some(Group::named("same_l3")), placement, ..case("cpu.handoff.cas_pingpong", 2) };
        exact(case, 66.0 + 0.1 * f64::from(at))
    };
    let script = [
        COVERED,
        "const seen = [];
         for (const width of [390, 500, 1280, 1920]) {
             frame.width = width;
             await wait(500);
             const chart = '#decide-placement svg.dots';
             root.dataset.figures = page.querySelectorAll(chart + ' .value').length;
             seen.push(covered(chart, '.value', '.mark path'));
         }
         root.dataset.seen = seen.join(' ');",
    ];
    let Some((counts, _)) = open_and(&[run((1..36).map(pair).collect())], DESKTOP, &script.concat()) else { return };
    assert!(number(&counts, "figures") > 0, "{counts:?}");
    assert_eq!(counts["seen"], "0 0 0 0", "{counts:?}");
}
