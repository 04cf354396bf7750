//! What an experiment contributes to a report: text, tables, claims and charts.
//!
//! The page writes a [`Section`] as markup and its script draws the charts; the terminal shows the same text, claims and
//! tables.

use std::collections::HashSet;
use std::fmt;

use comfy_table::{CellAlignment, ContentArrangement, presets};

use crate::analysis::claim::{Finding, Outcome, Truth};
use crate::chart::Chart;
use crate::html::{escape, escape_json};

/// The section that an experiment contributes to reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The name of the experiment, also the id of the section on the page.
    pub name: &'static str,
    /// The heading.
    pub title: &'static str,
    /// What the experiment does, and whose it is: one or two sentences.
    pub lead: &'static str,
    /// What the rows answer, in sentences for the top of the page.
    pub answers: Vec<Outcome>,
    /// The content.
    pub parts: Vec<Part>,
    /// The claims of its paper, which `findings` shows.
    pub claims: Vec<Finding>,
}

/// A part of a section. All texts are plain text.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Parts under a heading, with a note next to it.
    Card(String, String, Vec<Part>),
    /// Parts that are side by side where there is room.
    SideBySide(Vec<Part>),
    /// A sentence or several.
    Paragraph(String),
    /// A table of figures.
    Table(Table),
    /// Claims with their outcomes.
    Claims(Vec<Finding>),
    /// Charts, side by side where there is room; the terminal has none.
    Charts(Vec<Chart>),
    /// Parts that unfold when the summary is pressed; the terminal leaves them out.
    Folded(String, Vec<Part>),
    /// Preformatted lines, such as machine code; the terminal leaves them out.
    Code(String),
    /// Text that only the terminal shows.
    Terminal(String),
}

/// A table of text. The first column names the row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// The names of the columns.
    pub headings: Vec<String>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
}

