//! Writes the answers about all variants of an operation as a table, as Markdown and for JSON.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::{Model, NotTried, Step, Test};

/// What a variant saves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Price {
    /// Nothing: the variant executes the same instructions.
    SameInstructions,
    /// The savings in each measured case.
    Measured(Vec<Saving>),
    /// The variant was not measured, for this reason.
    NotMeasured(String),
}

/// The saving of a variant in one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Saving {
    /// The case: `2 threads close`.
    pub case: String,
    /// The cost of the original in ns.
    pub original_ns: f64,
    /// What the variant saves, in ns; below zero where it costs more.
    pub saved_ns: f64,
    /// The lower end of the 95 % interval of the saving.
    pub saved_low_ns: Option<f64>,
    /// The upper end of the interval.
    pub saved_high_ns: Option<f64>,
}

/// One variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The line of the ordering.
    pub line: u32,
    /// The user's header with the ordering; `None` for the source itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The ordering.
    pub ordering: String,
    /// The replacement of the ordering.
    pub variant: String,
    /// How the variant differs from the original.
    pub step: Step,
    /// What the variant saves.
    pub price: Price,
    /// The instructions that differ: `xchgl → movl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The model's answer; `None` where there is no model for the code.
    pub model: Option<Model>,
    /// The result of the test; `None` where the instructions are the same.
    pub test: Option<Test>,
}

/// The answers about an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The operation's id.
    pub operation: String,
    /// What the operation orders.
    pub subject: String,
    /// The model's answer about the unchanged code.
    pub model: Option<Model>,
    /// The result of the test with the unchanged code.
    pub test: Option<Test>,
    /// The variants, in the order of the source.
    pub rows: Vec<Row>,
    /// The orderings without variants.
    pub not_tried: Vec<NotTried>,
    /// The cheapest form: all variants together that nothing refutes.
    pub cheapest: Option<Together>,
    /// The form without any memory ordering, even if it is refuted: what the orderings cost together.
    pub without_any: Option<Together>,
    /// The operation to compare with, measured in turn with this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
}

/// The operation to compare with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Against {
    /// The operation's id.
    pub operation: String,
    /// What the operation saves.
    pub price: Price,
}

/// Several changes in one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Together {
    /// The changes: `line 7: fetch_add release → relaxed`.
    pub changes: Vec<String>,
    /// The rows of these changes, while the table is made; empty in a stored table.
    #[serde(skip)]
    pub rows: Vec<usize>,
    /// What the form saves.
    pub price: Price,
    /// The sum of the savings of the single changes, in each case.
    pub sum_ns: Vec<f64>,
    /// The form's machine code.
    pub code: Vec<String>,
}

impl Default for Together {
    fn default() -> Self {
        let price = Price::NotMeasured(String::new());
        Self { changes: Vec::new(), rows: Vec::new(), price, sum_ns: Vec::new(), code: Vec::new() }
    }
}

impl Row {
    /// Whether a test or the model refutes the variant.
    pub fn is_refuted(&self) -> bool {
        matches!(self.model, Some(Model::Refuted(_))) || self.test.as_ref().is_some_and(Test::has_failed)
    }

    /// Whether a test or the model tried to refute the variant, and did not.
    pub fn has_passed(&self) -> bool {
        let is_modelled = matches!(self.model, Some(Model::NotRefuted(_)));
        let is_tested = matches!(self.test, Some(Test::NotSeen(_))) && !matches!(self.model, Some(Model::Cannot(_)));
        (is_modelled || is_tested) && !self.is_refuted()
    }

    /// Whether the ordering is needed, saying no more than was seen.
    pub fn needed(&self, subject: &str) -> String {
        let model = self.model.as_ref().map(|model| model.in_words(subject));
        let not_seen = match &self.test {
            Some(Test::Failed(how)) => return format!("yes: seen to fail: {how}"),
            Some(Test::Hangs(how)) => return format!("yes: seen to fail: {how}"),
            Some(Test::NotSeen(uses)) => format!("not seen in {}", grouped(*uses)),
            Some(Test::Cannot(reason)) => format!("not tested: {reason}"),
            None if self.price == Price::SameInstructions => "free here".to_owned(),
            None => "not tested".to_owned(),
        };
        match (&self.model, model) {
            (Some(Model::Refuted(_)), Some(why)) if self.price == Price::SameInstructions => {
                format!("free here; the memory model requires it: {why}")
            }
            (Some(Model::Refuted(_)), Some(why)) => format!("the memory model requires it: {why}; {not_seen}"),
            (Some(Model::NotRefuted(_)), Some(bound)) if self.price == Price::SameInstructions => {
                format!("free here; not refuted: {bound}")
            }
            (Some(Model::NotRefuted(_)), Some(bound)) => format!("not refuted: {not_seen}; {bound}"),
            (Some(Model::Cannot(_)), Some(why)) => format!("{not_seen}; {why}"),
            _ => not_seen,
        }
    }
}

