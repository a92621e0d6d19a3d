//! Tests of the writer with a file whose calls fail.

use std::collections::VecDeque;
use std::io;

use proptest::prelude::*;

use super::{FlushTarget, LogFile, LogFileEnd, SessionLogWriter};

/// What one call to the file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InjectedLogFault {
    Nothing,
    Interrupted,
    /// A write stops after so many bytes; other calls succeed.
    Short,
    /// A write leaves so many bytes and fails; other calls only fail.
    Fails,
}

/// A file in memory that injects its faults, one per call, and works after the last.
#[derive(Debug, Default)]
struct FaultyLogFile {
    bytes: Vec<u8>,
    synced: usize,
    faults: VecDeque<InjectedLogFault>,
    capacity: Option<usize>,
    calls: usize,
}

impl FaultyLogFile {
    fn next(&mut self) -> InjectedLogFault {
        self.calls += 1;
        self.faults.pop_front().unwrap_or(InjectedLogFault::Nothing)
    }

    fn simple(&mut self) -> io::Result<()> {
        match self.next() {
            InjectedLogFault::Nothing | InjectedLogFault::Short => Ok(()),
            InjectedLogFault::Interrupted => Err(io::ErrorKind::Interrupted.into()),
            InjectedLogFault::Fails => Err(io::Error::other("injected")),
        }
    }
}

impl LogFile for FaultyLogFile {
    fn ready(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.capacity.map_or(usize::MAX, |all| all - self.bytes.len());
        if room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let part = bytes.len().div_ceil(2);
        let (taken, result) = match self.next() {
            InjectedLogFault::Nothing => (bytes.len(), Ok(())),
            InjectedLogFault::Short => (part, Ok(())),
            InjectedLogFault::Interrupted => (0, Err(io::ErrorKind::Interrupted.into())),
            InjectedLogFault::Fails => (part, Err(io::Error::other("injected"))),
        };
        let taken = taken.min(room);
        self.bytes.extend(&bytes[..taken]);
        result.map(|()| taken)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.simple()?;
        self.bytes.truncate(usize::try_from(len).unwrap());
        self.synced = self.synced.min(self.bytes.len());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let result = self.simple();
        match &result {
            Ok(()) => self.synced = self.bytes.len(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // What a failed sync may do: the pages are gone, and the next sync does not report it.
            Err(_) => self.bytes[self.synced..].fill(0),
        }
        result
    }
}

fn line(number: usize) -> Vec<u8> {
    format!("line {number}\n").into_bytes()
}

fn lines(count: usize) -> Vec<u8> {
    (0..count).flat_map(line).collect()
}

fn faulty(faults: impl IntoIterator<Item = InjectedLogFault>) -> SessionLogWriter<FaultyLogFile> {
    let file = FaultyLogFile { faults: faults.into_iter().collect(), ..FaultyLogFile::default() };
    SessionLogWriter::new(file, 0, LogFileEnd::Clean)
}

#[test]
fn r4_one_failing_call_is_retried_at_once_whichever_it_is() {
    for failing in 0..40 {
        let mut faults = vec![InjectedLogFault::Nothing; failing];
        faults.push(InjectedLogFault::Fails);
        let mut writer = faulty(faults);
        for number in 0..20 {
            writer.push(line(number));
            writer.flush(FlushTarget::Disk).unwrap();
        }
        assert_eq!(writer.file.bytes, lines(20), "call {failing} failed");
        assert_eq!(writer.file.synced, writer.file.bytes.len());
    }
}

#[test]
fn r4_a_full_disk_leaves_whole_lines_and_the_rest_follows_later() {
    let mut writer = faulty([]);
    writer.file.capacity = Some(50);
    let mut saved = 0;
    for number in 0..12 {
        writer.push(line(number));
        match writer.flush(FlushTarget::Disk) {
            Ok(()) => saved = number + 1,
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::StorageFull),
        }
        assert_eq!(writer.file.bytes, lines(saved));
    }
    assert_eq!((saved, writer.waiting()), (7, 5));
    writer.file.capacity = None;
    writer.push(line(12));
    writer.flush(FlushTarget::Disk).unwrap();
    assert_eq!(writer.file.bytes, lines(13));
    assert_eq!(writer.waiting(), 0);
}

