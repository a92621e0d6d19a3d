//! How much memory the machine has, and how much of it a process occupies.

/// The memory of this machine, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineMemory {
    pub total: u64,
    /// What programs can still get without others being moved out.
    pub available: u64,
}

impl MachineMemory {
    /// The memory now; `None` where the system does not say it in a file.
    pub fn read() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        Some(Self { total: bytes(text, "MemTotal:")?, available: bytes(text, "MemAvailable:")? })
    }
}

/// How many bytes of files a process has in memory; `None` where the system does not say, and once it has
/// ended.
pub fn mapped_files(pid: u32) -> Option<u64> {
    bytes(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?, "RssFile:")
}

fn bytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_words_are_read() {
        let text = "MemTotal:       24675456 kB\nMemFree: 1 kB\nMemAvailable:   20000000 kB\n";
        let memory = MachineMemory { total: 24_675_456 * 1024, available: 20_000_000 * 1024 };
        assert_eq!(MachineMemory::parse(text), Some(memory));
        assert_eq!(MachineMemory::parse("MemTotal: x kB"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_files_in_memory() {
        assert!(mapped_files(std::process::id()).is_some_and(|bytes| bytes > 0));
        assert!(MachineMemory::read().is_some_and(|memory| memory.total >= memory.available));
    }
}