impl Price {
    /// The sum of the savings in all cases, each as a fraction of the cost; 0 without a figure.
    pub fn saved(&self) -> f64 {
        match self {
            Self::Measured(savings) => savings.iter().map(|one| one.saved_ns / one.original_ns).sum(),
            Self::SameInstructions | Self::NotMeasured(_) => 0.0,
        }
    }

    /// Whether the variant certainly saves something in a case.
    fn is_shown_to_save(&self) -> bool {
        matches!(self, Self::Measured(savings) if savings.iter().any(|saving| saving.saved_low_ns > Some(0.0)))
    }

    /// The saving as `311 ns`, for the first of several cases; empty where no difference is shown.
    pub fn headline(&self) -> String {
        let Self::Measured(savings) = self else { return String::new() };
        let first = savings.first().filter(|saving| saving.is_shown());
        first.map_or_else(String::new, |saving| format!("{} ns", rounded(saving.saved_ns.abs())))
    }

    /// The saving as `311 ns less (298 to 324)`, with the name of each case if there are several.
    pub fn in_words(&self) -> String {
        match self {
            Self::SameInstructions => "same instructions".to_owned(),
            Self::NotMeasured(reason) => reason.clone(),
            Self::Measured(savings) => {
                let words = |saving: &Saving| match savings.len() {
                    1 => saving.in_words(),
                    _ => format!("{}: {}", saving.case, saving.in_words()),
                };
                savings.iter().map(words).collect::<Vec<_>>().join("; ")
            }
        }
    }
}

impl Saving {
    /// Whether a saving or a loss is certain.
    pub fn is_shown(&self) -> bool {
        self.saved_low_ns > Some(0.0) || self.saved_high_ns.is_some_and(|high| high < 0.0)
    }

    fn in_words(&self) -> String {
        let Self { saved_ns, saved_low_ns, saved_high_ns, .. } = self;
        let (Some(low), Some(high)) = (saved_low_ns, saved_high_ns) else { return "no figure".to_owned() };
        let size = f64::max((high - low) / 2.0, 0.0);
        if *low <= 0.0 && *high >= 0.0 {
            return format!("no difference shown (±{} ns)", rounded(size));
        }
        let word = if *saved_ns > 0.0 { "less" } else { "more" };
        // As for all costs: only the interval where it is wide.
        if size > saved_ns.abs() / 4.0 {
            let (near, far) = if *low > 0.0 { (*low, *high) } else { (-high, -low) };
            return format!("{} to {} ns {word}", rounded(near), rounded(far));
        }
        format!("{} ns {word} (±{:.0} %)", rounded(saved_ns.abs()), size / saved_ns.abs() * 100.0)
    }
}

/// A value with three digits.
fn rounded(value: f64) -> String {
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}")
}

/// The instructions of each code that the other lacks: `xchgl → movl`, `MEMBAR.SC.GPU, CCTL.IVALL →`.
pub fn difference(from: &[String], to: &[String]) -> Option<String> {
    let more = |these: &[String], those: &[String]| {
        let mut more: HashMap<&str, isize> = HashMap::new();
        for (one, count) in these.iter().map(|one| (one, 1)).chain(those.iter().map(|one| (one, -1))) {
            *more.entry(one).or_default() += count;
        }
        // Each instruction once, at its first place.
        let words = these.iter().map(String::as_str).filter(|one| more.remove(one).is_some_and(|more| more > 0));
        let words: Vec<&str> = words.collect();
        words.join(", ")
    };
    let (gone, new) = (more(from, to), more(to, from));
    match (gone.is_empty(), new.is_empty()) {
        (true, true) => None,
        (_, true) => Some(format!("without {gone}")),
        (true, _) => Some(format!("with {new}")),
        _ => Some(format!("{gone} → {new}")),
    }
}

