//! The CPUs near a device: those of its PCI bus's NUMA node, as Linux reports it.

use std::fs;
use std::path::Path;
use syncscope_core::words::words;
use syncscope_host::cpu_list;

/// The CPUs this process may use, by their distance to a device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NearbyCpus {
    /// CPUs on the device's node; all CPUs if the system does not report the node.
    near: Vec<u32>,
    /// CPUs on other nodes.
    far: Vec<u32>,
    /// Whether the system reports the node.
    is_known: bool,
}

words! {
    /// A distance from the device, used as the group of cases on CPUs there.
    pub(crate) enum Distance ("distance") {
        Near = "near",
        Far = "far",
    }
}

impl NearbyCpus {
    /// Sorts the allowed CPUs by their distance to the device at a PCI address such as `00000000:17:00.0`.
    pub(crate) fn of_device(pci_address: &str, allowed: &[u32]) -> Self {
        Self::read(Path::new("/sys"), pci_address, allowed)
    }

    fn read(sys: &Path, pci_address: &str, allowed: &[u32]) -> Self {
        // Linux writes at least four digits of the domain; the driver writes eight.
        let address = pci_address.strip_prefix("0000").filter(|rest| rest.len() >= 12).unwrap_or(pci_address);
        let file = sys.join("bus/pci/devices").join(address.to_lowercase()).join("local_cpulist");
        let local = fs::read_to_string(file).ok().and_then(|text| cpu_list::parse(text.trim()));
        Self::new(allowed, local.as_deref())
    }

    pub(crate) fn new(allowed: &[u32], local: Option<&[u32]>) -> Self {
        let is_near = |cpu: &&u32| local.is_none_or(|local| local.contains(cpu));
        let (near, far) = allowed.iter().partition(is_near);
        Self { near, far, is_known: local.is_some() }
    }

    /// Returns `count` CPUs at this distance: the last ones, because the system itself mostly uses the first ones. `None` if
    /// there are fewer.
    pub(crate) fn some(&self, distance: Distance, count: usize) -> Option<Vec<u32>> {
        let there = match distance {
            Distance::Near => &self.near,
            Distance::Far => &self.far,
        };
        there.len().checked_sub(count).and_then(|first| there.get(first..)).map(<[u32]>::to_vec)
    }

    /// One CPU, near if possible, for threads that may run anywhere.
    pub(crate) fn any(&self) -> Option<u32> {
        self.near.last().or(self.far.last()).copied()
    }

    /// Why a distance lacks this many CPUs.
    pub(crate) fn lacks(&self, distance: Distance, count: usize) -> String {
        let all = self.near.len() + self.far.len();
        let fewer = format!("this process may use fewer than {count} CPUs that are");
        match distance {
            _ if all < count => format!("needs {count} CPUs, and this process may use {all}"),
            _ if !self.is_known => "the system does not report which CPUs are near the device".to_owned(),
            Distance::Far if self.far.is_empty() => {
                "every CPU that this process may use is as near to the device as any other".to_owned()
            }
            Distance::Near => format!("{fewer} near the device"),
            Distance::Far => format!("{fewer} far from the device"),
        }
    }

    /// A remark if the CPU could not be chosen by its distance.
    pub(crate) fn remark(&self) -> Option<String> {
        (!self.is_known).then(|| self.lacks(Distance::Near, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_near_or_far() {
        let there = NearbyCpus::new(&[0, 1, 2, 3, 4, 5, 6, 7], Some(&[4, 5, 6, 7, 12]));
        assert_eq!(there.some(Distance::Near, 1), Some(vec![7]));
        assert_eq!(there.some(Distance::Near, 4), Some(vec![4, 5, 6, 7]));
        assert_eq!(there.some(Distance::Far, 1), Some(vec![3]));
        assert_eq!(there.some(Distance::Far, 5), None);
        assert!(there.lacks(Distance::Far, 5).contains("fewer than 5 CPUs that are far from"));
        assert_eq!((there.any(), there.remark()), (Some(7), None));
    }

    #[test]
    fn on_one_node_nothing_is_far() {
        let there = NearbyCpus::new(&[0, 1], Some(&[0, 1]));
        assert_eq!(there.some(Distance::Far, 1), None);
        assert!(there.lacks(Distance::Far, 1).contains("as near to the device as any other"));
        assert!(there.lacks(Distance::Near, 4).contains("needs 4 CPUs, and this process may use 2"));
    }

    #[test]
    fn without_a_report_of_the_system_no_cpu_is_far_and_there_is_a_remark() {
        let there = NearbyCpus::new(&[0, 1], None);
        assert_eq!((there.some(Distance::Near, 1), there.some(Distance::Far, 1)), (Some(vec![1]), None));
        assert!(there.lacks(Distance::Far, 1).contains("does not report") && there.remark().is_some());
        assert_eq!(NearbyCpus::default().any(), None);
    }

    #[test]
    fn the_systems_file_is_found_by_the_address() {
        let sys = tempfile::tempdir().unwrap();
        let device = sys.path().join("bus/pci/devices/0000:ab:00.0");
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("local_cpulist"), "2-3\n").unwrap();
        let there = NearbyCpus::read(sys.path(), "00000000:AB:00.0", &[0, 1, 2, 3]);
        assert_eq!((there.near, there.far), (vec![2, 3], vec![0, 1]));
        assert!(!NearbyCpus::read(sys.path(), "00000000:01:00.0", &[0]).is_known);
    }
}
