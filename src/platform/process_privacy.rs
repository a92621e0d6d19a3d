//! Keeps slug's keys where no other program of the same user can read them.
//!
//! The memory and environment in `/proc` of a process that is not dumpable are closed to all but
//! root. Root can still read the environment, and everyone can read `/proc/PID/cmdline`, so keys
//! are overwritten there at the start. Removing a variable is not enough: `/proc` shows the block
//! that the kernel made, whatever the program has done since. Writing into that block through
//! `/proc/self/mem` takes microseconds; starting slug again without the keys takes milliseconds.
//!
//! Linux only: elsewhere slug's environment and arguments stay as they were given.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::{PoisonError, RwLock};

/// The overwritten variables with their original values.
static REMOVED_VARIABLES: RwLock<Vec<(OsString, OsString)>> = RwLock::new(Vec::new());

/// Closes this process's memory and environment to the other programs of its user. An exec undoes
/// this, so each of slug's processes calls it first of all.
///
/// # Errors
///
/// When the kernel refuses.
#[cfg(target_os = "linux")]
pub fn close_process() -> io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Does nothing: only Linux has this protection.
///
/// # Errors
///
/// Never.
#[cfg(not(target_os = "linux"))]
pub fn close_process() -> io::Result<()> {
    Ok(())
}

/// The value of an environment variable, even if it was overwritten.
pub fn variable(name: impl AsRef<OsStr>) -> Option<OsString> {
    let name = name.as_ref();
    let taken = REMOVED_VARIABLES.read().unwrap_or_else(PoisonError::into_inner);
    let taken = taken.iter().find(|(taken, _)| taken == name).map(|(_, value)| value.clone());
    taken.or_else(|| std::env::var_os(name))
}

/// The block of arguments and environment as the kernel laid it out, opened for writing. A closed
/// process cannot open it any more, so this comes before [`close_process`].
#[derive(Debug)]
pub struct StartMemory {
    #[cfg(target_os = "linux")]
    block: io::Result<linux::ArgumentBlock>,
}

impl StartMemory {
    /// Opens the block. [`Self::take_out`] reports a failure, if there is something to take out.
    pub fn open() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            block: linux::ArgumentBlock::open(),
        }
    }

    /// Empties these variables in slug's environment, where [`variable`] still finds their values,
    /// and makes `key` unreadable in its arguments. Must be called before any thread starts.
    ///
    /// # Errors
    ///
    /// When the block cannot be opened or written. slug can go on, with the keys where they are.
    #[cfg(target_os = "linux")]
    pub fn take_out<'a>(
        &self,
        key_variables: impl IntoIterator<Item = &'a str>,
        key: Option<&str>,
    ) -> io::Result<()> {
        let found = key_variables.into_iter().filter_map(|name| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
            Some((name.into(), value))
        });
        let found: Vec<(OsString, OsString)> = found.collect();
        let key = key.map(str::as_bytes).filter(|key| !key.is_empty());
        if found.is_empty() && key.is_none() {
            return Ok(());
        }
        let block = self.block.as_ref().map_err(|error| io::Error::from(error.kind()))?;
        let mut taken = REMOVED_VARIABLES.write().unwrap_or_else(PoisonError::into_inner);
        for (name, value) in found {
            block.empty_variable(&name)?;
            taken.push((name, value));
        }
        key.map_or(Ok(()), |key| block.cross_out(key))
    }

    /// Does nothing: the block can only be written on Linux.
    ///
    /// # Errors
    ///
    /// Never.
    #[cfg(not(target_os = "linux"))]
    pub fn take_out<'a>(
        &self,
        _key_variables: impl IntoIterator<Item = &'a str>,
        _key: Option<&str>,
    ) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsStr;
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::ops::Range;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::FileExt;

    /// Replaces each byte of a key in an argument.
    const CROSS: u8 = b'*';

    #[derive(Debug)]
    pub(super) struct ArgumentBlock {
        memory: File,
        arguments: Range<u64>,
        variables: Range<u64>,
    }

    impl ArgumentBlock {
        pub(super) fn open() -> io::Result<Self> {
            let stat = std::fs::read_to_string("/proc/self/stat")?;
            let [arguments, variables] = places(&stat).ok_or(io::ErrorKind::InvalidData)?;
            let memory = OpenOptions::new().read(true).write(true).open("/proc/self/mem")?;
            Ok(Self { memory, arguments, variables })
        }

        fn read(&self, place: &Range<u64>) -> io::Result<Vec<u8>> {
            let length = usize::try_from(place.end.saturating_sub(place.start));
            let mut bytes = vec![0; length.map_err(io::Error::other)?];
            self.memory.read_exact_at(&mut bytes, place.start)?;
            Ok(bytes)
        }

        fn overwrite(&self, place: &Range<u64>, at: Range<usize>, with: u8) -> io::Result<()> {
            self.memory.write_all_at(&vec![with; at.len()], place.start + at.start as u64)
        }

        /// Overwrites each value of the variable with zero bytes.
        pub(super) fn empty_variable(&self, name: &OsStr) -> io::Result<()> {
            let block = self.read(&self.variables)?;
            for value in values(&block, name.as_bytes()) {
                self.overwrite(&self.variables, value, 0)?;
            }
            match std::env::var_os(name).is_none_or(|value| value.is_empty()) {
                true => Ok(()),
                false => Err(io::Error::other("the environment is not where the kernel put it")),
            }
        }

        pub(super) fn cross_out(&self, key: &[u8]) -> io::Result<()> {
            let block = self.read(&self.arguments)?;
            for at in memchr::memmem::find_iter(&block, key) {
                self.overwrite(&self.arguments, at..at + key.len(), CROSS)?;
            }
            Ok(())
        }
    }

    /// The places of the arguments and the environment, by `/proc/self/stat`: fields 48 to 51 of
    /// proc_pid_stat(5). The third field is the first one after the program's name.
    fn places(stat: &str) -> Option<[Range<u64>; 2]> {
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace().skip(45).map(|field| field.parse().ok());
        let mut next = || fields.next().flatten();
        let places = [next()?..next()?, next()?..next()?];
        places.iter().all(|place| 0 < place.start && place.start <= place.end).then_some(places)
    }

    /// The places in an environment block of all values of a variable.
    fn values(block: &[u8], name: &[u8]) -> Vec<Range<usize>> {
        let mut at = 0;
        let mut values = Vec::new();
        for entry in block.split(|byte| *byte == 0) {
            if let Some(value) = entry.strip_prefix(name).and_then(|it| it.strip_prefix(b"=")) {
                values.push(at + entry.len() - value.len()..at + entry.len());
            }
            at += entry.len() + 1;
        }
        values
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn values_are_found_by_the_whole_name() {
            let block = b"A=1\0MY_A=2\0A=\0AB=3\0A=four=4\0";
            let found = values(block, b"A").into_iter().map(|at| &block[at]);
            assert_eq!(found.collect::<Vec<_>>(), [&b"1"[..], b"", b"four=4"]);
        }

        #[test]
        fn the_kernel_says_where_the_arguments_are() {
            let block = ArgumentBlock::open().unwrap();
            let first = std::env::args_os().next().unwrap();
            assert!(block.read(&block.arguments).unwrap().starts_with(first.as_bytes()));
            assert_eq!(places("1 (a) b) R 1 2"), None);
        }
    }
}