/// A number with grouped digits: `2,000,000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    parts.iter().map(|part| String::from_utf8_lossy(part)).collect::<Vec<_>>().join(",")
}

/// The column heads of [`Table::cells`].
pub const HEADS: [&str; 4] = ["line", "ordering", "if weakened", "needed?"];

/// What no bound of the model includes.
const LIMIT: &str = "; it never lets a store overtake an earlier load (load buffering)";

/// The text in place of rows, where some orderings may have been left out.
pub fn without_rows(not_tried: &[NotTried]) -> &'static str {
    if not_tried.is_empty() {
        "no memory ordering was found that can be weakened"
    } else {
        "no memory ordering was tried"
    }
}

impl Table {
    /// The cells of a row.
    pub fn cells(&self, row: &Row) -> [String; 4] {
        let place = row.file.as_ref().map_or_else(|| row.line.to_string(), |file| format!("{file}:{}", row.line));
        let ordering = format!("{} → {}", row.ordering, row.variant);
        let instructions = row.instructions.as_ref().map_or_else(String::new, |found| format!(" [{found}]"));
        [place, ordering, row.price.in_words() + &instructions, row.needed(&self.subject)]
    }

    /// A sentence about the cheapest form.
    pub fn answer(&self) -> Option<String> {
        let Together { changes, price, .. } = self.cheapest.as_ref()?;
        let (changes, price) = (changes.join(", "), price.in_words());
        // For code that the model refutes or cannot run, the model judges no form.
        let judges = if matches!(self.model, Some(Model::NotRefuted(_))) { "no test and no model" } else { "no test" };
        let form = if self.cheapest.as_ref()?.price.is_shown_to_save() { "the cheapest form" } else { "a weaker form" };
        Some(format!("{}: {form} that {judges} refutes: {changes} ({price})", self.operation))
    }

    /// The table for the terminal.
    pub fn for_terminal(&self) -> String {
        if self.rows.is_empty() {
            return [format!("{}: {}", self.operation, without_rows(&self.not_tried))]
                .into_iter()
                .chain(self.remarks())
                .collect::<Vec<_>>()
                .join("\n");
        }
        let rows: Vec<[String; 4]> =
            [HEADS.map(str::to_owned)].into_iter().chain(self.rows.iter().map(|row| self.cells(row))).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let [first, second, third] = [0, 1, 2].map(width);
        let mut text = format!("{}\n", self.operation);
        for [line, ordering, price, needed] in &rows {
            let _ = writeln!(text, "{line:>first$}  {ordering:<second$}  {price:<third$}  {needed}");
        }
        for line in self.remarks() {
            let _ = writeln!(text, "{line}");
        }
        for line in self.last() {
            let _ = writeln!(text, "{line}");
        }
        text.trim_end().to_owned()
    }

    /// The table as Markdown.
    pub fn as_markdown(&self) -> String {
        let escaped = |cell: &String| cell.replace('|', "\\|");
        let head = match self.rows[..] {
            [] => format!("{}\n", without_rows(&self.not_tried)),
            _ => format!("| {} |\n|---:|---|---|---|\n", HEADS.join(" | ")),
        };
        let mut text = format!("**{}**\n\n{head}", self.operation);
        for row in &self.rows {
            let _ = writeln!(text, "| {} |", self.cells(row).iter().map(escaped).collect::<Vec<_>>().join(" | "));
        }
        for line in self.remarks() {
            let _ = writeln!(text, "\n{line}");
        }
        if let [first, code @ ..] = &self.last()[..] {
            let _ = writeln!(text, "\n{first}\n\n```text\n{}\n```", code.join("\n"));
        }
        text
    }

    /// The cheapest form with its machine code.
    fn last(&self) -> Vec<String> {
        let code = self.cheapest.iter().flat_map(|cheapest| cheapest.code.iter().map(|line| format!("  {line}")));
        self.answer().map(|answer| answer + ":").into_iter().chain(code).collect()
    }

