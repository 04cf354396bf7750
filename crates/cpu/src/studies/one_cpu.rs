//! Two threads on one CPU.

use syncscope_core::{Case, Group, Placement, Preset};

use super::study::{Setting, Study};

/// What it costs that two threads take turns on one CPU: the one that is woken has to wait for the other one to leave.
pub(crate) struct OneCpu;

impl Study for OneCpu {
    fn name(&self) -> &'static str {
        "one_cpu"
    }

    /// Every template with both threads on the first CPU.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        let cpu = setting.topology.allowed().next().filter(|_| setting.preset != Preset::Quick);
        let on = |cpu: u32| {
            let placement = Some(Placement::List(vec![cpu; 2]));
            templates.iter().map(move |case| Case {
                threads: Some(2),
                placement: placement.clone(),
                group: Some(Group::OneCpu),
                ..case.clone()
            })
        };
        cpu.into_iter().flat_map(|cpu| on(cpu.os)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::placement::place;
    use crate::machine::topology::tests::regular;

    #[test]
    fn both_threads_share_the_first_cpu_that_may_be_used() {
        let machine = regular(1, 1, 1, 4, 1).restricted(|cpu| cpu > 1);
        let cases = OneCpu.cases(&Setting::of(Preset::Standard, &machine), &[Case::new("cpu.wake.futex")]);
        let placed = place(&machine, cases[0].placement.as_ref().unwrap(), 2).unwrap();
        assert_eq!((cases.len(), placed.cpus.clone()), (1, vec![Some(2); 2]));
        assert!(placed.oversubscribed());
        assert!(OneCpu.cases(&Setting::of(Preset::Quick, &machine), &[Case::new("cpu.wake.futex")]).is_empty());
    }
}