/// The heading of a column, and the text of its cell for a row.
pub type Column<T> = (&'static str, fn(&T) -> String);

impl Part {
    /// Parts under a heading, with a note next to it.
    pub fn card(title: &str, note: &str, parts: Vec<Self>) -> Self {
        Self::Card(title.to_owned(), note.to_owned(), parts)
    }

    /// A sentence or several.
    pub fn paragraph(text: impl Into<String>) -> Self {
        Self::Paragraph(text.into())
    }

    /// A card about these items; `None` if there are none.
    pub fn about<T>(items: &[T], title: &str, note: &str, parts: impl FnOnce(&[T]) -> Vec<Self>) -> Option<Self> {
        (!items.is_empty()).then(|| Self::card(title, note, parts(items)))
    }

    /// A table with these headings.
    pub fn table(headings: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self::Table(Table { headings: headings.iter().map(|heading| (*heading).to_owned()).collect(), rows })
    }

    /// A table with a line for each row, and these columns.
    pub fn columns<T, const N: usize>(rows: &[T], columns: [Column<T>; N]) -> Self {
        let line = |row: &T| columns.iter().map(|(_, cell)| cell(row)).collect();
        Self::table(&columns.map(|(heading, _)| heading), rows.iter().map(line).collect())
    }

    pub(crate) fn html(&self) -> String {
        match self {
            Self::Card(title, note, parts) => card(title, note, &html(parts)),
            Self::SideBySide(parts) => format!("<div class=\"grid\">{}</div>\n", html(parts)),
            Self::Paragraph(text) => format!("<p>{}</p>\n", escape(text)),
            Self::Table(found) if found.rows.len() > MOST_ROWS => {
                folded(&format!("All {} rows", found.rows.len()), &found.html())
            }
            Self::Table(found) => found.html(),
            Self::Claims(found) => claims(found),
            Self::Charts(found) => charts(found),
            Self::Folded(summary, parts) => {
                // A long table folds with the rest, not by itself.
                let content = |part: &Self| if let Self::Table(found) = part { found.html() } else { part.html() };
                folded(summary, &parts.iter().map(content).collect::<String>())
            }
            Self::Code(text) => format!(
                "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Listing\"><pre>{}</pre></div>\n",
                escape(text)
            ),
            Self::Terminal(_) => String::new(),
        }
    }
}

pub(crate) fn html(parts: &[Part]) -> String {
    parts.iter().map(Part::html).collect()
}

/// A section of the page: its title and lead, then the content of each run, under the run's label if there are several.
/// Title, lead and contents are markup. Empty if there are no contents.
pub(crate) fn of_runs(id: &str, title: &str, lead: &str, contents: &[(&str, String)], are_several: bool) -> String {
    if contents.is_empty() {
        return String::new();
    }
    let heading = |label: &str| {
        if are_several { format!("<h3 class=\"published-run\">{}</h3>", escape(label)) } else { String::new() }
    };
    let content = |(label, content): &(&str, String)| heading(label) + content;
    format!(
        "<section class=\"published\" id=\"{id}\" aria-labelledby=\"{id}-title\"><h2 id=\"{id}-title\">{title}</h2>\
         <p class=\"lead\">{lead}</p>{}</section>\n",
        contents.iter().map(content).collect::<String>()
    )
}

/// A card with a heading, a note next to it, and its content, which is markup.
pub(crate) fn card(title: &str, note: &str, content: &str) -> String {
    format!(
        "<article class=\"panel published-card\"><header><h3>{}</h3><span class=\"note\">{}</span></header>\n{content}\
         </article>\n",
        escape(title),
        escape(note)
    )
}

/// Content that unfolds when its summary is pressed.
fn folded(summary: &str, content: &str) -> String {
    format!("<details><summary>{}</summary>{content}</details>\n", escape(summary))
}

/// The places of charts, with the data from which the page's script draws them.
fn charts(charts: &[Chart]) -> String {
    // Numbers, words and texts always serialize.
    let json = |Chart(spec): &Chart| escape_json(&serde_json::to_string(spec).unwrap_or_default());
    let place = |one: &Chart| {
        format!("<div class=\"section-chart\"><script type=\"application/json\">{}</script></div>", json(one))
    };
    format!("<div class=\"small-charts\">{}</div>\n", charts.iter().map(place).collect::<String>())
}

/// The badge with the outcome of a claim.
pub(crate) fn badge(verdict: Truth) -> String {
    let tone = match verdict {
        Truth::Holds => "good",
        Truth::Fails => "bad",
        Truth::Open => "void",
    };
    // Without styles the colon keeps the verdict apart from the claim.
    format!("<span class=\"badge {tone}\">{}</span><span class=\"offscreen\">:</span>", verdict.words())
}

/// Claims with their outcomes.
fn claims(claims: &[Finding]) -> String {
    let item = |Finding { text, place, outcome, .. }: &Finding| {
        let [text, sentence, place] = [text, &outcome.sentence, place].map(|text| escape(text));
        format!("<dt>{} {text}</dt><dd>{sentence} ({place})</dd>", badge(outcome.verdict))
    };
    format!("<dl class=\"claims\">{}</dl>\n", claims.iter().map(item).collect::<String>())
}

/// A longer table is folded on the page.
const MOST_ROWS: usize = 40;

/// The most characters of a figure with its interval.
const LONGEST_NUMBER: usize = 40;

impl Table {
    /// Whether a column is aligned as numbers: most of its cells begin with a digit, a sign or `<`, and none is a sentence.
    fn is_number(&self, column: usize) -> bool {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_empty());
        let (numbers, words): (Vec<&String>, Vec<&String>) = cells.partition(|cell| is_number(cell));
        let has_sentence = numbers.iter().any(|cell| cell.chars().count() > LONGEST_NUMBER);
        numbers.len() > words.len() && !has_sentence
    }

    fn html(&self) -> String {
        let class = |column: usize| if self.is_number(column) { " class=\"number\"" } else { "" };
        let classes: Vec<&str> = (0..self.headings.len()).map(class).collect();
        let heading = |(text, class): (&String, &&str)| format!("<th scope=\"col\"{class}>{}</th>", escape(text));
        let cell = |(column, (text, class)): (usize, (&String, &&str))| match column {
            0 => format!("<th scope=\"row\"{class}>{}</th>", escape(text)),
            _ => format!("<td{class}>{}</td>", escape(text)),
        };
        let row = |cells: &Vec<String>| {
            format!("<tr>{}</tr>", cells.iter().zip(&classes).enumerate().map(cell).collect::<String>())
        };
        format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table><thead><tr>{}</tr></thead>\
             <tbody>{}</tbody></table></div>\n",
            self.headings.iter().zip(&classes).map(heading).collect::<String>(),
            self.rows.iter().map(row).collect::<String>()
        )
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(&self.headings).add_rows(&self.rows);
        for column in (0..self.headings.len()).filter(|column| self.is_number(*column)) {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        write!(f, "{table}")
    }
}

