//! Sizes and numbers of GPUs as text; [`syncscope_core::published::reductions::text`] has variants and times.

use syncscope_core::published::reductions::Class;

/// How many GPUs, where that differs.
pub(super) fn on(class: Class, devices: Option<u32>) -> String {
    devices.filter(|_| class == Class::Devices).map_or_else(String::new, |devices| format!(" ({devices} GPUs)"))
}

/// A power of two as such.
pub(super) fn size(elements: u64) -> String {
    if elements.is_power_of_two() && elements > 1 { format!("2^{}", elements.ilog2()) } else { elements.to_string() }
}
