//! From sections to lines of text, as detailed as the width allows.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::paint::{Paint, Tone};
use super::sections::{Line, Section};
use crate::figure::Cost;

/// How much of the table is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Detail {
    /// Longest label in columns.
    label: usize,
    /// Most sizes; of three, the middle one goes first.
    sizes: usize,
    intervals: bool,
    cycles: bool,
}

/// From rich to lean; the first that fits is taken.
const DETAILS: [Detail; 6] = [
    Detail { label: 48, sizes: 3, intervals: true, cycles: true },
    Detail { label: 40, sizes: 3, intervals: true, cycles: false },
    Detail { label: 32, sizes: 3, intervals: true, cycles: false },
    Detail { label: 32, sizes: 2, intervals: true, cycles: false },
    Detail { label: 28, sizes: 2, intervals: false, cycles: false },
    Detail { label: 24, sizes: 1, intervals: false, cycles: false },
];

/// The table in lines of at most `width` columns.
pub(super) fn lines(sections: &[Section], width: usize, paint: Paint) -> Vec<String> {
    let mut text = Vec::new();
    for detail in DETAILS {
        text = table(sections, detail);
        if text.iter().all(|(_, line)| line.chars().count() <= width) {
            break;
        }
    }
    text.iter().map(|(kind, line)| colour(*kind, &clip(line, width), paint)).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Title,
    Figures,
}

fn table(sections: &[Section], detail: Detail) -> Vec<(Kind, String)> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let mut kinds = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        if index > 0 {
            table.add_row([""]);
            kinds.push(Kind::Figures);
        }
        table.add_row(title(section, detail));
        kinds.push(Kind::Title);
        for line in &section.lines {
            table.add_row(figures(line, section, detail));
            kinds.push(Kind::Figures);
        }
    }
    // A figure stands close to what belongs to it.
    let group = 1 + extras(detail).count();
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if at % group == 0 { 2 } else { 1 }));
    }
    kinds.into_iter().zip(table.lines().map(|line| line.trim_end().to_owned())).collect()
}

/// The places, among the costs of a section, that are shown.
fn shown(section: &Section, detail: Detail) -> Vec<usize> {
    let count = section.sizes.len();
    match detail.sizes {
        sizes if sizes >= count => (0..count).collect(),
        1 => vec![count - 1],
        _ => vec![0, count - 1],
    }
}

fn title(section: &Section, detail: Detail) -> Vec<Cell> {
    let mut cells = vec![Cell::new(clip(&section.title, detail.label))];
    for at in shown(section, detail) {
        cells.push(right(&section.sizes[at]));
        cells.extend(extras(detail).map(|_| Cell::new("")));
    }
    cells
}

/// The columns that follow each figure.
fn extras(detail: Detail) -> impl Iterator<Item = fn(&Cost) -> Option<String>> {
    let interval: fn(&Cost) -> Option<String> = |cost| cost.interval.clone();
    let cycles: fn(&Cost) -> Option<String> = |cost| cost.cycles.clone();
    [(detail.intervals, interval), (detail.cycles, cycles)]
        .into_iter()
        .filter(|(wanted, _)| *wanted)
        .map(|(_, read)| read)
}

fn figures(line: &Line, section: &Section, detail: Detail) -> Vec<Cell> {
    let mut cells = vec![Cell::new(clip(&format!("  {}", line.label), detail.label))];
    if line.costs.is_empty() {
        return cells;
    }
    for at in shown(section, detail) {
        let cost = line.costs[at].as_ref();
        cells.push(right(cost.map_or("–", |cost| cost.figure.as_str())));
        cells.extend(extras(detail).map(|read| right(&cost.and_then(read).unwrap_or_default())));
    }
    cells
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// The line, cut where it is too long.
pub(super) fn clip(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let kept: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Words that stand where a figure would.
const WORDS: [(&str, Tone); 5] = [
    ("not resolved", Tone::Doubt),
    ("elided", Tone::Doubt),
    ("skipped", Tone::Quiet),
    ("timed out", Tone::Bad),
    ("failed", Tone::Bad),
];

fn colour(kind: Kind, line: &str, paint: Paint) -> String {
    if kind == Kind::Title {
        return paint.text(line, Tone::Strong);
    }
    if !paint.colour {
        return line.to_owned();
    }
    let mut painted = String::new();
    let mut rest = line;
    // Intervals are told apart from the figures by their sign.
    while let Some((start, end)) = rest.find('±').and_then(|start| Some((start, start + rest[start..].find('%')? + 1)))
    {
        painted.push_str(&rest[..start]);
        painted.push_str(&paint.text(&rest[start..end], Tone::Quiet));
        rest = &rest[end..];
    }
    painted.push_str(rest);
    WORDS.iter().fold(painted, |text, (word, tone)| text.replace(word, &paint.text(word, *tone)))
}