/// The text that the terminal shows of a section.
impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.answers.iter().try_for_each(|answer| writeln!(f, "- {}", answer.sentence))?;
        f.write_str(if self.answers.is_empty() { "" } else { "\n" })?;
        self.parts.iter().try_for_each(|part| write!(f, "{part}"))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Card(title, note, parts) => {
                let content: String = parts.iter().map(ToString::to_string).collect();
                let note = if note.is_empty() { String::new() } else { format!(" ({note})") };
                // The terminal shows nothing of a card that holds only charts.
                if content.is_empty() { Ok(()) } else { write!(f, "{title}{note}\n\n{content}") }
            }
            Self::SideBySide(parts) => parts.iter().try_for_each(|part| write!(f, "{part}")),
            Self::Paragraph(text) | Self::Terminal(text) => write!(f, "{text}\n\n"),
            Self::Table(table) => write!(f, "{table}\n\n"),
            Self::Claims(claims) => {
                for Finding { text, place, outcome, .. } in claims {
                    writeln!(f, "{}: {text}\n    {place}; here: {}", outcome.verdict.words(), outcome.sentence)?;
                }
                writeln!(f)
            }
            Self::Charts(_) | Self::Folded(..) | Self::Code(_) => Ok(()),
        }
    }
}

fn is_number(cell: &str) -> bool {
    // A dash replaces a missing figure.
    cell == "–"
        || cell
            .trim_start_matches(['-', '+', '−', '<', '±', '~', ' '])
            .starts_with(|character: char| character.is_ascii_digit())
}

