//! Checks that the numbers of `run.json`, and the integers in the tables of experiments, are what a machine or a run can
//! have. They are checked before anything is made of them, so that a field that comes later is checked, too.

use csv::StringRecord;
use serde_json::{Number, Value};

use crate::model::limits::{MOST_COUNT, MOST_OF_ONE_KIND};

/// The most elements of a list: the CPUs of the largest machine.
const MOST_ELEMENTS: usize = 1 << 14;

/// The largest memory, in bytes.
const BYTES: u64 = 1 << 50;

/// The largest values of these fields, wherever they occur.
const MOST: [(&str, u64); 25] = [
    ("seed", u64::MAX),
    ("packages", 1 << 10),
    ("numa_nodes", 1 << 10),
    ("cores", 1 << 14),
    ("hardware_threads", 1 << 14),
    ("count", 1 << 14),
    ("shared_by", 1 << 14),
    ("index", 1 << 10),
    ("from", 1 << 10),
    ("to", 1 << 10),
    ("repeat", 100),
    ("memory_bytes", BYTES),
    ("size_bytes", BYTES),
    ("l2_bytes", BYTES),
    ("peak_memory_bytes", BYTES),
    ("components", MOST_COUNT),
    ("executions", MOST_COUNT),
    ("executions_with", MOST_COUNT),
    ("inconsistencies", MOST_COUNT),
    ("pairs", MOST_COUNT),
    ("lower_first", MOST_COUNT),
    ("body", MOST_COUNT),
    ("repeats_few", MOST_COUNT),
    ("repeats_many", MOST_COUNT),
    ("offset", MOST_COUNT),
];

/// Units of measured quantities: whoever rewrites a file may write one without a decimal point.
const UNITS: [&str; 8] = ["_hz", "_ns", "_cycles", "_celsius", "_watts", "seconds", "factor", "degrees"];

/// The fastest clock.
pub(crate) const FASTEST_HZ: f64 = 1e12;

/// The ranges of quantities, by the end of their names.
const RANGES: [(&str, f64, f64); 9] = [
    ("share", 0.0, 1.0),
    ("_hz", 1.0, FASTEST_HZ),
    ("_ns", 0.0, 1e15),
    ("_cycles", 0.0, 1e15),
    ("seconds", 0.0, 1e12),
    ("seconds_by_cpu", 0.0, 1e12),
    ("_watts", 0.0, 1e6),
    ("cpu_quota", 0.0, 1e6),
    ("another_run", 0.0, 1e6),
];

/// Checks all numbers of a file such as `run.json`.
///
/// # Errors
/// Names the number that no machine and no run can have.
pub fn check(file: &Value) -> Result<(), String> {
    walk(file, "", "")
}

/// `field` is the name of the nearest field around a value, and `place` leads to the value.
fn walk(value: &Value, field: &str, place: &str) -> Result<(), String> {
    match value {
        Value::Array(values) if values.len() > MOST_ELEMENTS => {
            Err(format!("`{place}` has {} elements; at most {MOST_ELEMENTS} are read", values.len()))
        }
        Value::Array(values) => {
            values.iter().enumerate().try_for_each(|(at, value)| walk(value, field, &format!("{place}[{at}]")))
        }
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
            // The keys of a map are no fields: its values belong to the field of the map.
            let is_field = name.starts_with(|first: char| first.is_ascii_lowercase()) && !name.contains('.');
            walk(value, if is_field { name } else { field }, &place)
        }),
        Value::Number(number) => match (impossible(number, field), number.as_u64()) {
            (Some((least, most)), _) => Err(format!("`{place}` is {number}; it can be {least} to {most}")),
            (None, Some(count)) => at_most(count, field, place),
            (None, None) if number.is_f64() || is_quantity(field) => Ok(()),
            (None, None) => Err(format!("`{place}` is {number}, which is not a count")),
        },
        _ => Ok(()),
    }
}

/// The range of a quantity that lies outside it; `None` for any other number.
fn impossible(number: &Number, field: &str) -> Option<(f64, f64)> {
    let (_, least, most) = *RANGES.iter().find(|(name, ..)| field.ends_with(name))?;
    number.as_f64().filter(|number| !(least..=most).contains(number)).map(|_| (least, most))
}

/// Checks the integers of a line, whose fields have these names.
///
/// # Errors
/// Names the integer that is too large.
pub(crate) fn check_line(names: &StringRecord, line: &StringRecord) -> Result<(), String> {
    let integers = names.iter().zip(line).filter_map(|(name, cell)| Some((name, cell.parse::<u64>().ok()?)));
    integers.into_iter().try_for_each(|(name, count)| at_most(count, name, name))
}

fn at_most(count: u64, field: &str, place: &str) -> Result<(), String> {
    let most = MOST.iter().find(|(name, _)| *name == field).map_or(u64::from(MOST_OF_ONE_KIND), |(_, most)| *most);
    if count <= most || is_quantity(field) {
        return Ok(());
    }
    Err(format!("`{place}` is {count}; the limit is {most}"))
}

fn is_quantity(field: &str) -> bool {
    UNITS.iter().any(|unit| field.ends_with(unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_count_that_no_machine_has_is_refused_with_its_place() {
        let error = |value: Value| check(&value).unwrap_err();
        let cpu = |packages: Value| json!({"machine": {"cpu": {"packages": packages}}});
        assert_eq!(check(&cpu(json!(1024))), Ok(()));
        assert_eq!(error(cpu(json!(1025))), "`machine.cpu.packages` is 1025; the limit is 1024");
        assert_eq!(error(cpu(json!(-1))), "`machine.cpu.packages` is -1, which is not a count");
        assert!(error(json!({"warnings": vec![""; 1 << 15]})).contains("`warnings` has 32768 elements"));
        let text = error(json!({"sessions": [{"processes": [[0, 3], [4, u64::MAX]]}]}));
        assert!(text.starts_with("`sessions[0].processes[1][1]` is 18446744073709551615"), "{text}");
        assert!(error(json!({"planned_by_primitive": {"cpu.lock.mcs": 1_u64 << 40}})).contains("cpu.lock.mcs"));
        let stolen = |share: Value| json!({"sessions": [{"stolen": {"share": share, "seconds_by_cpu": {"3": 0.5}}}]});
        assert_eq!((check(&stolen(json!(1))), check(&stolen(json!(0.25)))), (Ok(()), Ok(())));
        for share in [json!(1.5), json!(2), json!(-0.5)] {
            assert_eq!(
                error(stolen(share.clone())),
                format!("`sessions[0].stolen.share` is {share}; it can be 0 to 1")
            );
        }
        assert!(
            error(json!({"clocks": [{"frequency_hz": 0}]})).contains("`clocks[0].frequency_hz` is 0; it can be 1 to")
        );
        assert!(error(json!({"sessions": [{"seconds": -1.0}]})).contains("`sessions[0].seconds` is -1.0"));
        assert!(error(json!({"stolen": {"seconds_by_cpu": {"3": -0.5}}})).contains("seconds_by_cpu.3` is -0.5"));
        assert_eq!(check(&json!({"seed": u64::MAX, "clocks": [{"frequency_hz": 2_000_000_000}], "a": 1e300})), Ok(()));
    }
}
