//! Launches outside the catalogue: the papers' programs; a user's whole kernels, their regions and sequences of launches.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use syncscope_core::language::ending;
use syncscope_core::{Case, OwnLaunch, OwnOperation, Refusal};

use super::{GpuLaboratory, Made, failed};
use crate::catalogue::own::launched::{self, Argument};
use crate::catalogue::{HostWait, own};
use crate::cuda::compile::Program;
use crate::cuda::compiler_process::CompilerProcesses;
use crate::cuda::driver::{Context, waits_as_asked};
use crate::cuda::error::GpuError;
use crate::cuda::host_library::HostLibrary;
use crate::experiments::launched::{Launched, LaunchedExperiment, REGION_WORDS};
use crate::own_device::OwnDevice;

/// What was compiled or loaded, by the operation's id.
#[derive(Debug, Default)]
pub(super) struct LaunchedState {
    images: HashMap<String, Arc<[u8]>>,
    libraries: HashMap<String, HostLibrary>,
}

impl GpuLaboratory {
    /// The first opened device with a new context.
    ///
    /// # Errors
    /// The error of the driver.
    pub fn own_device(&self) -> Result<OwnDevice, GpuError> {
        Ok(OwnDevice::in_context(Context::new(self.device)?)?)
    }

    /// Compiles the programs that are not compiled yet, on all CPUs.
    pub fn prepare_programs(&mut self, programs: &[Program]) {
        self.compiler.prepare(programs, &mut |_, _| {});
    }

    /// The machine code of a program, compiled now if it was not before.
    ///
    /// # Errors
    /// The error of the compiler.
    pub fn cubin(&mut self, program: &Program) -> Result<Arc<[u8]>, GpuError> {
        Ok(self.compiler.cubin(program)?)
    }
}

impl GpuLaboratory {
    /// A chain of launches.
    pub(super) fn launched(&mut self, case: &Case, own: &OwnOperation, launch: &OwnLaunch) -> Made<'_> {
        match &launch.kernel {
            Some(kernel) => self.launched_kernel(own, launch, kernel),
            None => self.launch_sequence(case, own),
        }
    }

    fn launched_kernel(&mut self, own: &OwnOperation, launch: &OwnLaunch, kernel: &str) -> Made<'_> {
        let image = self.image(own, launch, kernel)?;
        let mut device = self.own_device().map_err(failed)?;
        let loaded = device.load_own(&image, own.launch_memory.unwrap_or(0)).map_err(failed)?;
        let name = std::ffi::CString::new(kernel).map_err(failed)?;
        let kernel = loaded.kernel(&name).map_err(failed)?;
        let parsed = launch.arguments.iter().map(|text| Argument::of(text));
        let parsed: Vec<Argument> = parsed.collect::<Result<_, _>>().map_err(Refusal::Failed)?;
        let mut allocate = |bytes| device.memory(bytes).map(|memory| memory.address);
        let words = parsed.iter().map(|argument| argument.words(&mut allocate));
        let mut arguments: Vec<Vec<u64>> = words.collect::<Result<_, _>>().map_err(failed)?;
        let region = launch.region.as_ref().map(|_| device.results(REGION_WORDS)).transpose().map_err(failed)?;
        arguments.extend(region.map(|memory| vec![memory.address]));
        let ruler = if region.is_some() { self.ruler.clone() } else { self.host_ruler.clone() };
        let launched = Launched::Kernel { kernel, shape: [launch.grid, launch.block], arguments, region };
        Ok(Box::new(LaunchedExperiment { device, launched, ruler, cpu: self.nearby_cpus.any(), ended: None }))
    }

    /// The image to load: the CUBIN of a CUDA file or the user's PTX, and the image of a region.
    fn image(&mut self, own: &OwnOperation, launch: &OwnLaunch, kernel: &str) -> Result<Arc<[u8]>, Refusal> {
        if let Some(image) = self.launched.images.get(&own.id) {
            return Ok(Arc::clone(image));
        }
        let is_ptx = own.file.as_deref().and_then(ending) == Some(own::launched::PTX);
        let image: Arc<[u8]> = if !is_ptx && launch.region.is_none() {
            self.compiler.cubin(&launched::program(own)).map_err(failed)?
        } else {
            let compiled =
                || self.compiler.ptx(&CompilerProcesses::default(), &launched::program(own), false).map_err(failed);
            let ptx = if is_ptx { own.text.clone() } else { compiled()? };
            let marked = |region| launched::with_region(&ptx, kernel, region);
            let gone = || Refusal::Failed(format!("the kernel `{kernel}` is gone"));
            match &launch.region {
                Some(region) => marked(region).ok_or_else(gone)?.into_bytes().into(),
                None => ptx.into_bytes().into(),
            }
        };
        self.launched.images.insert(own.id.clone(), Arc::clone(&image));
        Ok(image)
    }

    /// A sequence of launches in the context that the CUDA runtime uses, in which what the file keeps from call to call stays
    /// valid.
    fn launch_sequence(&mut self, case: &Case, own: &OwnOperation) -> Made<'_> {
        let wait = launched::wait_of(case.group_word());
        if matches!(wait, Some(HostWait::Stream(_))) && !waits_as_asked() {
            return Err(Refusal::Skipped("the way to wait needs a driver of CUDA 12.1 or later".to_owned()));
        }
        let mut device = OwnDevice::in_context(Context::primary(self.device).map_err(failed)?).map_err(failed)?;
        if wait == Some(HostWait::Function) {
            // Make the driver create its thread for host functions now, while this thread may run on any CPU: later both would
            // share one.
            device.call_own(1, |_| Ok(()), wait).map_err(failed)?;
        }
        let arch = self.compiler.arch_of_users();
        let library = match self.launched.libraries.entry(own.id.clone()) {
            Entry::Occupied(library) => &*library.into_mut(),
            Entry::Vacant(place) => &*place.insert(HostLibrary::of(own, arch).map_err(Refusal::Failed)?),
        };
        let (ruler, cpu) = (self.host_ruler.clone(), self.nearby_cpus.any());
        let launched = Launched::Sequence { library, wait };
        Ok(Box::new(LaunchedExperiment { device, launched, ruler, cpu, ended: None }))
    }
}