#[test]
fn r4_a_failed_cut_is_repeated_before_the_next_write() {
    let mut writer = faulty([
        InjectedLogFault::Nothing,
        InjectedLogFault::Fails,
        InjectedLogFault::Fails,
        InjectedLogFault::Fails,
    ]);
    writer.push(line(0));
    writer.flush(FlushTarget::System).unwrap();
    writer.push(line(1));
    writer.flush(FlushTarget::System).unwrap_err();
    assert_ne!(writer.file.bytes, lines(1), "the torn part is still there");
    writer.push(line(2));
    writer.flush(FlushTarget::System).unwrap();
    assert_eq!(writer.file.bytes, lines(3));
}

#[test]
fn r4_a_line_that_is_taken_back_is_never_in_the_file_whichever_call_fails() {
    for failing in 0..8 {
        let mut faults = vec![InjectedLogFault::Nothing; failing];
        faults.extend([InjectedLogFault::Fails; 4]);
        let mut writer = faulty(faults);
        let mut expected = Vec::new();
        for number in 0..6 {
            writer.push(line(number));
            match writer.flush(FlushTarget::Disk) {
                Ok(()) => expected.extend(line(number)),
                Err(_) => writer.take_back(&line(number)),
            }
        }
        writer.flush(FlushTarget::Disk).unwrap();
        assert_eq!(writer.file.bytes, expected, "calls from {failing} on failed");
        assert!(expected.len() < lines(6).len());
    }
}

#[test]
fn r6_short_writes_and_interrupts_change_nothing() {
    let pattern = [
        InjectedLogFault::Interrupted,
        InjectedLogFault::Short,
        InjectedLogFault::Short,
        InjectedLogFault::Interrupted,
    ];
    let mut writer = faulty(pattern.into_iter().cycle().take(400));
    for number in 0..40 {
        writer.push(line(number));
        writer.flush(FlushTarget::Disk).unwrap();
    }
    assert_eq!(writer.file.bytes, lines(40));
    assert_eq!(writer.file.synced, writer.file.bytes.len());
}

#[test]
fn lines_that_only_have_to_reach_the_system_are_not_synced() {
    let mut writer = faulty([]);
    writer.push(line(0));
    writer.flush(FlushTarget::System).unwrap();
    assert_eq!(writer.file.synced, 0);
    writer.push(line(1));
    writer.flush(FlushTarget::Disk).unwrap();
    assert_eq!(writer.file.synced, lines(2).len());
    let calls = writer.file.calls;
    writer.flush(FlushTarget::Disk).unwrap();
    assert_eq!(writer.file.calls, calls, "nothing new, nothing to sync");
}

fn fault() -> impl Strategy<Value = InjectedLogFault> {
    prop_oneof![
        3 => Just(InjectedLogFault::Nothing),
        1 => Just(InjectedLogFault::Interrupted),
        1 => Just(InjectedLogFault::Short),
        2 => Just(InjectedLogFault::Fails),
    ]
}

proptest! {
    #[test]
    fn whatever_fails_saved_lines_stay_and_all_lines_come_in_order(
        faults in prop::collection::vec(fault(), 0..120),
        targets in prop::collection::vec(
            prop_oneof![Just(FlushTarget::System), Just(FlushTarget::Disk)], 1..25),
    ) {
        let mut writer = faulty(faults);
        let mut durable = 0;
        for (number, target) in targets.iter().enumerate() {
            writer.push(line(number));
            if writer.flush(*target).is_ok() && *target == FlushTarget::Disk {
                durable = number + 1;
            }
            prop_assert!(writer.file.bytes.starts_with(&lines(durable)));
        }
        writer.file.faults.clear();
        writer.flush(FlushTarget::Disk).unwrap();
        prop_assert_eq!(&writer.file.bytes, &lines(targets.len()));
    }
}
