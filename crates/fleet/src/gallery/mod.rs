//! The index page over many runs: what each rung of the cost ladder costs on which machine, what each machine has, and
//! who measured what. The page is one file that uses the reports' style sheets. Its script searches, filters and saves
//! pictures; all tables are there without scripts too.
//!
//! - `alike`: whether a machine differs from others of its model
//! - `machine`: the runs, and the machines with their runs
//! - `rung`: what a rung costs on each machine, and where the cheapest is certain
//! - `tables`: the tables of operations, of machines and of runs

mod alike;
mod machine;
mod rung;
mod tables;

use syncscope_report::RunData;
use syncscope_report::page;

const TEMPLATE: &str = include_str!("../../assets/gallery.html");
const STYLE: &str = include_str!("../../assets/gallery.css");

/// The page's script, joined with the report's scripts that make elements and save pictures.
const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/gallery.js"));

/// A run in the gallery.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The run.
    pub data: RunData,
    /// The address of the run's own page, relative to the gallery, if there is one.
    pub page: Option<String>,
    /// Whether the run belongs to the person who makes the page.
    pub is_own: bool,
}

/// Renders the page.
pub fn render(entries: &[Entry], title: Option<&str>) -> String {
    let machines = machine::machines(entries);
    let columns = machine::columns(&machines);
    let lines = rung::lines(&columns);
    let default = match entries.len() {
        1 => "syncscope: one run".to_owned(),
        count => format!("syncscope: {count} runs"),
    };
    let title = title.unwrap_or(&default);
    page::document(TEMPLATE, title, STYLE, |placeholder| match placeholder {
        "runs" => Some(tables::runs(&machines)),
        "operations" => Some(tables::operations(&columns, &lines)),
        "machines" => Some(tables::machines(&columns, &lines)),
        "script" => Some(SCRIPT.to_owned()),
        _ => None,
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
        // Another model for each name makes another machine.
        data.run.machine.cpu.model = format!("model {name}");
        Entry { data, page: None, is_own: false }
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

    /// The page after its style sheets, which also name the classes.
    fn page(entries: &[Entry]) -> String {
        let html = render(entries, None);
        assert!(!html.contains("unknown placeholder") && !html.contains("{{"), "every placeholder is filled");
        let (html, script) = html.split_once("<script>").unwrap();
        assert!(!script.contains("innerHTML") && script.matches("<script").count() == 0);
        assert!(!html.contains("http:") && !html.contains("https:"), "nothing is loaded");
        assert!(!html.contains("NaN") && !html.contains("inf\""), "every number is one");
        for tag in ["table", "tr", "td", "details", "section", "ul"] {
            let opened = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        html.split("</style>").nth(1).unwrap().to_owned()
    }

    #[test]
    fn one_run_has_no_cheapest_and_a_dot() {
        let html = page(&[with_rows("alone", vec![add(10.0)])]);
        assert!(html.contains("<p class=\"meta\">syncscope: one run</p>") && html.contains("1 of 1"));
        assert_eq!(
            (html.matches("class=\"dot\"").count(), html.matches(">cheapest<").count()),
            (2, 0),
            "folded and open"
        );
    }

    #[test]
    fn an_operation_begins_with_the_cheapest_machine_and_each_has_an_address() {
        let costs = [30.0, 10.0, 20.0];
        let entries: Vec<Entry> = costs.iter().map(|ns| with_rows(&ns.to_string(), vec![add(*ns)])).collect();
        let html = page(&entries);
        let machines: Vec<&str> =
            html.split("data-machine=\"").skip(1).map(|row| row.split('"').next().unwrap()).collect();
        let address = |ns: &str| format!("machine-model-{ns}");
        assert_eq!(machines.len(), 3);
        assert!(machines.iter().zip(["10", "20", "30"]).all(|(id, ns)| id.starts_with(&address(ns))), "{machines:?}");
        assert!(machines.iter().all(|id| html.contains(&format!("<details class=\"machine\" id=\"{id}\""))));
        assert!(html.contains("id=\"core.add\"") && html.contains("<td>2 of 3</td>"), "{html}");
        assert_eq!(html.matches(">cheapest<").count(), 1);
    }

    #[test]
    fn ones_own_machine_is_marked_with_its_place() {
        let mine = Entry { is_own: true, ..with_rows("mine", vec![add(20.0)]) };
        let html =
            page(&[with_rows("other", vec![add(10.0)]), mine, imported("published", 5.0)]).replace('\u{a0}', " ");
        let (operation, _) = html.split_once("</details>").unwrap();
        assert!(operation.contains("from 10.0 ns, model other; yours 20.0 ns, 3 of 3"), "{operation}");
        let rows: Vec<&str> = operation.split("<tr data-machine=").filter(|row| row.contains(">yours<")).collect();
        assert!(rows.len() == 1 && rows[0].contains("model mine"), "{rows:?}");
        let (summary, _) = operation.split_once("</summary>").unwrap();
        let marks = ["\"dot\"", "\"dot theirs\"", "\"dot yours\""].map(|class| summary.matches(class).count());
        assert_eq!(marks, [1, 1, 1]);
    }

    #[test]
    fn what_machines_are_filtered_by_is_of_their_parts() {
        let mut entry = with_rows("x", vec![add(10.0)]);
        entry.data.run.machine.cpu.model = "Dual Intel Xeon Gold 6242 (Cascade Lake)".to_owned();
        entry.data.run.machine.cpu.cores = 32;
        let html = page(&[entry]);
        assert!(html.contains("data-vendor=\"Intel\" data-generation=\"Cascade Lake\" data-cores=\"32\""), "{html}");
    }

    #[test]
    fn imported_runs_are_grey_and_have_no_interval() {
        let html = page(&[
            imported("published", 1.0),
            with_rows("mine", vec![add(10.0)]),
            with_rows("other", vec![add(20.0)]),
        ]);
        let rows: Vec<&str> = html.split("<tr data-machine=").skip(1).collect();
        let grey: Vec<&&str> = rows.iter().filter(|row| row.contains("class=\"published\"")).collect();
        assert_eq!((rows.len(), grey.len()), (3, 1));
        assert!(!grey[0].split("</tr>").next().unwrap().contains("whisker"), "no interval is invented");
        assert!(html.contains("figures of others, without intervals"));
        assert!(rows[1].contains(">cheapest<"), "published figures take no part: {rows:?}");
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

    #[test]
    fn runs_without_rungs_have_a_line_and_no_column() {
        let mut experiment = with_rows("check", vec![]);
        "crosscheck".clone_into(&mut experiment.data.run.preset);
        let html = page(&[experiment.clone(), with_rows("run", vec![add(10.0)])]);
        assert!(html.contains("published experiment: crosscheck"));
        assert_eq!(html.matches("<details class=\"machine\"").count(), 1, "one of two");
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
