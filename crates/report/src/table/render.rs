//! Turns sections into lines of text, with as many columns as fit the width.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::Text;
use super::sections::{Section, TableLine};
use crate::reading::Reading;
use crate::wrap::{Tone, clip, wrap};

/// Which columns of the table are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Columns {
    /// The width of the names and variants in characters. Longer ones take several lines.
    label: usize,
    /// The most sizes. The middle of three sizes is left out first.
    sizes: usize,
    /// How many figures each size has: the cost, its interval and its cycles.
    figures: usize,
}

/// Layouts from the most columns to the fewest; the first that fits is used.
const COLUMNS: [Columns; 8] = [
    Columns { label: 48, sizes: 3, figures: 3 },
    Columns { label: 40, sizes: 3, figures: 2 },
    Columns { label: 32, sizes: 3, figures: 2 },
    Columns { label: 48, sizes: 2, figures: 2 },
    Columns { label: 40, sizes: 2, figures: 2 },
    Columns { label: 32, sizes: 2, figures: 2 },
    Columns { label: 28, sizes: 2, figures: 1 },
    Columns { label: 24, sizes: 1, figures: 1 },
];

/// The table in lines of at most `width` columns.
pub(super) fn lines(sections: &[Section], Text { width, in_colour }: Text) -> Vec<String> {
    let fits = |text: &[(bool, String)]| text.iter().all(|(_, line)| line.chars().count() <= width);
    let [wider @ .., narrowest] = COLUMNS;
    let text = wider.into_iter().map(|columns| table(sections, columns)).find(|text| fits(text));
    let text = text.unwrap_or_else(|| table(sections, narrowest));
    text.iter().map(|(is_title, line)| colour(*is_title, &clip(line, width), in_colour)).collect()
}

/// The lines, and whether each is a title.
fn table(sections: &[Section], columns: Columns) -> Vec<(bool, String)> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let mut titles = Vec::new();
    let mut add = |is_title, label: Vec<String>, cells: Vec<Cell>| {
        table.add_row(std::iter::once(Cell::new(label.join("\n"))).chain(cells));
        titles.extend(label.iter().map(|_| is_title));
    };
    for (index, section) in sections.iter().enumerate() {
        if index > 0 {
            add(false, vec![String::new()], Vec::new());
        }
        let sizes = cells(section, columns, |at| [section.sizes[at].clone(), String::new(), String::new()]);
        add(true, wrap(&section.title, columns.label, "  "), sizes);
        let labels = Labels::of(section, columns.label);
        for line in &section.lines {
            let (label, of_figures) = labels.parts(line);
            add(false, label, figures(line, section, columns, of_figures));
        }
    }
    // Keep the columns of one size close together.
    let group = columns.figures;
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if at % group == 0 { 2 } else { 1 }));
    }
    titles.into_iter().zip(table.lines().map(|line| line.trim_end().to_owned())).collect()
}

/// Where the variants of a section are written: after the names of the primitives, or below them if one of their words would
/// not fit there.
#[derive(Debug)]
struct Labels {
    label: usize,
    names: usize,
    is_beside: bool,
}

impl Labels {
    fn of(section: &Section, label: usize) -> Self {
        let width = |text: &str| text.chars().count();
        let names = section.lines.iter().map(|line| width(&line.name)).max().unwrap_or_default();
        let words = section.lines.iter().flat_map(|line| line.variant.split(' '));
        // Two columns in front, one after the name, and two in front of a continuation line.
        let is_beside = names + 5 + words.map(width).max().unwrap_or_default() <= label;
        Self { label, names, is_beside }
    }

    /// The lines of a label, and the index of the one with the figures.
    fn parts(&self, line: &TableLine) -> (Vec<String>, usize) {
        let names = self.names;
        if line.variant.is_empty() {
            return (vec![clip(&format!("  {}", line.name), self.label)], 0);
        }
        if self.is_beside {
            let parts = wrap(&line.variant, self.label - names - 3, "  ");
            let name = |at: usize| if at == 0 { line.name.as_str() } else { "" };
            return (parts.iter().enumerate().map(|(at, part)| format!("  {:names$} {part}", name(at))).collect(), 0);
        }
        let name = (!line.name.is_empty()).then(|| clip(&format!("  {}", line.name), self.label));
        let of_figures = usize::from(name.is_some());
        let parts = wrap(&line.variant, self.label - 4, "  ").into_iter().map(|part| format!("    {part}"));
        (name.into_iter().chain(parts).collect(), of_figures)
    }
}

/// The indices of a section's sizes that are shown.
fn shown(section: &Section, columns: Columns) -> Vec<usize> {
    let count = section.sizes.len();
    match columns.sizes {
        sizes if sizes >= count => (0..count).collect(),
        1 => vec![count - 1],
        _ => vec![0, count - 1],
    }
}

/// The figures of a line, below the first `above` lines of its label.
fn figures(line: &TableLine, section: &Section, columns: Columns, above: usize) -> Vec<Cell> {
    if line.costs.is_empty() {
        return Vec::new();
    }
    let none = || ["–".to_owned(), String::new(), String::new()];
    let figures = |cost: &Option<Reading>| cost.clone().map_or_else(none, Reading::cells);
    cells(section, columns, |at| figures(&line.costs[at]).map(|figure| "\n".repeat(above) + &figure))
}

/// The cells of each size, as many as its columns.
fn cells(section: &Section, columns: Columns, of_size: impl Fn(usize) -> [String; 3]) -> Vec<Cell> {
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let of_size = |at: usize| of_size(at).into_iter().take(columns.figures).map(right);
    shown(section, columns).into_iter().flat_map(of_size).collect()
}

/// The words in place of a figure, with their colours.
const WORDS: [(&str, Tone); 8] = [
    ("no figure", Tone::Doubt),
    ("negative", Tone::Doubt),
    ("overlapped", Tone::Quiet),
    ("not additive", Tone::Doubt),
    ("elided", Tone::Doubt),
    ("skipped", Tone::Quiet),
    ("timed out", Tone::Bad),
    ("failed", Tone::Bad),
];

fn colour(is_title: bool, line: &str, in_colour: bool) -> String {
    if is_title {
        return Tone::Strong.paint(line, in_colour);
    }
    if !in_colour {
        return line.to_owned();
    }
    // Intervals begin with this sign.
    let mut parts = line.split('±');
    let first = parts.next().unwrap_or_default().to_owned();
    let coloured = parts.fold(first, |text, part| match part.split_once('%') {
        Some((number, rest)) => text + &Tone::Quiet.paint(&format!("±{number}%"), in_colour) + rest,
        None => text + "±" + part,
    });
    WORDS.iter().fold(coloured, |text, (word, tone)| text.replace(word, &tone.paint(word, in_colour)))
}
