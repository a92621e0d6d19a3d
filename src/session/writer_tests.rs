//! The writer against a file whose calls fail.

use std::collections::VecDeque;
use std::io;

use proptest::prelude::*;

use super::{FileEnd, LogFile, Reach, Writer};

/// What one call of the file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Nothing,
    Interrupted,
    /// A write stops after some bytes; other calls succeed.
    Short,
    /// A write leaves some bytes and fails; other calls just fail.
    Fails,
}

/// A file in memory that plays its faults, one a call, and then works.
#[derive(Debug, Default)]
struct Faulty {
    bytes: Vec<u8>,
    synced: usize,
    faults: VecDeque<Fault>,
    capacity: Option<usize>,
    calls: usize,
}

impl Faulty {
    fn next(&mut self) -> Fault {
        self.calls += 1;
        self.faults.pop_front().unwrap_or(Fault::Nothing)
    }

    fn simple(&mut self) -> io::Result<()> {
        match self.next() {
            Fault::Nothing | Fault::Short => Ok(()),
            Fault::Interrupted => Err(io::ErrorKind::Interrupted.into()),
            Fault::Fails => Err(io::Error::other("injected")),
        }
    }
}

impl LogFile for Faulty {
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
            Fault::Nothing => (bytes.len(), Ok(())),
            Fault::Short => (part, Ok(())),
            Fault::Interrupted => (0, Err(io::ErrorKind::Interrupted.into())),
            Fault::Fails => (part, Err(io::Error::other("injected"))),
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
            // What a failed sync may do: the pages are gone, and the next sync says nothing of it.
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

fn faulty(faults: impl IntoIterator<Item = Fault>) -> Writer<Faulty> {
    let file = Faulty { faults: faults.into_iter().collect(), ..Faulty::default() };
    Writer::new(file, 0, FileEnd::Clean)
}

#[test]
fn r4_one_failing_call_is_made_good_at_once_whichever_it_is() {
    for failing in 0..40 {
        let mut faults = vec![Fault::Nothing; failing];
        faults.push(Fault::Fails);
        let mut writer = faulty(faults);
        for number in 0..20 {
            writer.push(line(number));
            writer.flush(Reach::Disk).unwrap();
        }
        assert_eq!(writer.file.bytes, lines(20), "call {failing} failed");
        assert_eq!(writer.file.synced, writer.file.bytes.len());
    }
}

#[test]
fn r4_a_full_disk_leaves_whole_lines_and_what_is_kept_follows_when_there_is_room() {
    let mut writer = faulty([]);
    writer.file.capacity = Some(50);
    let mut saved = 0;
    for number in 0..12 {
        writer.push(line(number));
        match writer.flush(Reach::Disk) {
            Ok(()) => saved = number + 1,
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::StorageFull),
        }
        assert_eq!(writer.file.bytes, lines(saved));
    }
    assert_eq!((saved, writer.waiting()), (7, 5));
    writer.file.capacity = None;
    writer.push(line(12));
    writer.flush(Reach::Disk).unwrap();
    assert_eq!(writer.file.bytes, lines(13));
    assert_eq!(writer.waiting(), 0);
}

#[test]
fn r4_when_cutting_fails_too_it_comes_before_the_next_write() {
    let mut writer = faulty([Fault::Nothing, Fault::Fails, Fault::Fails, Fault::Fails]);
    writer.push(line(0));
    writer.flush(Reach::System).unwrap();
    writer.push(line(1));
    writer.flush(Reach::System).unwrap_err();
    assert_ne!(writer.file.bytes, lines(1), "the torn part is still there");
    writer.push(line(2));
    writer.flush(Reach::System).unwrap();
    assert_eq!(writer.file.bytes, lines(3));
}

#[test]
fn r4_a_line_that_is_taken_back_is_never_in_the_file_whichever_call_fails() {
    for failing in 0..8 {
        let mut faults = vec![Fault::Nothing; failing];
        faults.extend([Fault::Fails; 4]);
        let mut writer = faulty(faults);
        let mut expected = Vec::new();
        for number in 0..6 {
            writer.push(line(number));
            match writer.flush(Reach::Disk) {
                Ok(()) => expected.extend(line(number)),
                Err(_) => writer.take_back(&line(number)),
            }
        }
        writer.flush(Reach::Disk).unwrap();
        assert_eq!(writer.file.bytes, expected, "calls from {failing} on failed");
        assert!(expected.len() < lines(6).len());
    }
}

#[test]
fn r6_short_writes_and_interrupts_change_nothing() {
    let pattern = [Fault::Interrupted, Fault::Short, Fault::Short, Fault::Interrupted];
    let mut writer = faulty(pattern.into_iter().cycle().take(400));
    for number in 0..40 {
        writer.push(line(number));
        writer.flush(Reach::Disk).unwrap();
    }
    assert_eq!(writer.file.bytes, lines(40));
    assert_eq!(writer.file.synced, writer.file.bytes.len());
}

#[test]
fn lines_that_only_have_to_reach_the_system_are_not_synced() {
    let mut writer = faulty([]);
    writer.push(line(0));
    writer.flush(Reach::System).unwrap();
    assert_eq!(writer.file.synced, 0);
    writer.push(line(1));
    writer.flush(Reach::Disk).unwrap();
    assert_eq!(writer.file.synced, lines(2).len());
    let calls = writer.file.calls;
    writer.flush(Reach::Disk).unwrap();
    assert_eq!(writer.file.calls, calls, "nothing new, nothing to sync");
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        3 => Just(Fault::Nothing),
        1 => Just(Fault::Interrupted),
        1 => Just(Fault::Short),
        2 => Just(Fault::Fails),
    ]
}

proptest! {
    #[test]
    fn whatever_fails_saved_lines_stay_and_all_lines_come_in_order(
        faults in prop::collection::vec(fault(), 0..120),
        reaches in prop::collection::vec(
            prop_oneof![Just(Reach::System), Just(Reach::Disk)], 1..25),
    ) {
        let mut writer = faulty(faults);
        let mut durable = 0;
        for (number, reach) in reaches.iter().enumerate() {
            writer.push(line(number));
            if writer.flush(*reach).is_ok() && *reach == Reach::Disk {
                durable = number + 1;
            }
            prop_assert!(writer.file.bytes.starts_with(&lines(durable)));
        }
        writer.file.faults.clear();
        writer.flush(Reach::Disk).unwrap();
        prop_assert_eq!(&writer.file.bytes, &lines(reaches.len()));
    }
}
