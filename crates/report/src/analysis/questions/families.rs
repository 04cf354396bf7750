//! Compares what each family of operations costs in two places of the machine, such as on a busy SMT sibling or in another
//! node's memory: words and tables for `smt.rs` and `levels.rs`.

use super::prelude::*;
use crate::analysis::contest::alike::stands_out;
use crate::analysis::matrix::PAIR_CLASSES;

/// Families of operations, with the primitive that represents each.
const FAMILIES: [(&str, &str); 10] = [
    ("atomic add", "cpu.atomic.add"),
    ("atomic write", "cpu.atomic.write"),
    ("compare-and-swap", "cpu.atomic.cas_pass"),
    ("barrier", "cpu.barrier.dissemination"),
    ("OpenMP barrier", "cpu.barrier.openmp"),
    ("mutex", "cpu.lock.pthread_mutex"),
    ("critical section", "cpu.lock.openmp_critical"),
    ("fence", "cpu.fence.seq_cst"),
    ("hand-off", "cpu.handoff.cas_pingpong"),
    ("wake-up", "cpu.wake.futex"),
];

/// The name of what a case measures: `barrier`, `atomic add of f64`.
pub(super) fn name(case: &Case) -> String {
    let family = FAMILIES.iter().find(|(_, id)| *id == case.primitive);
    // A condvar both hands over and wakes, so its name needs the family.
    let what = match case.domain_and_family().1 {
        "handoff" => " hand-off",
        "wake" => " wake-up",
        _ => "",
    };
    let name = family.map_or_else(|| format!("{}{what}", short_name(&case.primitive)), |(name, _)| (*name).to_owned());
    let float = case.dtype.filter(|dtype| dtype.is_floating()).map(|dtype| format!(" of {dtype}"));
    format!("{name}{}", float.unwrap_or_default())
}

/// Whether the primitive represents its family.
fn stands_for_family(contrast: &Contrast<'_>) -> bool {
    let case = contrast.data.case(contrast.rows[0]);
    FAMILIES.iter().any(|(_, id)| *id == case.primitive)
}

/// The row of the usual case that fits, in its default form.
pub(super) fn usual(data: &RunData, fits: impl Fn(&Case) -> bool) -> Option<usize> {
    let is_default = |case: &Case| case.form.is_none() && case.mode != Some(Mode::Latency);
    most_usual(data, data.rows_where(|row| is_default(&row.case) && !is_absent(row) && fits(&row.case)))
}

/// The same operation in two places.
#[derive(Clone, Copy)]
pub(super) struct Contrast<'a> {
    data: &'a RunData,
    /// The rows of the first and of the second place.
    pub(super) rows: [usize; 2],
}

impl<'a> Contrast<'a> {
    pub(super) const fn of(data: &'a RunData, one: usize, other: usize) -> Self {
        Self { data, rows: [one, other] }
    }

    pub(super) fn name(&self) -> String {
        name(self.data.case(self.rows[0]))
    }