/// The sections of all experiments in the directories of these runs.
pub(crate) fn of_experiments(runs: &[&[Section]], labels: &[String]) -> String {
    let mut known = HashSet::new();
    let all = runs.iter().copied().flatten().filter(|section| known.insert(section.name));
    let drawn = |Section { name, title, lead, .. }: &Section| {
        let own = runs.iter().map(|sections| sections.iter().find(|section| section.name == *name));
        let of_each = labels.iter().zip(own).filter_map(|(label, own)| Some((label.as_str(), html(&own?.parts))));
        of_runs(name, &escape(title), &escape(lead), &of_each.collect::<Vec<_>>(), runs.len() > 1)
    };
    all.map(drawn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::findings::{Outcome, Paper};

    #[test]
    fn a_long_table_is_folded_on_the_page_alone() {
        let of = |count: usize| Part::table(&["a"], vec![vec!["1".to_owned()]; count]);
        let (short, long) = (of(MOST_ROWS), of(MOST_ROWS + 1));
        assert!(!short.html().contains("<details>") && long.html().contains("<details>"));
        assert_eq!(long.to_string().matches('1').count(), MOST_ROWS + 1);
        assert_eq!(Part::Folded("all".to_owned(), vec![long]).html().matches("<details>").count(), 1, "folded once");
    }

    #[test]
    fn cells_are_text_and_numbers_are_aligned() {
        let lines = [["a<b", "−1.5 ns"], ["7", "a NOP"], ["c", "–"]].map(|line| line.map(str::to_owned).to_vec());
        let html = Part::table(&["case", "<cost>"], lines.to_vec()).html();
        assert!(html.contains("<th scope=\"row\">a&lt;b</th><td class=\"number\">−1.5\u{a0}ns</td>"), "{html}");
        assert!(html.contains("number\">&lt;cost&gt;") && html.contains("<td class=\"number\">a NOP</td>"), "{html}");
        assert!(html.contains("<th scope=\"row\">7</th>"), "a column of names: {html}");
        let sentence = vec!["a".to_owned(), format!("7 {}", "words ".repeat(7))];
        let sentences = Part::table(&["case", "why"], vec![sentence]);
        assert!(!sentences.html().contains("number"), "a sentence that begins with a figure");
        assert_eq!(html.matches("<tr>").count(), html.matches("</tr>").count());
    }

    fn claim(verdict: Truth) -> Finding {
        Finding {
            id: "x".to_owned(),
            paper: Paper::Zhang,
            place: "table 1".to_owned(),
            text: "a & b".to_owned(),
            outcome: Outcome::of(verdict, "1 < 2".to_owned()),
            measured: true,
        }
    }

    #[test]
    fn claims_say_what_became_of_them() {
        let part = Part::Claims(Truth::ALL.map(claim).to_vec());
        let (html, text) = (part.html(), part.to_string());
        for part in ["good\">holds", "bad\">does not hold", "void\">undecided", "a &amp; b", "1 &lt; 2"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(text.starts_with("holds: a & b\n    table 1; here: 1 < 2\n"), "{text}");
    }

    #[test]
    fn the_terminal_shows_what_the_page_shows_without_charts_and_listings() {
        let table = || Part::table(&["a", "b"], vec![vec!["<x>".to_owned(), "1".to_owned()]]);
        let folded = Part::Folded("all > some".to_owned(), vec![table(), Part::Code("R1 <- R2".to_owned())]);
        let parts = vec![
            Part::card("<t>", "\"n\"", vec![table(), folded.clone()]),
            Part::SideBySide(vec![Part::card("only code", "", vec![folded])]),
            Part::Terminal("##".to_owned()),
        ];
        let section = Section { name: "one", title: "One", lead: "", answers: Vec::new(), parts, claims: Vec::new() };
        let text = section.to_string();
        assert!(text.starts_with("<t> (\"n\")\n\n") && text.contains("<x>") && text.ends_with("##\n\n"), "{text}");
        assert!(!text.contains("R1") && !text.contains("only code"), "{text}");
        let html = html(&section.parts);
        assert!(html.contains("&lt;t&gt;") && html.contains("&quot;n&quot;") && html.contains("R1 &lt;- R2"), "{html}");
        assert!(html.contains("<details><summary>all &gt; some</summary>") && !html.contains("##"), "{html}");
    }

    fn of_run(section: Option<&str>) -> Vec<Section> {
        let section = section.map(|html| Section {
            name: "one",
            title: "A < B",
            lead: "lead",
            answers: Vec::new(),
            parts: vec![Part::paragraph(html)],
            claims: Vec::new(),
        });
        section.into_iter().collect()
    }

    #[test]
    fn a_run_without_experiments_has_no_section() {
        assert_eq!(of_experiments(&[&[]], &["a".to_owned()]), "");
    }

    #[test]
    fn each_experiment_has_one_section_and_names_runs_only_where_there_are_several() {
        let labels = ["x & y".to_owned(), "none".to_owned(), "z".to_owned()];
        let runs = [of_run(Some("[one]")), of_run(None), of_run(Some("[two]"))];
        let runs = runs.each_ref().map(Vec::as_slice);
        let html = of_experiments(&runs, &labels);
        assert_eq!((html.matches("<section").count(), html.matches("<h3").count()), (1, 2), "{html}");
        assert!(
            html.contains("A &lt; B") && html.contains("x &amp; y</h3><p>[one]") && html.contains("z</h3><p>[two]")
        );
        let single = of_experiments(&runs[..1], &labels[..1]);
        assert!(single.contains("[one]") && !single.contains("<h3"), "{single}");
    }
}
