//! Which operations of the user are compared with each other.

use std::collections::HashSet;

use syncscope_core::{Domain, OwnOperation};

use crate::args::MeasureArguments;

/// Pairs of ids, and those that have no counterpart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pairs {
    pub(super) compared: Vec<[String; 2]>,
    pub(super) left_out: Vec<String>,
}

impl Pairs {
    /// Pairs the operations of a side: the first one with each of the others and with the primitives that are named. Two files that
    /// have several operations, such as two versions of one file, are compared function by function.
    pub(super) fn of(
        operations: &[OwnOperation],
        domain: Domain,
        ids: &[String],
        arguments: &MeasureArguments,
    ) -> Self {
        let is_of = |id: &str| id.split('.').next() == Some(domain.as_str());
        let of_domain = operations.iter().filter(|own| is_of(&own.id));
        let (theirs, ours): (Vec<&OwnOperation>, Vec<&OwnOperation>) =
            of_domain.partition(|own| arguments.against.iter().any(|code| names(code, own)));
        let files =
            |operations: &[&OwnOperation]| operations.iter().map(|own| own.file.clone()).collect::<HashSet<_>>().len();
        let counterpart = |own: &&OwnOperation| theirs.iter().find(|other| other.function == own.function);
        let by_name: Vec<[&OwnOperation; 2]> = ours.iter().filter_map(|own| Some([*own, *counterpart(own)?])).collect();
        let mut ids = ids.iter().filter(|id| is_of(id));
        if by_name.is_empty() || ours.len() < 2 || files(&ours) > 1 || files(&theirs) > 1 {
            let Some(first) = ids.next() else { return Self::default() };
            return Self { compared: ids.map(|id| [first.clone(), id.clone()]).collect(), left_out: Vec::new() };
        }
        let is_compared = |id: &String| by_name.iter().flatten().any(|own| own.id == *id);
        let is_own = |id: &&String| operations.iter().any(|own| own.id == **id);
        let (own, of_catalogue): (Vec<&String>, Vec<&String>) = ids.partition(is_own);
        let named = by_name.iter().map(|pair| pair.map(|own| own.id.clone()));
        let with_catalogue = of_catalogue.into_iter().map(|id| [ours[0].id.clone(), id.clone()]);
        let left_out = own.into_iter().filter(|id| !is_compared(id)).cloned().collect();
        Self { compared: named.chain(with_catalogue).collect(), left_out }
    }
}

/// Whether an argument names the statement or file of an operation.
fn names(code: &str, own: &OwnOperation) -> bool {
    let Some(file) = &own.file else { return own.text == code };
    code.strip_prefix(file.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command};

    fn paired(cpu: &[&str], against: &[&str], operations: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let words = [&["syncscope", "measure", "--cpu"], cpu, &["--against"], against].concat();
        let Command::Measure(arguments) = Arguments::try_parse_from(words).unwrap().command else { panic!("measure") };
        let operation = |(file, function): &(&str, &str)| OwnOperation {
            id: format!("cpu.own.{}_{function}", file.trim_end_matches(".c")),
            file: Some((*file).to_owned()),
            function: Some((*function).to_owned()),
            ..OwnOperation::default()
        };
        let operations: Vec<OwnOperation> = operations.iter().map(operation).collect();
        let of_catalogue = against.iter().filter(|code| code.starts_with("cpu.")).map(|id| (*id).to_owned());
        let ids: Vec<String> = operations.iter().map(|own| own.id.clone()).chain(of_catalogue).collect();
        let found = Pairs::of(&operations, Domain::Cpu, &ids, &arguments);
        let short = |id: &String| id.rsplit('.').next().unwrap_or_default().to_owned();
        let compared = found.compared.iter().map(|[a, b]| format!("{}-{}", short(a), short(b))).collect();
        (compared, found.left_out.iter().map(short).collect())
    }

    /// A file with several operations against its older version: a variant that is slower than another one is no regression.
    #[test]
    fn versions_of_a_file_are_compared_function_by_function() {
        let new = [("a.c", "acquire_tas"), ("a.c", "acquire_mcs"), ("a.c", "acquire_new")];
        let old = [("b.c", "acquire_mcs"), ("b.c", "acquire_tas"), ("b.c", "acquire_gone")];
        let (compared, left_out) = paired(&["a.c"], &["b.c", "cpu.lock.ticket"], &[&new[..], &old].concat());
        assert_eq!(compared, ["a_acquire_tas-b_acquire_tas", "a_acquire_mcs-b_acquire_mcs", "a_acquire_tas-ticket"]);
        assert_eq!(left_out, ["a_acquire_new", "b_acquire_gone"]);
    }

    #[test]
    fn otherwise_the_first_operation_is_compared_with_all_others() {
        let of = |cpu: &[&str], against: &[&str], operations: &[(&str, &str)]| {
            let (compared, left_out) = paired(cpu, against, operations);
            assert!(left_out.is_empty());
            compared.join(" ")
        };
        let single = [("a.c", "acquire"), ("b.c", "acquire")];
        assert_eq!(of(&["a.c"], &["b.c"], &single), "a_acquire-b_acquire");
        let variants = [("a.c", "wait"), ("a.c", "wait_two"), ("b.c", "operation")];
        assert_eq!(of(&["a.c"], &["b.c"], &variants), "a_wait-a_wait_two a_wait-b_operation");
        let three = [("a.c", "acquire"), ("b.c", "acquire"), ("c.c", "acquire")];
        assert_eq!(of(&["a.c", "b.c"], &["c.c"], &three), "a_acquire-b_acquire a_acquire-c_acquire");
        let same = [("a.c", "acquire"), ("a.c", "acquire_two")];
        assert_eq!(of(&["a.c:acquire"], &["a.c:two"], &same), "a_acquire-a_acquire_two", "one file");
    }
}
