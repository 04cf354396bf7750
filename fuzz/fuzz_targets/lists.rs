//! Words and lists: CPUs, placements, types, groups, verdicts, and a glob (first line) against a name (second line).

#![no_main]

use libfuzzer_sys::fuzz_target;
use syncscope_core::{Domain, Dtype, Form, Group, MemoryOrder, Mode, Placement, Population, Preset};
use syncscope_host::cpu_list;

fuzz_target!(|text: &str| {
    if let Some(cpus) = cpu_list::parse(text) {
        let again = cpu_list::parse(&cpu_list::format(&cpus)).expect("a list that was written is read");
        let mut sorted = cpus;
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(again, sorted);
    }
    if let Ok(placement) = text.parse::<Placement>() {
        assert_eq!(placement.to_string().parse::<Placement>().as_ref(), Ok(&placement));
    }
    let group: Group = text.parse().expect("every word is a group");
    assert_eq!(group.to_string(), text);
    let _ = (text.parse::<Dtype>(), text.parse::<Form>(), text.parse::<Mode>(), text.parse::<MemoryOrder>());
    let _ = (text.parse::<Population>(), text.parse::<Preset>(), text.parse::<Domain>());
    if let Some((glob, name)) = text.split_once('\n')
        && let Ok(pattern) = glob::Pattern::new(glob)
    {
        let _ = pattern.matches(name);
    }
});
