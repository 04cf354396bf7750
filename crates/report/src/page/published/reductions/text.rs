//! Variants, sizes and times as text.

use syncscope_core::published::reductions::{Class, variant};

/// How many GPUs, where that differs.
pub(super) fn on(class: Class, devices: Option<u32>) -> String {
    devices.filter(|_| class == Class::Devices).map_or_else(String::new, |devices| format!(" ({devices} GPUs)"))
}

/// The name of a variant.
pub(super) fn name(id: &str) -> String {
    variant(id).map_or_else(|| id.to_owned(), |variant| variant.name.to_owned())
}

/// A power of two as such.
pub(super) fn size(elements: u64) -> String {
    if elements.is_power_of_two() && elements > 1 { format!("2^{}", elements.ilog2()) } else { elements.to_string() }
}

/// A time with three digits and its unit.
pub(super) fn time(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        size if size >= 1e6 => (ns / 1e6, "ms"),
        size if size >= 1e3 => (ns / 1e3, "us"),
        _ => (ns, "ns"),
    };
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}
