//! The index page over many runs: who measured what, what each rung of the cost ladder costs on each machine, and a chart
//! for each level. One file without scripts, in the style sheets of the reports.
//!
//! - `machine`: the runs, and the machines as columns, with the colour and the shape of their dots
//! - `rung`: what a rung costs on each machine, and where the cheapest is certain
//! - `tables`: the table of runs and the table of rungs
//! - `chart`: all machines as dots on one axis

mod chart;
mod machine;
mod rung;
mod tables;

use crate::RunData;
use crate::page::{self, html::escape};

const TEMPLATE: &str = include_str!("../../assets/gallery.html");
const STYLE: &str = include_str!("../../assets/css/gallery.css");

/// A run in the gallery.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The run.
    pub data: RunData,
    /// The address of its own page, relative to the gallery; `None` where there is none.
    pub page: Option<String>,
}

/// The page.
#[must_use]
pub fn render(entries: &[Entry], title: Option<&str>) -> String {
    let machines = machine::machines(entries);
    let columns = machine::columns(&machines);
    let lines = rung::lines(&columns);
    let default = match entries.len() {
        1 => "syncscope: one run".to_owned(),
        count => format!("syncscope: {count} runs"),
    };
    let title = title.unwrap_or(&default);
    page::fill(TEMPLATE, |placeholder| match placeholder {
        "title" => escape(title),
        "style" => [&page::styles(), STYLE].concat(),
        "runs" => tables::runs(&machines),
        "keys" => tables::keys(&columns),
        "rungs" => tables::rungs(&columns, &lines),
        "charts" => chart::charts(&columns, &lines),
        // A test checks that the template has no other placeholder.
        unknown => format!("<!-- unknown placeholder: {unknown} -->"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::stats::Interval;
    use syncscope_core::{Case, Nanoseconds, Row, Verdict};

    pub(super) fn with_rows(name: &str, rows: Vec<Row>) -> Entry {
        let mut data = crate::testing::data(rows);
        name.clone_into(&mut data.name);
        // Another model for each name: another machine.
        data.run.machine.cpu.model = format!("model {name}");
        Entry { data, page: None }
    }

    fn add(ns: f64) -> Row {
        Row {
            ns: Some(Nanoseconds(ns)),
            ns_interval: Some(Interval { low: ns * 0.98, high: ns * 1.02 }),
            ns_within: Some(Interval { low: ns * 0.98, high: ns * 1.02 }),
            ..Row::unmeasured(Case { threads: Some(1), ..Case::new("cpu.atomic.add") }, Verdict::Resolved)
        }
    }

    fn imported(name: &str, ns: f64) -> Entry {
        let mut entry = with_rows(name, vec![Row { ns_interval: None, ns_within: None, ..add(ns) }]);
        "imported".clone_into(&mut entry.data.run.preset);
        entry
    }

    /// The page behind its style sheets, which name the classes, too.
    fn page(entries: &[Entry]) -> String {
        let html = render(entries, None);
        assert!(!html.contains("unknown placeholder") && !html.contains("{{"), "every placeholder is filled");
        assert!(
            !html.contains("<script") && !html.contains("http:") && !html.contains("https:"),
            "nothing runs, nothing is loaded"
        );
        assert!(!html.contains("NaN") && !html.contains("inf\""), "every number is one");
        for tag in ["table", "tr", "td", "svg", "figure", "section", "g"] {
            let opened = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        html.split("</style>").nth(1).unwrap().to_owned()
    }

    #[test]
    fn one_run_has_no_cheapest_and_a_chart() {
        let html = page(&[with_rows("alone", vec![add(10.0)])]);
        assert!(
            html.contains("<p class=\"meta\">syncscope: one run</p>")
                && html.contains("1 of 1")
                && html.contains("<svg class=\"chart\"")
        );
        assert!(!html.contains(">cheapest<"));
    }

    #[test]
    fn a_level_of_many_rungs_has_several_cards_with_one_axis() {
        let named = |id: &str, blocks, threads, ns| {
            let case = Case { blocks: Some(blocks), threads: Some(threads), ..Case::new(id) };
            Row { case, ..add(ns) }
        };
        let mut rows = vec![named("gpu.fence.device", 1, 32, 500.0)];
        rows.extend(
            ["counter", "cooperative", "lock_free"].map(|name| named(&format!("gpu.grid.{name}"), 132, 32, 900.0)),
        );
        rows.extend(["graph", "stream"].map(|name| named(&format!("gpu.launch.{name}"), 1, 32, 1500.0)));
        let html = page(&[with_rows("gpu", rows)]);
        assert!(html.contains("<h3>Device</h3>") && html.contains("<h3>Device, continued</h3>"), "{html}");
        let labels = |card: &str| -> Vec<String> {
            let texts = card.split("text-anchor").skip(1);
            texts.map(|text| text.split(['>', '<']).nth(1).unwrap().to_owned()).collect()
        };
        let cards: Vec<&str> = html.split("<figure").skip(1).collect();
        assert_eq!((cards.len(), labels(cards[0])), (2, labels(cards[1])));
    }

    #[test]
    fn thirteen_runs_have_thirteen_dots_that_differ() {
        let entries: Vec<Entry> =
            (0..13).map(|at| with_rows(&format!("machine{at}"), vec![add(10.0 + 5.0 * f64::from(at))])).collect();
        let html = page(&entries);
        assert_eq!(html.matches(">cheapest<").count(), 1);
        let keys = html.split("gallery-keys").nth(1).unwrap().split("</ul>").next().unwrap();
        let drawn: std::collections::HashSet<&str> =
            keys.split("<svg").skip(1).map(|key| key.split("</svg>").next().unwrap()).collect();
        assert_eq!(drawn.len(), 13, "colour and shape are those of one machine");
        assert_eq!(html.matches("<g class=\"series\"").count(), 13);
    }

    #[test]
    fn imported_runs_are_grey_and_have_no_interval() {
        let html = page(&[
            imported("published", 1.0),
            with_rows("mine", vec![add(10.0)]),
            with_rows("other", vec![add(20.0)]),
        ]);
        let series: Vec<&str> = html.split("<g class=\"series\"").skip(1).collect();
        let grey: Vec<&&str> = series.iter().filter(|one| one.contains("--c: var(--muted)")).collect();
        assert_eq!((series.len(), grey.len()), (3, 1));
        assert!(!grey[0].split("</g>").next().unwrap().contains("whisker"), "no interval is invented");
        assert!(html.contains("figures of others, without intervals"));
        let row = html.split("Atomic add, alone</th>").nth(1).unwrap().split("</tr>").next().unwrap();
        let cells: Vec<&str> = row.split("<td").skip(1).collect();
        assert!(cells[0].contains(">cheapest<") && cells[2].contains("published-column"), "measured first: {row}");
    }

    #[test]
    fn hostile_names_stay_text() {
        let evil = "\"><img src=x onerror=alert(1)>";
        let mut entry = with_rows(evil, vec![add(10.0)]);
        evil.clone_into(&mut entry.data.run.machine.cpu.model);
        evil.clone_into(&mut entry.data.run.started);
        evil.clone_into(&mut entry.data.run.preset);
        entry.page = Some("a\"b".to_owned());
        let odd = Row {
            case: Case { threads: Some(1), ..Case::new("cpu.atomic.add") },
            verdict: Verdict::Failed(evil.into()),
            ..add(1.0)
        };
        let html = render(&[entry, with_rows(evil, vec![odd])], Some(evil));
        assert!(!html.contains("<img") && html.contains("&lt;img src=x"), "text, not markup");
        assert!(html.contains("href=\"a&quot;b\""));
    }

    fn table(html: &str) -> &str {
        html.split("rungs-table").nth(1).unwrap().split("</table>").next().unwrap()
    }

    #[test]
    fn runs_without_rungs_have_a_line_and_no_column() {
        let mut experiment = with_rows("check", vec![]);
        "crosscheck".clone_into(&mut experiment.data.run.preset);
        let html = page(&[experiment.clone(), with_rows("run", vec![add(10.0)])]);
        assert!(html.contains("published experiment: crosscheck"));
        assert_eq!(table(&html).matches("scope=\"col\"").count(), 2, "one operation, run");
        assert!(page(&[experiment]).contains("None of these runs has a row"));
    }

    #[test]
    fn folders_of_one_name_are_told_apart_and_pages_are_linked() {
        let mut first = with_rows("run", vec![add(10.0)]);
        first.page = Some("run/report.html".to_owned());
        let html = page(&[first, with_rows("run", vec![add(20.0)])]);
        assert!(html.contains("<a href=\"run/report.html\">run</a>") && html.contains(">run (2)<"), "{html}");
    }
}
