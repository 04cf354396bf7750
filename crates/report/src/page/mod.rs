//! The HTML page: one file that holds its data, style sheets and scripts and needs no network.
//!
//! Template, style sheets and scripts are in `assets/`, one file per concept. The scripts are ES modules that `build.rs` joins; a new
//! section is a new script that `assets/js/main.js` imports. The scripts in `assets/js/chart` draw all charts, and only they call the chart
//! library. Here, `data` collects the data of the runs, with the description of machine and environment from `facts`; `drawing` draws
//! the machine; `fallback` is the table for browsers without scripts; `findings`, `paper_tables` and `changes` make the sections on
//! published claims, on a paper's tables and on what changed between two runs. Other pages are a [`document`], too.

mod changes;
mod data;
mod drawing;
mod facts;
mod fallback;
mod findings;
mod matrix;
mod paper_tables;
mod run_words;

use std::io::Read as _;

use flate2::read::GzDecoder;

use crate::figure::grouped;
pub use crate::html::escape;
use crate::naming::plural;
use crate::{RunData, run_data, section};

const TEMPLATE: &str = include_str!("../../assets/report.html");
const HEAD: &str = include_str!("../../assets/head.html");

/// The style sheets; like the scripts and the chart library joined and compressed by `build.rs`.
const STYLES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/styles"));

/// Runs before the other scripts, so that it records their errors.
const GUARD: &str = include_str!("../../assets/js/guard.js");

/// Observable Plot with the parts of d3 that it needs: `scripts/bundle-charts` makes it, its licences are with it.
/// The licences ask to be in every copy, so they are in the page.
const CHART_LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/charts"));

/// The scripts, one module after another.
const SCRIPTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scripts"));

/// Returns the page of one run, or of several runs for comparison; with two runs it says what changed from the first to the
/// second. Rows are in the order of the catalogue.
pub fn render(runs: &[RunData]) -> String {
    with_sections(runs, &vec![&[][..]; runs.len()])
}

/// The same page with the sections that experiments left in the directory of each run.
pub fn with_sections(runs: &[RunData], sections: &[&[section::Section]]) -> String {
    let runs: Vec<RunData> = runs.iter().map(RunData::in_order).collect();
    let runs = runs.as_slice();
    let labels = run_data::labels(runs);
    let compared = changes::compared(runs);
    document(TEMPLATE, &title(runs), "", |placeholder| {
        Some(match placeholder {
            "guard" => GUARD.to_owned(),
            "data" => data::json(runs, sections, &labels, compared.as_ref()),
            "fallback" => fallback::tables(runs, &labels),
            "machine" => drawing::drawings(runs, &labels),
            "changes" => changes::section(compared.as_ref(), &labels),
            "published" => section::of_experiments(sections, &labels),
            "paper_tables" => paper_tables::section(runs, &labels),
            "charts" => unpacked(CHART_LIBRARY),
            "findings" => findings::section(runs, &labels),
            "script" => unpacked(SCRIPTS),
            _ => return None,
        })
    })
}

/// Fills a template. The head loads nothing and holds the style sheets of all pages and this page's `style`; `title` is
/// placed wherever the template asks for it, and `content` fills the other placeholders. A template without a script allows
/// none.
pub fn document(template: &str, title: &str, style: &str, content: impl Fn(&str) -> Option<String>) -> String {
    let scripts = if template.contains("<script>") { " script-src 'unsafe-inline';" } else { "" };
    let head = |placeholder: &str| match placeholder {
        "scripts" => scripts.to_owned(),
        "title" => escape(title),
        _ => unpacked(STYLES) + style,
    };
    fill(template, |placeholder| match placeholder {
        "head" => fill(HEAD, head),
        "title" => escape(title),
        // A test checks that templates have no other placeholder.
        other => content(other).unwrap_or_else(|| format!("<!-- unknown placeholder: {other} -->")),
    })
}

/// `1 case`, `2,540 cases`.
fn counted(count: usize, noun: &str) -> String {
    plural(count, noun).replacen(&count.to_string(), &grouped(count), 1)
}

fn unpacked(asset: &[u8]) -> String {
    let mut text = String::new();
    // Unpacking cannot fail: the build packed the asset, and a test unpacks each.
    let _ = GzDecoder::new(asset).read_to_string(&mut text);
    text
}

fn title(runs: &[RunData]) -> String {
    match runs {
        [data] => format!("syncscope: {}", data.measured_parts().join(" + ")),
        _ => format!("syncscope: {} runs", runs.len()),
    }
}

/// Replaces every `{{placeholder}}` of the template in one pass, so that inserted text is never a placeholder itself.
fn fill(template: &str, content: impl Fn(&str) -> String) -> String {
    let (before, rest) = template.split_once("{{").unwrap_or((template, ""));
    let filled = rest.split("{{").map(|part| match part.split_once("}}") {
        Some((placeholder, after)) => content(placeholder) + after,
        None => format!("{{{{{part}"),
    });
    before.to_owned() + &filled.collect::<String>()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use syncscope_core::Verdict;

    use super::*;
    use crate::reading;

    #[test]
    fn inserted_text_is_no_template() {
        assert_eq!(fill("a{{x}}b{{y}}c", |name| format!("<{name}{{{{x}}}}>")), "a<x{{x}}>b<y{{x}}>c");
    }

    #[test]
    fn every_placeholder_is_known() {
        assert!(!render(&[]).contains("unknown placeholder"));
    }

    /// Scripts place and draw what [`crate::reading`] says; none of them checks a verdict or writes its words.
    #[test]
    fn no_script_names_a_verdict() {
        let scripts = unpacked(SCRIPTS);
        let words: BTreeSet<&str> = scripts.split(|letter: char| !letter.is_ascii_alphanumeric()).collect();
        let named: Vec<_> = Verdict::NAMES.into_iter().filter(|name| words.contains(name)).collect();
        assert_eq!(named, [""; 0]);
        let written: Vec<_> = reading::VERDICTS.iter().filter(|one| scripts.contains(one.meaning)).collect();
        assert!(written.is_empty() && !scripts.contains("\"not additive\""), "{written:?}");
    }

    #[test]
    fn assets_load_nothing_and_create_no_markup_from_text() {
        let (scripts, charts) = (unpacked(SCRIPTS), unpacked(CHART_LIBRARY));
        assert!(scripts.len() > 100_000 && charts.len() > 200_000, "whole");
        for text in [&scripts, &unpacked(STYLES), GUARD, TEMPLATE, HEAD] {
            assert!(!text.contains("@import") && !text.contains("fetch(") && !text.contains("src=\"http"));
        }
        for script in [&scripts, GUARD] {
            assert!(!script.contains("</script") && !script.contains("innerHTML"));
        }
        for text in ["</script", "<!--", "eval(", "new Function", "@import", "fetch(", "XMLHttpRequest"] {
            assert!(!charts.contains(text), "{text} in the chart library");
        }
    }
}
