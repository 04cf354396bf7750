//! Instructions of PTX on floating-point numbers as C: registers have the bits of the numbers.

use crate::ptx_types::c_type;

/// The bits of `0f3F800000` or `0d3FF0000000000000` as a number of C.
pub(crate) fn constant(operand: &str) -> Option<String> {
    let digits = operand.strip_prefix("0f").or_else(|| operand.strip_prefix("0F"));
    let digits = digits.or_else(|| operand.strip_prefix("0d")).or_else(|| operand.strip_prefix("0D"))?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| format!("0x{digits}"))
}

/// The result of an instruction on floating-point numbers, as bits. Registers have the bits of such numbers.
pub(crate) fn floating(parts: &[&str], values: &[String]) -> Option<String> {
    let has = |part: &str| parts.contains(&part);
    let is_floating = |kind: &str| ["f32", "f64"].contains(&kind);
    let kind = *parts.last()?;
    if parts[0] == "cvt" {
        let (to, [a]) = (*parts.get(parts.len().checked_sub(2)?)?, values) else { return None };
        let from = if is_floating(kind) { format!("{kind}({a})") } else { format!("({}){a}", c_type(kind)?) };
        return match (is_floating(to), is_floating(kind)) {
            (true, _) if to != kind && !has("sat") => Some(format!("{to}_bits({from})")),
            (false, true) if has("rzi") => Some(format!("({})({from})", c_type(to)?)),
            _ => None,
        };
    }
    if !is_floating(kind) || has("sat") {
        return None;
    }
    let values: Vec<String> = values.iter().map(|value| format!("{kind}({value})")).collect();
    if let ("setp", [a, b]) = (parts[0], &values[..]) {
        // Modifiers such as `ftz` may stand between; another comparison is joined with `and`.
        return Some(match parts[1] {
            "eq" => format!("{a} == {b}"),
            "ne" => format!("{a} < {b} || {a} > {b}"),
            "lt" => format!("{a} < {b}"),
            "le" => format!("{a} <= {b}"),
            "gt" => format!("{a} > {b}"),
            "ge" => format!("{a} >= {b}"),
            "equ" => format!("!({a} < {b} || {a} > {b})"),
            "neu" => format!("{a} != {b}"),
            "ltu" => format!("!({a} >= {b})"),
            "leu" => format!("!({a} > {b})"),
            "gtu" => format!("!({a} <= {b})"),
            "geu" => format!("!({a} < {b})"),
            _ => return None,
        });
    }
    let value = match (parts[0], &values[..]) {
        ("add", [a, b]) => format!("{a} + {b}"),
        ("sub", [a, b]) => format!("{a} - {b}"),
        ("mul", [a, b]) => format!("{a} * {b}"),
        ("div", [a, b]) => format!("{a} / {b}"),
        ("fma" | "mad", [a, b, c]) => format!("{a} * {b} + {c}"),
        ("min", [a, b]) => format!("{a} < {b} || {b} != {b} ? {a} : {b}"),
        ("max", [a, b]) => format!("{a} > {b} || {b} != {b} ? {a} : {b}"),
        ("neg", [a]) => format!("-{a}"),
        ("abs", [a]) => format!("{a} < 0 ? -{a} : {a}"),
        ("rcp", [a]) => format!("1 / {a}"),
        _ => return None,
    };
    Some(format!("{kind}_bits({value})"))
}

/// The type of the bits of a value.
pub(crate) fn bits_type(kind: &str) -> Option<&'static str> {
    match kind {
        "f32" => Some("uint32_t"),
        "f64" => Some("uint64_t"),
        _ => c_type(kind),
    }
}
