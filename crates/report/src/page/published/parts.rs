//! Parts of a section: a card, a table, a claim with what became of it.

use std::fmt::Write;

use super::super::html::escape;

/// A card with a heading, a note beside it, and its content, which is markup.
pub(crate) fn card(title: &str, note: &str, content: &str) -> String {
    format!(
        "<article class=\"panel published-card\"><header><h3>{}</h3><span class=\"note\">{}</span></header>\n{content}\
         </article>\n",
        escape(title),
        escape(note)
    )
}

/// Cards side by side where there is room.
pub(crate) fn grid(cards: &[String]) -> String {
    format!("<div class=\"grid\">{}</div>\n", cards.concat())
}

/// A paragraph of plain text.
pub(crate) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

/// Content that is shown when its summary is pressed.
pub(crate) fn folded(summary: &str, content: &str) -> String {
    format!("<details><summary>{}</summary>{content}</details>\n", escape(summary))
}

/// Letters of the longest cell that stands on one line. In a table with longer ones, words take several lines, so that the
/// last column is not out of sight.
const LONGEST_WORDS: usize = 40;

/// A table of text. The first column names the row. Columns of which most cells begin with a digit, a sign or `<` are aligned
/// as numbers.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let has_prose = rows.iter().flatten().any(|cell| cell.chars().count() > LONGEST_WORDS);
    let wraps = if has_prose { " class=\"wraps\"" } else { "" };
    let mut html = format!("<div class=\"scroll\"><table{wraps}><thead><tr>");
    let class = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_empty());
        let (numbers, words): (Vec<&String>, Vec<&String>) = cells.partition(|cell| is_number(cell));
        if numbers.len() > words.len() { " class=\"number\"" } else { "" }
    };
    for (column, heading) in headings.iter().enumerate() {
        let class = class(column);
        // Writing to a String cannot fail.
        let _ = write!(html, "<th scope=\"col\"{class}>{}</th>", escape(heading));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let class = class(column);
            let _ = match column {
                0 => write!(html, "<th scope=\"row\"{class}>{}</th>", escape(cell)),
                _ => write!(html, "<td{class}>{}</td>", escape(cell)),
            };
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>\n");
    html
}

fn is_number(cell: &str) -> bool {
    // A dash stands in the place of a figure.
    cell == "–"
        || cell
            .trim_start_matches(['-', '+', '−', '<', '±', '~', ' '])
            .starts_with(|character: char| character.is_ascii_digit())
}

/// What became of a statement of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is true of this machine.
    Holds,
    /// It is not.
    Fails,
    /// The data does not say.
    Open,
}

/// Statements of the source, each with its outcome and the figures that decide it.
pub(crate) fn claims(claims: &[(Outcome, String, String)]) -> String {
    let mut html = String::from("<dl class=\"claims\">");
    for (outcome, statement, figures) in claims {
        let (tone, word) = match outcome {
            Outcome::Holds => ("good", "holds"),
            Outcome::Fails => ("bad", "does not hold"),
            Outcome::Open => ("void", "not decided"),
        };
        let _ = write!(
            html,
            "<dt><span class=\"badge {tone}\">{word}</span> {}</dt><dd>{}</dd>",
            escape(statement),
            escape(figures)
        );
    }
    html.push_str("</dl>\n");
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_sentences_takes_several_lines() {
        let of = |text: &str| table(&["a", "why"], &[vec!["1".to_owned(), text.to_owned()]]);
        assert!(of(&"words ".repeat(7)).contains("<table class=\"wraps\">"));
        assert!(of("words").contains("<table><thead>"));
    }

    #[test]
    fn cells_are_text_and_numbers_are_aligned() {
        let lines = [["a<b", "−1.5 ns"], ["7", "a NOP"], ["c", "–"]].map(|line| line.map(str::to_owned).to_vec());
        let html = table(&["case", "<cost>"], &lines);
        assert!(html.contains("<th scope=\"row\">a&lt;b</th><td class=\"number\">−1.5 ns</td>"), "{html}");
        assert!(html.contains("number\">&lt;cost&gt;") && html.contains("<td class=\"number\">a NOP</td>"), "{html}");
        assert!(html.contains("<th scope=\"row\">7</th>"), "a column of names: {html}");
        assert_eq!(html.matches("<tr>").count(), html.matches("</tr>").count());
    }

    #[test]
    fn statements_say_what_became_of_them() {
        let claim = |outcome| (outcome, "a & b".to_owned(), "1 < 2".to_owned());
        let html = claims(&[claim(Outcome::Holds), claim(Outcome::Fails), claim(Outcome::Open)]);
        for part in ["good\">holds", "bad\">does not hold", "void\">not decided", "a &amp; b", "1 &lt; 2"] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn headings_of_cards_are_text() {
        let html = card("<t>", "\"n\"", "<p>content</p>");
        assert!(html.contains("&lt;t&gt;") && html.contains("&quot;n&quot;") && html.contains("<p>content</p>"));
        assert!(grid(&[html.clone(), html]).matches("<article").count() == 2);
        assert_eq!(paragraph("a > b"), "<p>a &gt; b</p>\n");
        assert_eq!(folded("a > b", "<p>c</p>"), "<details><summary>a &gt; b</summary><p>c</p></details>\n");
    }
}
