//! Sections of published experiments: headings, tables and pictures made here, which need no script.
//!
//! Each experiment has a file of its own with a function that draws what one directory holds of it, and a line in
//! [`EXPERIMENTS`]. [`svg`] has the parts of pictures, [`parts`] those of text and tables.

mod asynchrony;
mod crosscheck;
pub(crate) mod parts;
pub(super) mod svg;
mod timeline;

use std::fmt::Write;

use super::html::escape;
use crate::RunData;

/// How the page shows an experiment.
struct Drawing {
    /// The identity of its section.
    id: &'static str,
    /// The heading of its section.
    title: &'static str,
    /// What the experiment does, and whose it is: one or two sentences.
    lead: &'static str,
    /// Draws what a directory holds of it; `None` if it holds nothing of it.
    draw: fn(&RunData) -> Option<String>,
}

/// In the order of the page.
const EXPERIMENTS: &[Drawing] = &[crosscheck::DRAWING, asynchrony::DRAWING, timeline::DRAWING, REDUCTIONS];

/// What a run says about its reductions, by its ordinary rows.
const REDUCTIONS: Drawing = Drawing {
    id: "reductions",
    title: "Reductions: do primitive costs say which synchronization to choose?",
    lead: "Reductions of one vector, compared by the costs of the primitives they are made of. Burtchell and Burtscher, \
           Characterizing CUDA and OpenMP synchronization primitives, listing 1; Zhang, Wahib and Matsuoka, A Study of \
           Synchronization Methods in Modern GPUs.",
    draw: |data| crate::reductions::section(&data.rows),
};

/// The sections of all experiments that these directories hold.
pub(super) fn sections(runs: &[RunData], labels: &[String]) -> String {
    EXPERIMENTS.iter().filter_map(|drawing| section(drawing, runs, labels)).collect()
}

fn section(Drawing { id, title, lead, draw }: &Drawing, runs: &[RunData], labels: &[String]) -> Option<String> {
    let drawn: Vec<(&str, String)> =
        runs.iter().zip(labels).filter_map(|(data, label)| Some((label.as_str(), draw(data)?))).collect();
    if drawn.is_empty() {
        return None;
    }
    let mut html = format!(
        "<section class=\"published\" id=\"{id}\" aria-labelledby=\"{id}-title\">\
         <h2 id=\"{id}-title\">{}</h2><p class=\"lead\">{}</p>",
        escape(title),
        escape(lead)
    );
    for (label, body) in &drawn {
        if runs.len() > 1 {
            // Writing to a String cannot fail.
            let _ = write!(html, "<h3 class=\"published-run\">{}</h3>", escape(label));
        }
        html.push_str(body);
    }
    html.push_str("</section>\n");
    Some(html)
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;
    use crate::testing;
    use syncscope_core::Published;

    fn empty(name: &str) -> RunData {
        let (run, rows, details) = (testing::run(), Vec::new(), HashMap::new());
        RunData {
            name: name.to_owned(),
            run,
            rows,
            details,
            published: Published::default(),
            damage: crate::Damage::default(),
            catalogue: testing::catalogue(),
        }
    }

    #[test]
    fn a_run_without_experiments_has_no_section() {
        assert_eq!(sections(&[empty("a")], &["a".to_owned()]), "");
    }

    #[test]
    fn each_experiment_has_one_section_and_names_runs_only_where_there_are_several() {
        let drawing = Drawing {
            id: "a",
            title: "A < B",
            lead: "lead",
            draw: |data| (data.name != "none").then(|| format!("[{}]", data.name)),
        };
        let labels = ["x & y".to_owned(), "none".to_owned(), "z".to_owned()];
        let runs = [empty("one"), empty("none"), empty("two")];
        let html = section(&drawing, &runs, &labels).unwrap();
        assert_eq!((html.matches("<section").count(), html.matches("<h3").count()), (1, 2), "{html}");
        assert!(html.contains("A &lt; B") && html.contains("x &amp; y</h3>[one]") && html.contains("z</h3>[two]"));
        let single = section(&drawing, &runs[..1], &labels[..1]).unwrap();
        assert!(single.contains("[one]") && !single.contains("<h3"), "{single}");
        assert_eq!(section(&drawing, &runs[1..2], &labels[1..2]), None);
    }

    #[test]
    fn experiments_are_drawn_once() {
        let names: HashSet<&str> = EXPERIMENTS.iter().map(|drawing| drawing.id).collect();
        assert_eq!(names.len(), EXPERIMENTS.len());
    }
}