    /// The lines below the rows.
    pub fn remarks(&self) -> Vec<String> {
        let not_tried = |NotTried { line, file, name, reason }: &NotTried| {
            let of = file.as_ref().map_or_else(String::new, |file| format!(" of {file}"));
            format!("not tried: line {line}{of}, {name}: {reason}")
        };
        let mut lines: Vec<String> = self.not_tried.iter().map(not_tried).collect();
        match &self.model {
            Some(Model::Refuted(refuted)) => {
                let story = refuted.story(&self.subject).join("\n  ");
                let for_two = refuted.threads > 2 && self.operation.starts_with("cpu.");
                let for_two = if for_two { "; if it is for two threads alone: --threads 2" } else { "" };
                let of_variants = if self.rows.is_empty() { "" } else { ", so that it says nothing of its variants" };
                lines.push(format!(
                    "the model refutes the code as it is ({}{for_two}){of_variants}:\n  {story}",
                    refuted.team()
                ));
            }
            Some(model @ Model::NotRefuted(_)) => {
                let passes = self.rows.iter().any(|row| matches!(row.model, Some(Model::NotRefuted(_))));
                let limit = if passes { LIMIT } else { "" };
                let said = model.in_words(&self.subject);
                lines.push(format!("the model does not refute the code as it is: {said}{limit}"));
            }
            Some(model @ Model::Cannot(_)) => lines.push(format!("the code is {}", model.in_words(&self.subject))),
            None => {}
        }
        if let Some(Together { price, sum_ns, .. }) = &self.without_any {
            let sums = sum_ns.iter().map(|sum| rounded(*sum)).collect::<Vec<_>>().join(" and ");
            let sums = if sums.is_empty() { sums } else { format!("; the prices above make {sums} ns") };
            lines.push(format!("all memory orderings left out: {}{sums}", price.in_words()));
        }
        let against =
            self.against.iter().map(|other| format!("{} instead: {}", other.operation, other.price.in_words()));
        lines.extend(against);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bound, Files};

    fn row(price: Price, model: Option<Model>, test: Option<Test>) -> Row {
        let (ordering, variant) = ("exchange acquire".to_owned(), "relaxed".to_owned());
        Row { line: 7, file: None, ordering, variant, step: Step::Weaker, price, instructions: None, model, test }
    }

    fn held() -> Model {
        Model::NotRefuted(vec![Bound {
            threads: 2,
            place: None,
            times: 2,
            deviations: Some(5),
            is_complete: false,
            executions: 9,
        }])
    }

    #[test]
    fn instructions_differ_by_what_one_code_has_more() {
        let code = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let of = |from, to| difference(&code(from), &code(to));
        assert_eq!(of("xchgl movl ret", "movl movl ret").as_deref(), Some("xchgl → movl"));
        assert_eq!(of("dmb dmb ret", "ret").as_deref(), Some("without dmb"));
        assert_eq!(of("ret", "ret nop").as_deref(), Some("with nop"));
        assert_eq!(of("movl ret", "ret movl"), None);
    }

    /// No answer says more than was seen.
    #[test]
    fn nothing_is_called_needless() {
        let refuted = || Model::parse("broken race 2 0 0 1 1 1 1 1\n", &Files::new());
        let saving = |low, high| {
            Price::Measured(vec![Saving {
                case: "2 threads".to_owned(),
                original_ns: 900.0,
                saved_ns: f64::midpoint(low, high),
                saved_low_ns: Some(low),
                saved_high_ns: Some(high),
            }])
        };
        let failed = || Some(Test::Failed("2 changes are lost, after 9 uses".to_owned().into()));
        let models = [None, Some(held()), Some(refuted()), Some(Model::Cannot("it calls `f`".to_owned()))];
        let tests = [None, Some(Test::NotSeen(2_000_000)), failed(), Some(Test::Cannot("no".to_owned()))];
        for model in &models {
            for test in &tests {
                let answer = row(saving(300.0, 320.0), model.clone(), test.clone()).needed("the data");
                assert!(!answer.contains("not needed") && !answer.contains("needless"), "{answer}");
                assert_eq!(answer.starts_with("yes: seen to fail"), *test == failed(), "{answer}");
                assert_eq!(
                    answer.contains("the memory model requires"),
                    *model == Some(refuted()) && *test != failed(),
                    "{answer}"
                );
            }
        }
        assert_eq!(
            row(Price::SameInstructions, Some(refuted()), None).needed("x"),
            "free here; the memory model requires it: threads 0 and 1 at x: nothing orders them"
        );
        let answer = row(saving(300.0, 320.0), Some(held()), Some(Test::NotSeen(2_000_000))).needed("x");
        assert_eq!(answer, "not refuted: not seen in 2,000,000; 2 threads with 2 uses each (up to 5 deviations)");
        assert_eq!(saving(300.0, 320.0).in_words(), "310 ns less (±3 %)");
        assert_eq!(saving(-0.5, 0.5).in_words(), "no difference shown (±0.50 ns)");
        assert_eq!(saving(-3.0, -2.0).in_words(), "2.50 ns more (±20 %)");
        assert_eq!(saving(-130.0, -25.0).in_words(), "25.0 to 130 ns more", "no ± that seems to reach zero");
        let answer = |price| {
            let cheapest = Some(Together { price, ..Together::default() });
            let (operation, subject) = ("cpu.own.x".to_owned(), String::new());
            let (rows, not_tried) = (Vec::new(), Vec::new());
            let table = Table {
                operation,
                subject,
                cheapest,
                model: None,
                test: None,
                rows,
                not_tried,
                without_any: None,
                against: None,
            };
            table.answer().unwrap()
        };
        assert!(answer(saving(300.0, 320.0)).contains("the cheapest form that"));
        assert!(answer(saving(-0.5, 0.6)).contains("a weaker form that"), "nothing shows that it is cheaper");
    }

