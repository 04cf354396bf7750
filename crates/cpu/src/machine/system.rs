//! What Linux reports of the processor and its state, in `/proc` and `/sys`.

use std::fs;
use std::path::{Path, PathBuf};

use syncscope_core::machine::CpuSignature;

const CPUINFO: &str = "proc/cpuinfo";

/// The files of a system; the root is `/` but in tests.
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
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Where its files lie.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A file's text without white space around it; `None` if there is none.
    pub(super) fn read(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The value of `key` in a file of `key<separator>value` lines.
    pub(super) fn field(&self, path: &str, separator: char, key: &str) -> Option<String> {
        let text = self.read(path)?;
        let fields = text.lines().filter_map(|line| line.split_once(separator));
        fields
            .into_iter()
            .find(|(name, _)| name.trim() == key)
            .map(|(_, value)| value.trim().trim_matches('"').to_owned())
    }

    /// The processor's name. ARM systems have numbers or, in the device tree, the board's name.
    #[must_use]
    pub fn processor(&self) -> Option<String> {
        let arm = || {
            let field = |key| self.field(CPUINFO, ':', key);
            Some(format!("implementer {} part {}", field("CPU implementer")?, field("CPU part")?))
        };
        let board = || Some(self.read("proc/device-tree/model")?.trim_end_matches('\0').to_owned());
        self.field(CPUINFO, ':', "model name").or_else(arm).or_else(board)
    }

    /// Which design the processor is; `None` but on x86-64.
    #[must_use]
    pub fn signature(&self) -> Option<CpuSignature> {
        let field = |key| self.field(CPUINFO, ':', key);
        let number = |key| field(key)?.parse().ok();
        Some(CpuSignature {
            vendor: field("vendor_id")?,
            family: number("cpu family")?,
            model: number("model")?,
            stepping: number("stepping")?,
        })
    }

    /// Distribution and kernel.
    #[must_use]
    pub fn os(&self) -> String {
        let name = self.field("etc/os-release", '=', "PRETTY_NAME").unwrap_or_else(|| "Linux".to_owned());
        match self.read("proc/sys/kernel/osrelease") {
            Some(kernel) => format!("{name}, kernel {kernel}"),
            None => name,
        }
    }

    /// Main memory in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> Option<u64> {
        let text = self.field("proc/meminfo", ':', "MemTotal")?;
        let kibibytes: u64 = text.split_whitespace().next()?.parse().ok()?;
        Some(kibibytes * 1024)
    }

    /// The frequency governors of `cpus`; several are joined by commas.
    #[must_use]
    pub fn governor(&self, cpus: &[u32]) -> Option<String> {
        let of_cpu = |cpu| self.read(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"));
        let mut governors: Vec<String> = cpus.iter().filter_map(of_cpu).collect();
        governors.sort_unstable();
        governors.dedup();
        (!governors.is_empty()).then(|| governors.join(", "))
    }

    /// Whether the processor may exceed its base frequency.
    #[must_use]
    pub fn boost(&self) -> Option<bool> {
        let flag = |path: &str| self.read(path).map(|text| text == "1");
        let generic = flag("sys/devices/system/cpu/cpufreq/boost");
        generic.or_else(|| flag("sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| !off))
    }

    /// Load average over the last minute.
    #[must_use]
    pub fn load(&self) -> Option<f64> {
        self.read("proc/loadavg")?.split_whitespace().next()?.parse().ok()
    }

    /// The virtual machine monitor; `None` where none is detected.
    #[must_use]
    pub fn hypervisor(&self) -> Option<String> {
        cpuid_hypervisor().or_else(|| self.read("sys/hypervisor/type")).or_else(|| self.firmware_hypervisor())
    }

    /// The monitor that the firmware of a virtual machine names. Needed where there is no CPUID.
    fn firmware_hypervisor(&self) -> Option<String> {
        const MONITORS: [&str; 5] = ["QEMU", "VMware", "VirtualBox", "Xen", "Virtual Machine"];
        let names = ["sys/class/dmi/id/product_name", "sys/class/dmi/id/sys_vendor"].map(|path| self.read(path));
        names.into_iter().flatten().find(|name| MONITORS.iter().any(|monitor| name.contains(monitor)))
    }
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
        "" => "unknown".to_owned(),
        _ => name,
    })
}

#[cfg(not(target_arch = "x86_64"))]
const fn cpuid_hypervisor() -> Option<String> {
    None
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A system of these files. The folder lives as long as its guard.
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
            ("proc/loadavg", "0.25 0.50 0.75 1/100 4242\n"),
            ("proc/sys/kernel/osrelease", "6.12.1\n"),
            ("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 13\"\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
        ]);
        assert_eq!(system.processor().as_deref(), Some("AMD EPYC 9575F"));
        let signature = system.signature().unwrap();
        assert_eq!((signature.vendor.as_str(), signature.family, signature.model), ("AuthenticAMD", 26, 2));
        assert_eq!(system.memory_bytes(), Some(1 << 20));
        assert_eq!(system.load(), Some(0.25));
        assert_eq!(system.os(), "Debian GNU/Linux 13, kernel 6.12.1");
        assert_eq!(system.governor(&[0]).as_deref(), Some("performance"));
        assert_eq!(system.governor(&[0, 1]).as_deref(), Some("performance, powersave"));
        assert_eq!(system.boost(), Some(true));
    }

    #[test]
    fn missing_files_are_none() {
        let (_root, system) = system(&[("proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n")]);
        assert_eq!(system.processor().as_deref(), Some("implementer 0x41 part 0xd4f"));
        assert_eq!(system.signature(), None);
        assert_eq!((system.memory_bytes(), system.load(), system.boost()), (None, None, None));
        assert_eq!((system.governor(&[0]), system.os()), (None, "Linux".to_owned()));
    }
}
