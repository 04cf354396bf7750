//! What Linux reports of the processor, its state and its settings, in `/proc` and `/sys`, and of the libraries that this process has
//! loaded.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use syncscope_core::machine::{CpuSignature, LoadedLibrary, SystemSettings};
#[cfg(target_arch = "x86_64")]
use syncscope_host::scheduling::{self, AffinityGuard};
use syncscope_host::{content_hash, cpu_list, is_emulator};

use super::{arm, surroundings};

pub(super) const CPUINFO: &str = "proc/cpuinfo";

/// The files of a system; the root is `/` except in tests.
#[derive(Debug, Clone)]
pub struct System {
    root: PathBuf,
}

impl Default for System {
    fn default() -> Self {
        Self::at(Path::new("/"))
    }
}

impl System {
    /// The system whose files lie under `root`.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// A system of which no file is known.
    pub(super) fn without_files() -> Self {
        // Nothing lies below a device.
        Self::at(Path::new("/dev/null"))
    }

    /// The folder of the system's files.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A file's text without white space around it; `None` if there is none.
    pub(super) fn read(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The first value of `key` in a file of `key<separator>value` lines.
    pub(super) fn field(&self, path: &str, separator: char, key: &str) -> Option<String> {
        self.fields(path, separator, key).into_iter().next()
    }

    fn fields(&self, path: &str, separator: char, key: &str) -> Vec<String> {
        let text = self.read(path).unwrap_or_default();
        let fields = text.lines().filter_map(|line| line.split_once(separator)).filter(|(name, _)| name.trim() == key);
        fields.map(|(_, value)| value.trim().trim_matches('"').to_owned()).collect()
    }

    /// Unusual properties of this process, with their values.
    pub fn unusual(&self) -> BTreeMap<String, String> {
        surroundings::unusual(|path| self.read(path))
    }

    /// The processor's name. ARM systems have numbers or, in the device tree, the board's name.
    pub fn processor(&self) -> Option<String> {
        let board = || Some(self.read("proc/device-tree/model")?.trim_end_matches('\0').to_owned());
        if self.shows_another_machine() {
            return Some("emulated by QEMU".to_owned());
        }
        self.field(CPUINFO, ':', "model name")
            .or_else(|| arm::processor(&self.arm_designs(), &self.speeds()))
            .or_else(board)
    }

    /// The design of the processor; `None` except on x86-64.
    pub fn signature(&self) -> Option<CpuSignature> {
        let field = |key| self.field(CPUINFO, ':', key);
        let number = |key| field(key)?.parse().ok();
        if self.shows_another_machine() {
            return None;
        }
        Some(CpuSignature {
            vendor: field("vendor_id")?,
            family: number("cpu family")?,
            model: number("model")?,
            stepping: number("stepping")?,
        })
    }

    /// Distribution and kernel.
    pub fn os(&self) -> String {
        let name = self.field("etc/os-release", '=', "PRETTY_NAME").unwrap_or_else(|| "Linux".to_owned());
        match self.read("proc/sys/kernel/osrelease") {
            Some(kernel) => format!("{name}, kernel {kernel}"),
            None => name,
        }
    }

    /// Main memory in bytes.
    pub fn memory_bytes(&self) -> Option<u64> {
        bytes(&self.field("proc/meminfo", ':', "MemTotal")?)
    }

    /// The main memory that is available without swapping, in bytes.
    pub fn available_bytes(&self) -> Option<u64> {
        bytes(&self.field("proc/meminfo", ':', "MemAvailable")?)
    }

    /// The most memory that this process has had at any time.
    pub fn peak_memory_bytes(&self) -> Option<u64> {
        bytes(&self.field("proc/self/status", ':', "VmHWM")?)
    }

    /// The CPUs listed in a file; empty where there is no such file.
    pub(super) fn list(&self, path: &str) -> Vec<u32> {
        self.read(path).and_then(|list| cpu_list::parse(&list)).unwrap_or_default()
    }

    /// The CPUs that are online.
    pub(super) fn online_cpus(&self) -> Vec<u32> {
        self.list("sys/devices/system/cpu/online")
    }

    /// The design of each CPU; empty except on ARM.
    pub(super) fn arm_designs(&self) -> BTreeMap<u32, arm::Design> {
        let register = |cpu: u32| {
            Some((cpu, self.read(&format!("sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1"))?))
        };
        arm::designs(&self.read(CPUINFO).unwrap_or_default(), self.online_cpus().into_iter().filter_map(register))
    }

    /// The forms of ordered and atomic accesses that the processors have, on ARM.
    pub fn atomic_forms(&self) -> Option<String> {
        arm::atomic_forms(&self.read(CPUINFO)?)
    }

    /// The speeds of the online CPUs as the kernel reports them: their capacities or, without those, their highest
    /// frequencies. Empty unless the kernel reports all of them.
    pub(super) fn speeds(&self) -> HashMap<u32, u32> {
        let online = self.online_cpus();
        let number = |cpu: u32, file: &str| {
            Some((cpu, self.read(&format!("sys/devices/system/cpu/cpu{cpu}/{file}"))?.parse().ok()?))
        };
        let of_all = |file| online.iter().map(|cpu| number(*cpu, file)).collect::<Option<HashMap<_, _>>>();
        of_all("cpu_capacity").or_else(|| of_all("cpufreq/cpuinfo_max_freq")).unwrap_or_default()
    }

    /// The frequency governors of `cpus`; several are joined by commas.
    pub fn governor(&self, cpus: &[u32]) -> Option<String> {
        let of_cpu = |cpu| self.read(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"));
        listed(cpus.iter().filter_map(of_cpu))
    }

    /// Whether the processor may exceed its base frequency.
    pub fn boost(&self) -> Option<bool> {
        let flag = |path: &str| self.read(path).map(|text| text == "1");
        let generic = flag("sys/devices/system/cpu/cpufreq/boost");
        generic.or_else(|| flag("sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| !off))
    }

    /// Load average over the last minute.
    pub fn load(&self) -> Option<f64> {
        self.read("proc/loadavg")?.split_whitespace().next()?.parse().ok()
    }

    /// The virtual machine monitor; `None` where none is detected.
    pub fn hypervisor(&self) -> Option<String> {
        cpuid_hypervisor().or_else(|| self.read("sys/hypervisor/type")).or_else(|| self.firmware_hypervisor())
    }

    /// The emulator that executes the instructions; `None` on a real processor, also under a monitor. QEMU names its emulator
    /// in CPUID, or, where CPUID hides it, in the names of its own processor models.
    pub fn emulator(&self) -> Option<String> {
        if self.is_emulated_in_user_mode() {
            return Some("QEMU user mode".to_owned());
        }
        let is_named = self.processor().is_some_and(|name| name.contains("TCG"));
        (is_named || cpuid_hypervisor().as_deref() == Some(TCG)).then(|| TCG.to_owned())
    }

    /// Whether QEMU's user-mode emulation runs this process. It hides behind the emulated program, but only in `/proc/self`.
    /// Versions before 8.1 show the processors of the machine that they run on.
    pub fn is_emulated_in_user_mode(&self) -> bool {
        let program = fs::read_link(self.root.join("proc/thread-self/exe"));
        self.shows_another_machine() || program.is_ok_and(|program| is_emulator(&program))
    }

    fn shows_another_machine(&self) -> bool {
        cfg!(target_arch = "aarch64") && self.field(CPUINFO, ':', "vendor_id").is_some()
    }

    /// The monitor that a virtual machine's firmware names, for systems without CPUID.
    fn firmware_hypervisor(&self) -> Option<String> {
        const MONITORS: [&str; 5] = ["QEMU", "VMware", "VirtualBox", "Xen", "Virtual Machine"];
        let names = ["sys/class/dmi/id/product_name", "sys/class/dmi/id/sys_vendor"].map(|path| self.read(path));
        names.into_iter().flatten().find(|name| MONITORS.iter().any(|monitor| name.contains(monitor)))
    }
}

/// The bytes of a size such as `1024 kB`.
fn bytes(text: &str) -> Option<u64> {
    text.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// QEMU's translator of machine code.
const TCG: &str = "QEMU TCG";

/// The registers that CPUID writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Registers {
    pub(super) eax: u32,
    pub(super) ebx: u32,
    pub(super) ecx: u32,
    pub(super) edx: u32,
}

/// A leaf of CPUID on a CPU; `None` on other architectures, and where this thread may not use the CPU.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "`__cpuid_count` became safe after the oldest supported compiler")]
pub(super) fn cpuid_on(cpu: u32, leaf: u32) -> Option<Registers> {
    let _saved = AffinityGuard::save();
    scheduling::bind_to_one(cpu).ok()?;
    // SAFETY: every x86-64 processor has CPUID; an unknown leaf returns numbers without a meaning.
    let result = unsafe { std::arch::x86_64::__cpuid_count(leaf, 0) };
    Some(Registers { eax: result.eax, ebx: result.ebx, ecx: result.ecx, edx: result.edx })
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) const fn cpuid_on(_: u32, _: u32) -> Option<Registers> {
    None
}

#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "`__cpuid` became safe after the oldest supported compiler")]
fn cpuid_hypervisor() -> Option<String> {
    use std::arch::x86_64::__cpuid;
    // SAFETY: every x86-64 processor has CPUID.
    let (features, vendor) = unsafe { (__cpuid(1), __cpuid(0x4000_0000)) };
    // Bit 31 is never set by hardware (AMD APM 3, E.3.2; Intel leaves it reserved).
    if features.ecx & (1 << 31) == 0 {
        return None;
    }
    let bytes = [vendor.ebx, vendor.ecx, vendor.edx].map(u32::to_le_bytes).concat();
    let name = String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ']).to_owned();
    Some(match name.as_str() {
        "KVMKVMKVM" => "KVM".to_owned(),
        "Microsoft Hv" => "Hyper-V".to_owned(),
        "VMwareVMware" => "VMware".to_owned(),
        "XenVMMXenVMM" => "Xen".to_owned(),
        "TCGTCGTCGTCG" => TCG.to_owned(),
        "" => "unknown".to_owned(),
        _ => name,
    })
}

#[cfg(not(target_arch = "x86_64"))]
const fn cpuid_hypervisor() -> Option<String> {
    None
}

// Settings of the processor's firmware and of the kernel that change what synchronization costs.

/// The settings of this system.
pub fn settings(system: &System) -> SystemSettings {
    let number = |path: &str| system.read(path)?.parse::<u32>().ok();
    let online = system.online_cpus();
    let of_cpu = |cpu: u32, file: &str| system.read(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}"));
    SystemSettings {
        microcode: listed(system.fields(CPUINFO, ':', "microcode").into_iter()),
        kernel_parameters: system.read("proc/cmdline").map(|line| parameters_that_matter(&line)),
        mitigations: mitigations(system),
        transparent_huge_pages: system.read("sys/kernel/mm/transparent_hugepage/enabled").as_deref().and_then(chosen),
        numa_balancing: number("proc/sys/kernel/numa_balancing"),
        ksm: number("sys/kernel/mm/ksm/run").map(|run| run == 1),
        aslr: number("proc/sys/kernel/randomize_va_space").map(|level| if is_exempt(system) { 0 } else { level }),
        smt: system.read("sys/devices/system/cpu/smt/control"),
        isolated_cpus: cpu_list(system, "sys/devices/system/cpu/isolated"),
        nohz_full_cpus: cpu_list(system, "sys/devices/system/cpu/nohz_full"),
        clocksource: system.read("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        idle_states: idle_states(system),
        frequency_range: listed(online.iter().filter_map(|cpu| {
            let megahertz = |end| Some(of_cpu(*cpu, &format!("scaling_{end}_freq"))?.parse::<u64>().ok()? / 1000);
            Some(format!("{} to {} MHz", megahertz("min")?, megahertz("max")?))
        })),
        energy_preference: listed(online.iter().filter_map(|cpu| of_cpu(*cpu, "energy_performance_preference"))),
        process: system.unusual(),
    }
}

/// The driver, the governor and the idle states of the CPUs. States that are switched off on some or all CPUs are marked.
fn idle_states(system: &System) -> Option<String> {
    const FOLDER: &str = "sys/devices/system/cpu/cpuidle";
    let cpus = system.online_cpus();
    let folder = |cpu: &u32, state: u32| format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
    let marked = |state: u32| {
        let name = system.read(&format!("{}/name", folder(cpus.first()?, state)))?;
        let is_off =
            |cpu: &u32| system.read(&format!("{}/disable", folder(cpu, state))).is_some_and(|flag| flag != "0");
        Some(match cpus.iter().filter(|cpu| is_off(cpu)).count() {
            0 => name,
            off if off == cpus.len() => format!("{name} (off)"),
            off => format!("{name} (off on {off} of {} CPUs)", cpus.len()),
        })
    };
    let states: Vec<String> = (0..).map_while(marked).collect();
    let of_all = ["current_driver", "current_governor", "current_governor_ro"]
        .map(|file| system.read(&format!("{FOLDER}/{file}")));
    let [driver, governor, older] = of_all;
    let parts: Vec<String> = driver.into_iter().chain(governor.or(older)).chain(states).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The different values of all CPUs, joined by commas; `None` without any value.
fn listed(values: impl Iterator<Item = String>) -> Option<String> {
    let values = Vec::from_iter(values.collect::<BTreeSet<_>>());
    (!values.is_empty()).then(|| values.join(", "))
}

/// Beginnings of the kernel parameters that change scheduling, idling, clocks, memory or mitigations (Linux
/// `Documentation/admin-guide/kernel-parameters.txt`). Only these are recorded: others may name a host, a network or a
/// user.
const THAT_MATTER: &str = "\
    acpi_ amd_iommu amd_pstate amd_prefcore clocksource cpufreq. cpuidle default_hugepagesz gather_data_sampling \
    haltpoll. highres hpet hugepages idle indirect_target_selection intel_idle. intel_iommu intel_pstate iommu \
    irqaffinity isolcpus kaslr kvm l1d_flush l1tf lapic managed_irq maxcpus mce mds mitigations mmio_stale_data \
    nmi_watchdog no5lvl nohpet nohz nokaslr nopti norandmaps nosmt nospec nosoftlockup notsc nowatchdog nr_cpus numa \
    nvidia pci possible_cpus preempt processor. psi pti rcu reg_file_data_sampling retbleed sched skew_tick spec \
    split_lock_detect srbds threadirqs transparent_hugepage tsa tsc tsx vmscape";

fn parameters_that_matter(line: &str) -> String {
    // Words behind `--` are for the first process, not for the kernel.
    let words = line.split_whitespace().take_while(|word| *word != "--");
    words.filter(|word| THAT_MATTER.split(' ').any(|start| word.starts_with(start))).collect::<Vec<_>>().join(" ")
}

/// The vulnerabilities that the kernel knows, except those that do not affect this processor.
fn mitigations(system: &System) -> BTreeMap<String, String> {
    const FOLDER: &str = "sys/devices/system/cpu/vulnerabilities";
    let entries = fs::read_dir(system.root().join(FOLDER)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| Some((system.read(&format!("{FOLDER}/{name}"))?, name)))
        .filter(|(state, _)| state != "Not affected")
        .map(|(state, name)| (name, state))
        .collect()
}

/// The word in brackets: `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// Whether the process asked for addresses that are not randomized (`setarch --addr-no-randomize`).
fn is_exempt(system: &System) -> bool {
    /// `ADDR_NO_RANDOMIZE` of `linux/personality.h`.
    const ADDR_NO_RANDOMIZE: u64 = 0x0004_0000;
    let personality = system.read("proc/self/personality");
    let bits = personality.and_then(|text| u64::from_str_radix(&text, 16).ok());
    bits.is_some_and(|bits| bits & ADDR_NO_RANDOMIZE != 0)
}

/// The list in a file, which is empty or `(null)` where there is no CPU.
fn cpu_list(system: &System, path: &str) -> Option<String> {
    let text = fs::read_to_string(system.root().join(path)).ok()?;
    Some(text.trim().replace("(null)", ""))
}

// Shared libraries as this process has loaded them: which file, and of which version.

/// Folders that systems install into. The path of a file elsewhere may name a user and is not recorded.
const SYSTEM_FOLDERS: [&str; 4] = ["/usr/", "/lib/", "/lib64/", "/opt/"];

/// The library of this name, such as `libgomp`; `None` if it is not loaded.
pub fn loaded_library(system: &System, name: &str) -> Option<LoadedLibrary> {
    let path = loaded_file(system, name)?;
    let file_name = Path::new(&path).file_name()?.to_str()?.to_owned();
    let is_systems = SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder));
    // `1.0.0` of `libgomp.so.1.0.0`
    let in_name = || Some(file_name.split_once(".so.")?.1.to_owned());
    let version = package_version(system, name, &path).or_else(in_name);
    let content = fs::read(system.root().join(path.trim_start_matches('/')));
    let hash = content.ok().map(|bytes| content_hash(&bytes));
    Some(LoadedLibrary { name: name.to_owned(), file: if is_systems { path } else { file_name }, version, hash })
}

/// The mapped file whose name begins with `name.so`. The kernel resolves links.
fn loaded_file(system: &System, name: &str) -> Option<String> {
    let maps = system.read("proc/self/maps")?;
    let start = format!("{name}.so");
    maps.lines()
        .filter_map(|line| line.find('/').map(|path| &line[path..]))
        .find(|path| path.rsplit('/').next().is_some_and(|file| file.starts_with(&start)))
        .map(|path| path.trim_end_matches(" (deleted)").to_owned())
}

/// Version of the Debian package that installed the file, as `dpkg` lists it.
fn package_version(system: &System, name: &str, path: &str) -> Option<String> {
    const LISTS: &str = "var/lib/dpkg/info";
    // `/lib` may be a link to `/usr/lib`, and the list may have either name.
    let bare = path.strip_prefix("/usr").unwrap_or(path);
    let names_file = |line: &str| line.strip_prefix("/usr").unwrap_or(line) == bare;
    let lists = fs::read_dir(system.root().join(LISTS)).ok()?.flatten();
    let lists = lists.filter_map(|entry| entry.file_name().into_string().ok());
    let owner = lists
        .filter_map(|list| Some(list.strip_suffix(".list")?.to_owned()))
        .filter(|package| package.starts_with(name))
        .find(|package| {
            system.read(&format!("{LISTS}/{package}.list")).is_some_and(|list| list.lines().any(names_file))
        })?;
    // `libgomp1:amd64`
    let (package, architecture) = owner.split_once(':').map_or((&*owner, None), |(name, arch)| (name, Some(arch)));
    let status = system.read("var/lib/dpkg/status")?;
    let paragraph = status.split("\n\n").find(|paragraph| {
        let has = |key: &str, value: &str| field(paragraph, key) == Some(value);
        has("Package", package) && architecture.is_none_or(|architecture| has("Architecture", architecture))
    })?;
    field(paragraph, "Version").map(str::to_owned)
}

fn field<'a>(paragraph: &'a str, key: &str) -> Option<&'a str> {
    paragraph.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A system with these files. The folder lives as long as its guard.
    pub(crate) fn system(files: &[(&str, &str)]) -> (tempfile::TempDir, System) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let system = System::at(root.path());
        (root, system)
    }

    #[test]
    fn files_are_read() {
        let (_root, system) = system(&[
            (
                "proc/cpuinfo",
                "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC 9575F\nstepping\t: 1\n",
            ),
            ("proc/meminfo", "MemTotal:       1024 kB\nMemFree: 1 kB\n"),
            ("proc/self/status", "Name:\tsyncscope\nVmHWM:\t   20480 kB\n"),
            ("proc/loadavg", "0.25 0.50 0.75 1/100 4242\n"),
            ("proc/sys/kernel/osrelease", "6.12.1\n"),
            ("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 13\"\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
        ]);
        // On other architectures, the processor is the one of the machine that emulates.
        if cfg!(target_arch = "x86_64") {
            assert_eq!(system.processor().as_deref(), Some("AMD EPYC 9575F"));
            let signature = system.signature().unwrap();
            assert_eq!((signature.vendor.as_str(), signature.family, signature.model), ("AuthenticAMD", 26, 2));
        }
        assert_eq!(system.memory_bytes(), Some(1 << 20));
        assert_eq!(system.peak_memory_bytes(), Some(20 << 20));
        assert_eq!(system.load(), Some(0.25));
        assert_eq!(system.os(), "Debian GNU/Linux 13, kernel 6.12.1");
        assert_eq!(system.governor(&[0]).as_deref(), Some("performance"));
        assert_eq!(system.governor(&[0, 1]).as_deref(), Some("performance, powersave"));
        assert_eq!(system.boost(), Some(true));
    }

    #[test]
    fn an_emulator_is_no_monitor() {
        let named = |model: &str| system(&[("proc/cpuinfo", &format!("model name\t: {model}\n"))]);
        let (_root, emulated) = named("QEMU TCG CPU version 2.5+");
        assert_eq!(emulated.emulator().as_deref(), Some("QEMU TCG"));
        let (_root, guest) = named("AMD EPYC 9575F");
        assert_eq!(guest.emulator().is_some(), cpuid_hypervisor().as_deref() == Some(TCG));
        let (root, user_mode) = named("AMD EPYC 9575F");
        fs::create_dir_all(root.path().join("proc/thread-self")).unwrap();
        std::os::unix::fs::symlink("/usr/bin/qemu-aarch64-static", root.path().join("proc/thread-self/exe")).unwrap();
        assert_eq!(user_mode.emulator().as_deref(), Some("QEMU user mode"));
    }

    #[test]
    fn missing_files_are_none() {
        let (_root, system) = system(&[("proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n")]);
        assert_eq!(system.processor().as_deref(), Some("ARM Neoverse V2"));
        assert_eq!(system.signature(), None);
        assert_eq!((system.memory_bytes(), system.load(), system.boost()), (None, None, None));
        assert_eq!((system.governor(&[0]), system.os()), (None, "Linux".to_owned()));
    }

    #[test]
    fn settings_are_read() {
        let (_root, system) = system(&[
            (
                "proc/cpuinfo",
                "processor\t: 0\nmicrocode\t: 0xb2\n\nprocessor\t: 1\nmicrocode\t: 0xb1\nmicrocode: 0xb2\n",
            ),
            (
                "proc/cmdline",
                "BOOT_IMAGE=/home/ann/vmlinuz root=UUID=1 hostname=ann-pc isolcpus=2-3 quiet nohz_full=2-3\n",
            ),
            ("proc/sys/kernel/numa_balancing", "1\n"),
            ("proc/sys/kernel/randomize_va_space", "2\n"),
            ("sys/devices/system/cpu/vulnerabilities/mds", "Not affected\n"),
            ("sys/devices/system/cpu/vulnerabilities/retbleed", "Mitigation: Enhanced IBRS\n"),
            ("sys/devices/system/cpu/vulnerabilities/srbds", "Vulnerable\n"),
            ("sys/devices/system/cpu/smt/control", "on\n"),
            ("sys/devices/system/cpu/isolated", "2-3\n"),
            ("sys/devices/system/cpu/nohz_full", "  (null)\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
            ("sys/kernel/mm/ksm/run", "0\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ]);
        let text = |text: &str| Some(text.to_owned());
        let mitigations = [("retbleed", "Mitigation: Enhanced IBRS"), ("srbds", "Vulnerable")];
        let expected = SystemSettings {
            microcode: text("0xb1, 0xb2"),
            kernel_parameters: text("isolcpus=2-3 nohz_full=2-3"),
            mitigations: mitigations.map(|(name, state)| (name.to_owned(), state.to_owned())).into(),
            transparent_huge_pages: text("madvise"),
            numa_balancing: Some(1),
            ksm: Some(false),
            aslr: Some(2),
            smt: text("on"),
            isolated_cpus: text("2-3"),
            nohz_full_cpus: text(""),
            clocksource: text("tsc"),
            process: BTreeMap::new(),
            ..SystemSettings::default()
        };
        assert_eq!(settings(&system), expected);
    }

    /// Administrators and daemons change these settings while the machine runs.
    #[test]
    fn how_cpus_idle_and_which_frequencies_they_may_have_is_read_of_each() {
        const CPUS: &str = "sys/devices/system/cpu";
        let mut files = vec![
            (format!("{CPUS}/online"), "0-1"),
            (format!("{CPUS}/cpuidle/current_driver"), "intel_idle\n"),
            (format!("{CPUS}/cpuidle/current_governor_ro"), "menu\n"),
        ];
        for (cpu, most, [c1, c6]) in [(0, "3800000", ["1", "0"]), (1, "2000000", ["1", "1"])] {
            for (state, name, off) in [(0, "POLL", "0"), (1, "C1", c1), (2, "C6", c6)] {
                files.push((format!("{CPUS}/cpu{cpu}/cpuidle/state{state}/name"), name));
                files.push((format!("{CPUS}/cpu{cpu}/cpuidle/state{state}/disable"), off));
            }
            files.push((format!("{CPUS}/cpu{cpu}/cpufreq/scaling_min_freq"), "800000"));
            files.push((format!("{CPUS}/cpu{cpu}/cpufreq/scaling_max_freq"), most));
            files.push((format!("{CPUS}/cpu{cpu}/cpufreq/energy_performance_preference"), "power"));
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let (_root, system) = system(&files);
        let found = settings(&system);
        let states = "intel_idle, menu, POLL, C1 (off), C6 (off on 1 of 2 CPUs)";
        assert_eq!(found.idle_states.as_deref(), Some(states));
        assert_eq!(found.frequency_range.as_deref(), Some("800 to 2000 MHz, 800 to 3800 MHz"));
        assert_eq!(found.energy_preference.as_deref(), Some("power"));
    }

    #[test]
    fn missing_files_are_unknown_not_wrong() {
        let (_root, system) = system(&[]);
        assert_eq!(settings(&system), SystemSettings::default());
    }

    #[test]
    fn a_process_can_be_exempt_from_randomization() {
        let (_root, system) =
            system(&[("proc/sys/kernel/randomize_va_space", "2\n"), ("proc/self/personality", "00040000\n")]);
        assert_eq!(settings(&system).aslr, Some(0));
    }

    #[test]
    fn parameters_of_the_first_process_are_not_the_kernels() {
        assert_eq!(parameters_that_matter("mitigations=off -- --isolcpus tsc=reliable"), "mitigations=off");
        assert_eq!(parameters_that_matter("ip=10.0.0.1::::ann-pc:eth0 nfsroot=ann@host user=ann"), "");
    }

    #[test]
    fn this_system_is_read_without_failing() {
        let here = settings(&System::default());
        assert!(here.aslr.is_none_or(|level| level <= 2), "{here:?}");
    }

    const MAPS: &str = "55d0-55d1 r-xp 00000000 08:01 12   /usr/bin/syncscope\n\
        7f00-7f01 r--p 00000000 08:01 34                   /usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0\n\
        7f01-7f02 r-xp 00001000 08:01 34                   /usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0\n\
        7f03-7f04 rw-p 00000000 00:00 0\n\
        7f05-7f06 r-xp 00000000 08:01 56                   /home/ann/my env/lib/libomp.so.5\n";

    #[test]
    fn a_package_says_its_version() {
        let (_root, system) = system(&[
            ("proc/self/maps", MAPS),
            ("usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0", "foobar"),
            ("var/lib/dpkg/info/libgomp-plugin:amd64.list", "/usr/lib\n/usr/lib/other.so\n"),
            ("var/lib/dpkg/info/libgomp1:amd64.list", "/.\n/lib/x86_64-linux-gnu/libgomp.so.1.0.0\n"),
            (
                "var/lib/dpkg/status",
                "Package: libgomp1\nArchitecture: i386\nVersion: 11\n\nPackage: libgomp1\nStatus: installed\n\
                 Architecture: amd64\nVersion: 12.2.0-14\n\nPackage: zlib\nVersion: 1\n",
            ),
        ]);
        let expected = LoadedLibrary {
            name: "libgomp".to_owned(),
            file: "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0".to_owned(),
            version: Some("12.2.0-14".to_owned()),
            hash: Some("85944171f73967e8".to_owned()),
        };
        assert_eq!(loaded_library(&system, "libgomp"), Some(expected));
    }

    #[test]
    fn a_file_in_a_home_directory_is_named_without_its_folder() {
        let (_root, system) = system(&[("proc/self/maps", MAPS)]);
        let library = loaded_library(&system, "libomp").unwrap();
        assert_eq!((library.file.as_str(), library.version.as_deref()), ("libomp.so.5", Some("5")));
        assert_eq!(library.hash, None);
        assert_eq!(loaded_library(&system, "libiomp5"), None);
    }
}
