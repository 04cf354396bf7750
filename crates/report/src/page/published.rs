//! Sections of the experiments that directories hold. Their content is made by those who know the experiments.

use super::html::escape;
use crate::RunData;
use crate::section::{self, Section};

/// The sections of all experiments that these directories hold.
pub(super) fn sections(runs: &[RunData], labels: &[String]) -> String {
    let of_runs: Vec<&[Section]> = runs.iter().map(|data| data.sections.as_slice()).collect();
    let mut names: Vec<&str> = of_runs.iter().copied().flatten().map(|section| section.name).collect();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    let of_name = |name: &str| {
        let own = of_runs.iter().map(|sections| sections.iter().find(|section| section.name == name));
        let Section { title, lead, .. } = own.clone().flatten().next()?;
        let drawn =
            labels.iter().zip(own).filter_map(|(label, own)| Some((label.as_str(), section::html(&own?.parts))));
        let drawn: Vec<(&str, String)> = drawn.collect();
        Some(section::of_runs(name, &escape(title), &escape(lead), &drawn, runs.len() > 1))
    };
    names.into_iter().filter_map(of_name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::Part;
    use crate::testing;

    fn run(section: Option<&str>) -> RunData {
        let section = section.map(|html| Section {
            name: "one",
            title: "A < B",
            lead: "lead",
            answers: Vec::new(),
            parts: vec![Part::paragraph(html)],
            claims: Vec::new(),
        });
        RunData { sections: section.into_iter().collect(), ..testing::data(Vec::new()) }
    }

    #[test]
    fn a_run_without_experiments_has_no_section() {
        assert_eq!(sections(&[run(None)], &["a".to_owned()]), "");
    }

    #[test]
    fn each_experiment_has_one_section_and_names_runs_only_where_there_are_several() {
        let labels = ["x & y".to_owned(), "none".to_owned(), "z".to_owned()];
        let runs = [run(Some("[one]")), run(None), run(Some("[two]"))];
        let html = sections(&runs, &labels);
        assert_eq!((html.matches("<section").count(), html.matches("<h3").count()), (1, 2), "{html}");
        assert!(
            html.contains("A &lt; B") && html.contains("x &amp; y</h3><p>[one]") && html.contains("z</h3><p>[two]")
        );
        let single = sections(&runs[..1], &labels[..1]);
        assert!(single.contains("[one]") && !single.contains("<h3"), "{single}");
    }
}