    /// Both costs, the first place's first; `None` if either may not be written, or is a single point next to contrary ones.
    pub(super) fn costs(&self) -> Option<Comparison<'a>> {
        if self.rows.iter().any(|index| is_lone_point(self.data, *index)) {
            return None;
        }
        let [one, other] = self.rows.map(|index| Known::written(self.data, index, Basis::Run));
        one?.across(other?)
    }

    /// The second cost over the first. For published figures without intervals, it is the quotient.
    fn ratio(&self) -> Option<Ratio> {
        if let Some(both) = self.costs() {
            return Some(both.ratio);
        }
        let [one, other] = self.rows.map(|index| &self.data.rows[index]);
        let exact = |ns: f64| (ns, Interval { low: ns, high: ns });
        let has_none = one.ns_within.is_none() && other.ns_within.is_none();
        let is_lone = self.rows.iter().any(|index| is_lone_point(self.data, *index));
        let [one, other] = [one.ns?.value(), other.ns?.value()];
        (has_none && !is_lone && one > 0.0 && other > 0.0).then(|| Ratio::of(exact(other), exact(one)))
    }

    /// `a barrier`.
    fn with_article(&self) -> String {
        let name = self.name();
        format!("{} {name}", if name.starts_with(['a', 'e', 'i', 'o', 'u', 'O']) { "an" } else { "a" })
    }

    /// `a barrier takes 1.5 times as long (150 ns instead of 100 ns)`, if that is certain; `instead` replaces the figures in
    /// parentheses.
    pub(super) fn in_words(&self, instead: Option<String>) -> Option<String> {
        let both = self.costs().filter(Comparison::is_certain)?;
        let figures = || format!("{} instead of {}", both.more, both.less);
        Some(format!("{} takes {} as long ({})", self.with_article(), both.ratio, instead.unwrap_or_else(figures)))
    }

    /// `a barrier 1.5 times`, for figures without intervals.
    pub(super) fn of_points(&self) -> Option<(String, String)> {
        let has_none = self.rows.iter().all(|index| self.data.rows[*index].ns_within.is_none());
        let ratio = self.ratio().filter(|_| has_none)?;
        Some((self.with_article(), format!("{} times", figure::ratio(ratio.point))))
    }

    /// `a hand-off takes 6.00 ns instead of 48.0 ns`, if the costs certainly differ.
    pub(super) fn instead(&self) -> Option<String> {
        self.figures().map(|figures| format!("{} takes {figures}", self.with_article()))
    }

    /// `6.00 ns instead of 48.0 ns`, if the costs certainly differ.
    pub(super) fn figures(&self) -> Option<String> {
        let both = self.costs().filter(Comparison::differs)?;
        Some(format!("{} instead of {}", both.more, both.less))
    }

    /// How many times the work of the first place all threads of the second do. More threads do not pass more barriers, so
    /// barriers have no gain.
    pub(super) fn gain(&self) -> Option<f64> {
        let is_barrier = has_role(self.data, self.data.case(self.rows[0]), Role::ThreadBarrier);
        let [one, other] = self.rows.map(|index| f64::from(self.data.case(index).threads.unwrap_or(1)));
        self.ratio().filter(|_| !is_barrier).map(|ratio| other / one / ratio.point)
    }

    /// The cells of both costs and of their ratio.
    pub(super) fn cells(&self) -> [Option<Cell>; 3] {
        let [one, other] = self.rows.map(|index| Some(cell(self.data, index)));
        let text = |ratio: Ratio| {
            let is_certain = ratio.is_above_one() || ratio.high.is_some_and(|high| high < 1.0);
            if is_certain { format!("{} ×", figure::ratio(ratio.point)) } else { "no difference shown".to_owned() }
        };
        [one, other, self.ratio().map(|ratio| self.note(text(ratio)))]
    }

    /// A cell with words about the second row.
    pub(super) fn note(&self, text: String) -> Cell {
        Cell::note(text, self.rows[1])
    }
}

/// Whether a figure without an interval is a dip or a peak between the next smaller and the next larger team.
fn is_lone_point(data: &RunData, index: usize) -> bool {
    if data.rows[index].ns_within.is_some() {
        return false;
    }
    let (case, team) = (data.case(index), data.case(index).threads);
    let of = |other: &Row| Case { threads: team, ..other.case.clone() } == *case;
    let mut line: Vec<(Option<u32>, f64)> =
        data.rows.iter().filter(|row| of(row)).filter_map(|row| Some((row.case.threads, row.ns?.value()))).collect();
    line.sort_by_key(|(threads, _)| *threads);
    let is_own = |(threads, _): &(Option<u32>, f64)| *threads == team;
    line.windows(3).any(|next| is_own(&next[1]) && stands_out([next[0].1, next[1].1, next[2].1]))
}