    /// Code without an ordering that could be weaker may lack one.
    #[test]
    fn a_table_without_rows_says_what_the_model_says() {
        let refuted = Model::parse("times 1\nbroken race 3 0 0 1 1 1 1 1\n", &Files::new());
        let table = |model, rows| Table {
            operation: "cpu.own.lock".to_owned(),
            subject: "x".to_owned(),
            model: Some(model),
            test: None,
            rows,
            not_tried: Vec::new(),
            cheapest: None,
            without_any: None,
            against: None,
        };
        let without = table(refuted.clone(), Vec::new());
        for text in [without.for_terminal(), without.as_markdown()] {
            assert!(text.contains("no memory ordering was found that can be weakened"), "{text}");
            assert!(text.contains("refutes the code as it is (3 threads with 1 use each;"), "{text}");
            assert!(!text.contains("variants") && !text.contains("needed?"), "{text}");
        }
        let (name, reason) = ("load acquire → relaxed".to_owned(), "the time was over".to_owned());
        let not_tried = vec![NotTried { line: 3, file: None, name, reason }];
        let late = Table { not_tried, ..without }.for_terminal();
        assert!(late.contains("no memory ordering was tried") && !late.contains("was found"), "{late}");
        let with = table(refuted, vec![row(Price::SameInstructions, None, None)]).for_terminal();
        assert!(with.contains("so that it says nothing of its variants"), "{with}");
    }

    #[test]
    fn a_table_has_a_line_for_each_variant_and_what_was_not_tried() {
        let table = Table {
            operation: "cpu.own.lock".to_owned(),
            subject: "what the lock protects".to_owned(),
            model: Some(held()),
            test: None,
            rows: vec![row(Price::SameInstructions, Some(held()), None)],
            not_tried: vec![NotTried {
                line: 3,
                file: None,
                name: "volatile".to_owned(),
                reason: "it names no ordering".to_owned(),
            }],
            cheapest: None,
            without_any: None,
            against: None,
        };
        let text = table.for_terminal();
        assert!(
            text.contains("   7  exchange acquire → relaxed  same instructions  free here; not refuted: 2 threads"),
            "{text}"
        );
        assert!(text.contains("not tried: line 3, volatile: it names no ordering"), "{text}");
        // Without load buffering, some necessary orderings are not refuted.
        assert!(text.contains("(up to 5 deviations); it never lets a store overtake an earlier load"), "{text}");
        let refuted = Model::parse("broken race 2 0 0 1 1 1 1 1\n", &Files::new());
        let rows = vec![row(Price::SameInstructions, Some(refuted), None)];
        assert!(!Table { rows, ..table.clone() }.for_terminal().contains("overtake"), "no row depends on it");
        assert!(table.as_markdown().contains("| 7 | exchange acquire → relaxed | same instructions |"));
        let answer = |model| Table { model, cheapest: Some(Together::default()), ..table.clone() }.answer().unwrap();
        assert!(answer(Some(held())).contains("no test and no model refutes"));
        let refuted = Model::parse("broken race 2 0 0 1 1 1 1 1\n", &Files::new());
        for model in [Some(refuted), Some(Model::Cannot("it calls `f`".to_owned())), None] {
            assert!(answer(model).contains("form that no test refutes"));
        }
    }
}
