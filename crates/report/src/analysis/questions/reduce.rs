//! How to reduce many values to one: the ways to join partial results.

use super::prelude::*;
use crate::figure::grouped;

/// A problem whose variants are compared, apart from the number of elements: the side, what a GPU computes, the number of
/// devices.
type Problem = (Domain, Option<Group>, u32);

/// Answers with the fastest variant for each problem. Consecutive sizes with the same answer are one situation.
pub(super) fn reduce(inquiry: Inquiry<'_>) -> Vec<Situation> {
    let mut problems: Vec<Problem> = reductions(inquiry).filter_map(|(_, row)| problem(&row.case)).collect();
    problems.sort_by_key(|(on, group, devices)| (on.as_str(), *devices, group.clone()));
    problems.dedup();
    problems.into_iter().flat_map(|of| of_problem(inquiry, &of)).collect()
}

/// The reductions that could run here; others are not rivals that might be cheaper.
fn reductions(inquiry: Inquiry<'_>) -> impl Iterator<Item = (usize, &Row)> {
    let data = inquiry.data;
    let is_one = move |row: &Row| has_role(data, &row.case, Role::Reduction) && !is_absent(row);
    data.rows.iter().enumerate().filter(move |(_, row)| is_one(row))
}

fn problem(case: &Case) -> Option<Problem> {
    let on: Domain = case.domain_and_family().0.parse().ok()?;
    // On the CPU the group is the OpenMP runtime, which is one more variant.
    let operation = case.group.clone().filter(|_| on != Domain::Cpu);
    Some((on, operation, case.devices.unwrap_or(1)))
}

fn of_problem(inquiry: Inquiry<'_>, of: &Problem) -> Vec<Situation> {
    let (on, operation, devices) = of;
    let here = || reductions(inquiry).filter(|(_, row)| problem(&row.case).as_ref() == Some(of));
    let sizes: BTreeSet<u64> = here().filter_map(|(_, row)| row.case.elements).collect();
    let mut found: Vec<(u64, u64, Decision)> = Vec::new();
    for elements in sizes {
        let of_size = here().filter(|(_, row)| row.case.elements == Some(elements));
        let entrant = |(index, row): (usize, &Row)| {
            let runtime = row.case.group.as_ref().filter(|_| *on == Domain::Cpu);
            let runtime = runtime.map_or_else(String::new, |runtime| format!(" {runtime}"));
            let name = format!("{}{runtime}", short_name(&row.case.primitive));
            Entrant { name, ..Entrant::of(inquiry.data, index, Basis::Run) }
        };
        let contest = Contest::of(of_size.map(entrant).collect(), Vec::new());
        let Some(decision) = decide(inquiry, &contest) else { continue };
        match found.last_mut() {
            // The figures of the largest size represent the range.
            Some((_, to, last)) if same_answer(last, &decision) => (*to, *last) = (elements, decision),
            _ => found.push((elements, elements, decision)),
        }
    }
    let named = |(from, to, decision)| {
        let what = operation.as_ref().map_or_else(|| "max".to_owned(), ToString::to_string);
        let several = if *devices > 1 { format!(", {devices} GPUs") } else { String::new() };
        let range = if from == to { grouped(to) } else { format!("{} to {}", grouped(from), grouped(to)) };
        let situation = format!("{what} of {range} elements{several}");
        (*on, situation, of_range(decision, from != to))
    };
    found.into_iter().map(named).collect()
}

/// Says that the figures of a range are those of its largest size.
fn of_range(mut decision: Decision, is_range: bool) -> Decision {
    if !is_range {
        return decision;
    }
    let why = &mut decision.outcome.sentence;
    *why = format!("at the largest size {why}");
    decision.taking(|choice| choice.notes.push("figures are for the largest size".to_owned()))
}

fn same_answer(a: &Decision, b: &Decision) -> bool {
    let name = |one: &Decision| one.choice.as_ref().map(|choice| choice.name.clone());
    name(a) == name(b)
}
