//! The HTML page: one file that holds its data, style sheets and scripts and needs no network.
//!
//! The template, the style sheets and the scripts stand in `assets/`, one file per concept; this module joins them. A new
//! section is a new script in `SCRIPTS`. All charts are drawn by the scripts in `assets/js/chart`, which alone call the chart
//! library. The data of the runs is made in `data`, with the cells of the rows from `columns` and the description of
//! machine and environment from `facts`. `drawing` is the picture of the machine. `fallback` is the table for browsers
//! without scripts. `published` joins the sections of experiments, and `findings` makes the
//! section of published claims, `paper_tables` that of a paper's tables, `changes` that of what
//! changed between two runs. [`fleet`] is a page of its own.

mod changes;
mod columns;
mod data;
mod drawing;
mod facts;
mod fallback;
mod findings;
pub mod fleet;
pub(crate) mod html;
mod paper_tables;
mod published;

use crate::{RunData, run_data};

const TEMPLATE: &str = include_str!("../../assets/report.html");

/// The style sheets, in the order in which they override each other.
pub(crate) const STYLES: [&str; 11] = [
    include_str!("../../assets/css/colours.css"),
    include_str!("../../assets/css/base.css"),
    include_str!("../../assets/css/overview.css"),
    include_str!("../../assets/css/machine.css"),
    include_str!("../../assets/css/decisions.css"),
    include_str!("../../assets/css/panels.css"),
    include_str!("../../assets/css/charts.css"),
    include_str!("../../assets/css/pictures.css"),
    include_str!("../../assets/css/rows.css"),
    include_str!("../../assets/css/published.css"),
    include_str!("../../assets/css/media.css"),
];

/// Runs before the other scripts, so that it records their errors.
const GUARD: &str = include_str!("../../assets/js/guard.js");

/// Observable Plot with the parts of d3 that it needs: `scripts/bundle-charts` makes it, its licences stand with it.
/// The licences ask to be in every copy, so they are in the page.
const CHART_LIBRARY: &str = concat!(
    "/*\n",
    include_str!("../../assets/vendor/LICENSES.txt"),
    "*/\n",
    include_str!("../../assets/vendor/plot-0.6.17.min.js")
);

/// The scripts, joined in one scope.
const SCRIPTS: [&str; 39] = [
    include_str!("../../assets/js/dom.js"),
    include_str!("../../assets/js/model/format.js"),
    include_str!("../../assets/js/model/data.js"),
    include_str!("../../assets/js/model/dimensions.js"),
    include_str!("../../assets/js/model/search.js"),
    include_str!("../../assets/js/chart/values.js"),
    include_str!("../../assets/js/model/measures.js"),
    include_str!("../../assets/js/model/selection.js"),
    include_str!("../../assets/js/tooltip.js"),
    include_str!("../../assets/js/chart/marks.js"),
    include_str!("../../assets/js/chart/lines.js"),
    include_str!("../../assets/js/chart/dots.js"),
    include_str!("../../assets/js/chart/cells.js"),
    include_str!("../../assets/js/chart/rectangles.js"),
    include_str!("../../assets/js/chart/navigation.js"),
    include_str!("../../assets/js/chart/export.js"),
    include_str!("../../assets/js/chart/chart.js"),
    include_str!("../../assets/js/explore/questions.js"),
    include_str!("../../assets/js/explore/content.js"),
    include_str!("../../assets/js/explore/state.js"),
    include_str!("../../assets/js/explore/keys.js"),
    include_str!("../../assets/js/explore/draw.js"),
    include_str!("../../assets/js/explore/controls.js"),
    include_str!("../../assets/js/parts/ladder.js"),
    include_str!("../../assets/js/parts/card.js"),
    include_str!("../../assets/js/parts/heat_maps.js"),
    include_str!("../../assets/js/parts/matrix.js"),
    include_str!("../../assets/js/parts/tails.js"),
    include_str!("../../assets/js/answers.js"),
    include_str!("../../assets/js/decisions.js"),
    include_str!("../../assets/js/overview.js"),
    include_str!("../../assets/js/sections.js"),
    include_str!("../../assets/js/table/columns.js"),
    include_str!("../../assets/js/table/save.js"),
    include_str!("../../assets/js/table/table.js"),
    include_str!("../../assets/js/findings.js"),
    include_str!("../../assets/js/glossary.js"),
    include_str!("../../assets/js/theme.js"),
    include_str!("../../assets/js/main.js"),
];

/// The page of one run, or of several compared; with two it says what changed from the first to the second. The rows stand
/// in the order of the catalogue.
#[must_use]
pub fn render(runs: &[RunData]) -> String {
    let runs: Vec<RunData> = runs.iter().map(RunData::in_order).collect();
    let runs = runs.as_slice();
    let labels = run_data::labels(runs);
    fill(TEMPLATE, |placeholder| match placeholder {
        "title" => html::escape(&title(runs)),
        "style" => STYLES.concat(),
        "guard" => GUARD.to_owned(),
        "data" => data::json(runs, &labels),
        "fallback" => fallback::tables(runs, &labels),
        "machine" => drawing::drawings(runs, &labels),
        "changes" => changes::section(runs, &labels),
        "published" => published::sections(runs, &labels),
        "paper_tables" => paper_tables::section(runs, &labels),
        "charts" => CHART_LIBRARY.to_owned(),
        "findings" => findings::section(runs, &labels),
        "script" => format!("(function () {{\n\"use strict\";\n{}}}());", SCRIPTS.concat()),
        // A test checks that the template has no other placeholder.
        unknown => format!("<!-- unknown placeholder: {unknown} -->"),
    })
}

fn title(runs: &[RunData]) -> String {
    match runs {
        [data] => format!("syncscope: {}", data.measured_parts().join(" + ")),
        _ => format!("syncscope: {} runs", runs.len()),
    }
}

/// Replaces every `{{placeholder}}` of the template in one pass, so that inserted text is never a placeholder itself.
pub(crate) fn fill(template: &str, content: impl Fn(&str) -> String) -> String {
    let mut page = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((placeholder, after)) = after.split_once("}}") else { break };
        page.push_str(before);
        page.push_str(&content(placeholder));
        rest = after;
    }
    page.push_str(rest);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_text_is_no_template() {
        assert_eq!(fill("a{{x}}b{{y}}c", |name| format!("<{name}{{{{x}}}}>")), "a<x{{x}}>b<y{{x}}>c");
    }

    #[test]
    fn every_placeholder_is_known() {
        assert!(!render(&[]).contains("unknown placeholder"));
    }

    #[test]
    fn assets_load_nothing_and_create_no_markup_from_text() {
        for text in SCRIPTS.into_iter().chain(STYLES).chain([GUARD, TEMPLATE]) {
            assert!(!text.contains("@import") && !text.contains("fetch(") && !text.contains("src=\"http"));
        }
        for script in SCRIPTS.into_iter().chain([GUARD]) {
            assert!(!script.contains("</script") && !script.contains("innerHTML"));
        }
        for text in ["</script", "<!--", "eval(", "new Function", "@import", "fetch(", "XMLHttpRequest"] {
            assert!(!CHART_LIBRARY.contains(text), "{text} in the chart library");
        }
    }
}
