//! Sends a signal to everything that was started below this process, on Linux.
//!
//! The tree is read from `/proc`. This process is a subreaper, so no process can leave the tree.

use std::collections::{BTreeSet, HashMap};

use rustix::process::{Pid, RawPid, Signal};

/// The fields of `/proc/PID/stat` that the tree needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcStat {
    pid: RawPid,
    parent: RawPid,
    group: RawPid,
}

/// Sends `signal` to all descendants. The members of a process group get it at once, so that a fork
/// bomb cannot outrun it. Processes that have ended meanwhile are ignored.
pub(super) fn signal_all(signal: Signal) {
    let own_group = Pid::as_raw(Some(rustix::process::getpgrp()));
    let found = below(Pid::as_raw(Some(rustix::process::getpid())), &all_processes());
    let (alone, grouped): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|process| process.group == own_group);
    let groups: BTreeSet<RawPid> = grouped.into_iter().map(|process| process.group).collect();
    for group in groups.into_iter().filter_map(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
    for pid in alone.into_iter().filter_map(|process| Pid::from_raw(process.pid)) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Sends `signal` to the process groups of what `pid` has started, but not to its own group.
pub(super) fn signal_groups_below(pid: Pid, signal: Signal) {
    let all = all_processes();
    let pid = Pid::as_raw(Some(pid));
    let own = all.iter().find(|process| process.pid == pid).map(|process| process.group);
    let groups: BTreeSet<RawPid> = below(pid, &all).iter().map(|process| process.group).collect();
    let others = groups.into_iter().filter(|group| Some(*group) != own);
    for group in others.filter_map(Pid::from_raw) {
        // It may have ended meanwhile.
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// Whether a process is below this one. One that has ended is not.
pub(super) fn is_below(pid: RawPid) -> bool {
    let own = Pid::as_raw(Some(rustix::process::getpid()));
    // A process that ends meanwhile hands its children on, at the longest up to this one.
    let mut next = pid;
    while next > 1 {
        let Ok(stat) = std::fs::read(format!("/proc/{next}/stat")) else { return false };
        let Some(process) = parse(next, &String::from_utf8_lossy(&stat)) else { return false };
        if process.parent == own {
            return true;
        }
        next = process.parent;
    }
    false
}

fn all_processes() -> Vec<ProcStat> {
    let Ok(listing) = std::fs::read_dir("/proc") else { return Vec::new() };
    listing
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            // The name of a process may hold any bytes.
            let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
            parse(pid, &String::from_utf8_lossy(&stat))
        })
        .collect()
}

/// Parses `PID (NAME) STATE PARENT GROUP …`; the name may hold spaces and parentheses.
fn parse(pid: RawPid, stat: &str) -> Option<ProcStat> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    Some(ProcStat { pid, parent, group })
}

fn below(root: RawPid, all: &[ProcStat]) -> Vec<ProcStat> {
    let mut children: HashMap<RawPid, Vec<ProcStat>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(*process);
    }
    let mut found = children.remove(&root).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        let more = children.remove(&process.pid).unwrap_or_default();
        found.extend(more);
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let process = parse(7, "7 (a) S 1 (b c) R 5 6 6 0 -1 4194304");
        assert_eq!(process, Some(ProcStat { pid: 7, parent: 5, group: 6 }));
        assert_eq!(parse(7, "7 (cut"), None);
    }

    #[test]
    fn a_process_is_below_who_started_it_and_not_below_itself() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let id = |id: u32| RawPid::try_from(id).unwrap();
        assert!(is_below(id(child.id())));
        assert!(!is_below(id(std::process::id())));
        assert!(!is_below(1));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_below(id(child.id())));
    }

    #[test]
    fn only_descendants_of_the_root_are_found() {
        let process = |pid, parent| ProcStat { pid, parent, group: pid };
        let all = [process(1, 0), process(2, 1), process(3, 2), process(4, 3), process(5, 1)];
        let pids: Vec<_> = below(2, &all).iter().map(|process| process.pid).collect();
        assert_eq!(pids, [3, 4]);
    }
}