/// Says what certainly takes longer: `..., a barrier takes 2.1 times as long (..) and ...`, where `instead` replaces the
/// figures.
pub(super) fn take_longer(
    what: &str,
    all: &[Contrast<'_>],
    instead: impl Fn(&Contrast<'_>) -> Option<String>,
) -> Option<Outcome> {
    let times = |both: &Comparison<'_>| both.ratio.to_string();
    said(all, |one| one.in_words(instead(one)), times, |words| format!("{what}, {words}."))
}

/// Says what certainly takes longer or shorter, with both figures, for the primitive that represents each family.
pub(super) fn take_instead(all: &[Contrast<'_>], text: impl Fn(String) -> String) -> Option<Outcome> {
    let all: Vec<Contrast<'_>> = all.iter().copied().filter(stands_for_family).collect();
    said(&all, Contrast::instead, |both| both.more.to_string(), text)
}

/// Joins the contrasts that have something to say, under a heading from the first.
fn said<'a>(
    all: &[Contrast<'a>],
    in_words: impl Fn(&Contrast<'a>) -> Option<String>,
    headline: impl Fn(&Comparison<'_>) -> String,
    text: impl Fn(String) -> String,
) -> Option<Outcome> {
    let (words, known): (Vec<String>, Vec<&Contrast<'a>>) =
        all.iter().filter_map(|one| Some((in_words(one)?, one))).unzip();
    let headline = headline(&known.first()?.costs()?);
    let rows = known.iter().flat_map(|one| one.rows);
    Some(Outcome::holds(text(enumerated(words)?), rows).headed(headline))
}

/// The cell of a cost, with its CPUs if they were chosen.
pub(super) fn cell(data: &RunData, index: usize) -> Cell {
    let row = &data.rows[index];
    let cpus = row.case.placement.as_ref().filter(|own| matches!(own, Placement::List(_)));
    Cell { detail: cpus.map(naming::placement), ..Cell::of(row, index) }
}

/// Contrasts each family in two teams, each a placement and a number of threads.
pub(super) fn of_teams<'a>(
    data: &'a RunData,
    [one, other]: &'a [(Placement, u32); 2],
) -> impl Iterator<Item = Contrast<'a>> {
    let of = move |id: &str, (placement, threads): &(Placement, u32)| {
        let is_team = |case: &Case| case.placement.as_ref() == Some(placement) && case.threads == Some(*threads);
        usual(data, |case| case.primitive == id && is_team(case))
    };
    FAMILIES.iter().filter_map(move |(_, id)| Some(Contrast::of(data, of(id, one)?, of(id, other)?)))
}

/// Operations of two threads, each with its row on a pair of CPUs of each class.
pub(super) fn by_class(data: &RunData) -> Vec<[Option<usize>; PAIR_CLASSES.len()]> {
    by_group(data, PAIR_CLASSES.map(|class| class.group))
}

/// Operations on chosen CPUs, each with its row in each group: the median row if a group has several.
pub(super) fn by_group<const N: usize>(data: &RunData, groups: [&str; N]) -> Vec<[Option<usize>; N]> {
    by_groups(data, &groups).into_iter().map(|rows| std::array::from_fn(|group| rows[group])).collect()
}

/// Like [`by_group`], for groups whose number is not known beforehand.
pub(super) fn by_groups(data: &RunData, groups: &[&str]) -> Vec<Vec<Option<usize>>> {
    let mut lines: BTreeMap<(usize, usize, Case), Vec<Vec<usize>>> = BTreeMap::new();
    for (index, row) in data.rows.iter().enumerate() {
        let Some(class) = groups.iter().position(|group| row.case.in_group(group)) else { continue };
        let place = FAMILIES.iter().position(|(_, id)| *id == row.case.primitive).unwrap_or(FAMILIES.len());
        let operation = Case { placement: None, group: None, ..row.case.clone() };
        if row.case.placement.is_some() && row.case.form.is_none() && !is_absent(row) {
            let key = (place, data.catalogue.position(&row.case.primitive), operation);
            lines.entry(key).or_insert_with(|| vec![Vec::new(); groups.len()])[class].push(index);
        }
    }
    lines.into_values().map(|classes| classes.into_iter().map(|rows| data.median(rows)).collect()).collect()
}

/// The columns in which some line has a cell, and the lines with only these columns.
pub(super) fn used<'c>(columns: &'c [String], lines: &[Line]) -> (Vec<&'c str>, Vec<Line>) {
    let is_used = |column: &usize| lines.iter().any(|line| line.cells[*column].is_some());
    let used: Vec<usize> = (0..columns.len()).filter(is_used).collect();
    let cut = |one: &Line| line(one.label.clone(), used.iter().map(|column| one.cells[*column].clone()));
    (used.iter().map(|column| columns[*column].as_str()).collect(), lines.iter().map(cut).collect())
}

/// The line of an operation with these rows, labelled by its case; `None` if it has no row.
pub(super) fn line_of(data: &RunData, rows: &[Option<usize>], label: impl Fn(&Case) -> String) -> Option<Line> {
    let first = rows.iter().flatten().next()?;
    Some(line(label(data.case(*first)), rows.iter().map(|row| row.map(|index| cell(data, index)))))
}

/// A line of a table.
pub(super) fn line(label: String, cells: impl IntoIterator<Item = Option<Cell>>) -> Line {
    Line { label, cells: cells.into_iter().collect() }
}
