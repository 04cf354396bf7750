//! Sums by NCCL: the library, loaded on first use, and its groups of devices.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use syncscope_core::machine::GpuMachine;
use syncscope_core::{Case, Refusal};

use super::{GpuLaboratory, Made, failed};
use crate::cuda::discovery::Surroundings;
use crate::cuda::error::{Called, GpuError};
use crate::cuda::nccl::Nccl;
use crate::nccl::{Launching, NcclExperiment, NcclGroup, PRIMITIVES, WINDOW, cases};

/// The state of NCCL, which is loaded and opened on demand.
#[derive(Debug, Default)]
pub(super) struct NcclState {
    /// The library, or why there is none.
    library: OnceCell<Result<Rc<Nccl>, String>>,
    /// Groups by number of devices and whether values are in windows. Opening one takes a second, so they stay for the whole
    /// run.
    groups: HashMap<(u32, bool), NcclGroup>,
}

impl NcclState {
    fn library(&self) -> Result<&Rc<Nccl>, String> {
        let library = self.library.get_or_init(|| Nccl::find(&Surroundings::of_process()).map(Rc::new));
        library.as_ref().map_err(Clone::clone)
    }

    /// Refuses every case once a sum did not end, because that sum occupies its devices.
    pub(super) fn checked_health(&self) -> Result<(), Refusal> {
        let is_hung = self.groups.values().any(|group| group.is_hung);
        if is_hung { Err(Refusal::Lost(GpuError::Occupied.to_string())) } else { Ok(()) }
    }

    /// Takes the groups, to be dropped or leaked.
    pub(super) fn take(&mut self) -> HashMap<(u32, bool), NcclGroup> {
        std::mem::take(&mut self.groups)
    }
}

/// NCCL occupies memory and threads on every device, so it is used only on request.
const NOT_ASKED: &str = "measured where SYNCSCOPE_NCCL names the folder of libnccl.so.2";

impl GpuLaboratory {
    /// Why a sum by NCCL cannot be measured; `None` if it can, and for all other primitives.
    pub(super) fn without_nccl(&self, id: &str) -> Option<String> {
        PRIMITIVES.iter().find(|primitive| primitive.id == id)?;
        if self.machines.len() < 2 {
            return Some("needs two GPUs or more".to_owned());
        }
        if std::env::var_os("SYNCSCOPE_NCCL").is_none_or(|chosen| chosen.is_empty()) {
            return Some(NOT_ASKED.to_owned());
        }
        self.nccl.library().err()
    }

    /// The cases for the devices that exist; none without NCCL.
    pub(super) fn nccl_cases(&self) -> Vec<Case> {
        let devices = u32::try_from(self.machines.len()).unwrap_or(u32::MAX);
        cases(devices).into_iter().filter(|case| self.without_nccl(&case.primitive).is_none()).collect()
    }

    /// A chain of sums on the first devices.
    pub(super) fn nccl_sum(&mut self, case: &Case, launching: Launching) -> Made<'_> {
        if let Some(reason) = self.without_nccl(&case.primitive) {
            return Err(Refusal::Skipped(reason));
        }
        let count = case.devices.unwrap_or(0);
        let there = self.machines.len();
        if count < 2 || count as usize > there {
            return Err(Refusal::Skipped(format!("asked {count} devices, there are {there}")));
        }
        let library = Rc::clone(self.nccl.library().map_err(Refusal::Skipped)?);
        let has_windows = case.in_group(WINDOW);
        if has_windows && !library.has_windows() {
            let reason = format!("NCCL {} has no ncclCommWindowRegister, which came with 2.27", library.version());
            return Err(Refusal::Skipped(reason));
        }
        let group = match self.nccl.groups.entry((count, has_windows)) {
            Entry::Occupied(group) => group.into_mut(),
            Entry::Vacant(place) => {
                let machines = self.machines[..count as usize].iter();
                let device = |machine: &GpuMachine| Ok((machine.index, self.driver.device(machine.index)?));
                let devices = machines.map(device).collect::<Called<Vec<_>>>().map_err(failed)?;
                place.insert(NcclGroup::open(&library, &devices, has_windows).map_err(failed)?)
            }
        };
        let (ruler, cpu) = (self.host_ruler.clone(), self.nearby_cpus.any());
        Ok(Box::new(NcclExperiment { group, launching, devices: count, ruler, cpu }))
    }
}
