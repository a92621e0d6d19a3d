//! Files that nobody has used for a while, packed by zstd: `X.zst` in the place of `X`.
//!
//! Of both only one is there, but for the moment between two steps: then the plain one counts. The
//! plain file goes only after what was packed has been read back and found to be the same.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::files::{self, Durability, missing_is_none};

/// What a packed file's name ends in.
pub(super) const ENDING: &str = "zst";
/// Packs 8 to 1, some 60 MB a second.
const LEVEL: i32 = 4;
/// How much tells whether packing makes sense.
const SAMPLE: u64 = 64 << 10;
/// How much is read by one call.
const AT_ONCE: usize = 1 << 18;

/// Where `plain` is when it is packed.
pub(super) fn packed(plain: &Path) -> PathBuf {
    let mut path = plain.as_os_str().to_owned();
    path.push(".");
    path.push(ENDING);
    path.into()
}

/// The content of `plain`, packed or not; `None` where it is neither.
pub(super) fn open(plain: &Path) -> io::Result<Option<Box<dyn BufRead + Send>>> {
    if let Some(file) = missing_is_none(File::open(plain))? {
        return Ok(Some(Box::new(BufReader::with_capacity(AT_ONCE, file))));
    }
    match missing_is_none(File::open(packed(plain)))? {
        Some(file) => Ok(Some(Box::new(unpacked(file)?))),
        // It may have been unpacked in between.
        None => Ok(missing_is_none(File::open(plain))?
            .map(|file| Box::new(BufReader::with_capacity(AT_ONCE, file)) as _)),
    }
}

/// The content of this very file, unpacked where its name says that it is packed.
pub(super) fn read(file: &Path) -> io::Result<Box<dyn BufRead + Send>> {
    let is_packed = file.extension().is_some_and(|ending| ending == ENDING);
    let content = File::open(file)?;
    if is_packed {
        return Ok(Box::new(unpacked(content)?));
    }
    Ok(Box::new(BufReader::with_capacity(AT_ONCE, content)))
}

/// Packs `plain`, and says how many bytes it has now. Nobody may write to it meanwhile.
pub(super) fn pack(plain: &Path) -> io::Result<u64> {
    let to = packed(plain);
    let modified = std::fs::metadata(plain)?.modified()?;
    files::replace_with(&to, Durability::Synced, |file| {
        zstd::stream::copy_encode(File::open(plain)?, &mut *file, LEVEL)?;
        files::set_modified(file, modified)
    })?;
    if !same(File::open(plain)?, unpacked(File::open(&to)?)?)? {
        files::remove(&to)?;
        return Err(io::Error::other("what was packed is not what was there"));
    }
    files::remove(plain)?;
    Ok(std::fs::metadata(&to)?.len())
}

/// Whether packing makes a file clearly smaller, by its beginning.
pub(super) fn is_worth_it(plain: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    File::open(plain)?.take(SAMPLE).read_to_end(&mut begin)?;
    let size = zstd::bulk::compress(&begin, LEVEL)?.len();
    Ok(size * 10 < begin.len() * 9)
}

/// Brings `plain` back where only its packed form is there.
pub(super) fn unpack(plain: &Path) -> io::Result<()> {
    let from = packed(plain);
    if !plain.try_exists()? {
        let Some(file) = missing_is_none(File::open(&from))? else { return Ok(()) };
        let modified = file.metadata()?.modified()?;
        let mut content = unpacked(file)?;
        files::replace_with(plain, Durability::Synced, |file| {
            io::copy(&mut content, file)?;
            files::set_modified(file, modified)
        })?;
    }
    files::remove(&from)
}

fn unpacked(file: File) -> io::Result<impl BufRead + Send> {
    Ok(BufReader::with_capacity(AT_ONCE, zstd::stream::read::Decoder::new(file)?))
}

fn same(one: impl Read, other: impl BufRead) -> io::Result<bool> {
    let (mut one, mut other) = (BufReader::with_capacity(AT_ONCE, one), other);
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let common = left.len().min(right.len());
        if common == 0 {
            return Ok(left.is_empty() && right.is_empty());
        }
        if left[..common] != right[..common] {
            return Ok(false);
        }
        one.consume(common);
        other.consume(common);
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::faults::failing;

    use super::*;

    fn content(plain: &Path) -> Vec<u8> {
        let mut bytes = Vec::new();
        open(plain).unwrap().unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_packed_is_read_and_comes_back_as_it_was() {
        let home = tempfile::tempdir().unwrap();
        let plain = home.path().join("x.jsonl");
        let text = b"a line of some length\n".repeat(100_000);
        std::fs::write(&plain, &text).unwrap();
        let modified = std::fs::metadata(&plain).unwrap().modified().unwrap();
        let size = pack(&plain).unwrap();
        assert!(size < 20_000, "{size}");
        assert!(!plain.exists());
        assert_eq!(std::fs::metadata(packed(&plain)).unwrap().modified().unwrap(), modified);
        assert!(content(&plain) == text);
        unpack(&plain).unwrap();
        assert!(std::fs::read(&plain).unwrap() == text && !packed(&plain).exists());
        assert_eq!(std::fs::metadata(&plain).unwrap().modified().unwrap(), modified);
    }

    /// Does `work` to a file with each call failing in turn. Nothing that is left behind may stand
    /// in the way of the next time.
    fn whichever_call_fails(begin: fn(&Path) -> io::Result<()>, work: fn(&Path) -> io::Result<()>) {
        let text = b"line\n".repeat(1000);
        for call in 0.. {
            let home = tempfile::tempdir().unwrap();
            let plain = home.path().join("x");
            std::fs::write(&plain, &text).unwrap();
            begin(&plain).unwrap();
            let done = failing(call, || work(&plain).is_ok());
            assert!(content(&plain) == text, "call {call}");
            unpack(&plain).unwrap();
            pack(&plain).unwrap();
            assert!(content(&plain) == text, "after call {call}");
            if done.is_none() {
                assert!(call > 4);
                return;
            }
        }
    }

    #[test]
    fn r4_whichever_call_fails_the_content_stays() {
        whichever_call_fails(|_| Ok(()), |plain| pack(plain).map(|_| ()));
        whichever_call_fails(|plain| pack(plain).map(|_| ()), unpack);
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let plain = home.path().join("x");
        std::fs::write(packed(&plain), b"no zstd at all").unwrap();
        let mut bytes = Vec::new();
        open(&plain).unwrap().unwrap().read_to_end(&mut bytes).unwrap_err();
        assert!(unpack(&plain).is_err() && packed(&plain).exists());
    }

    #[test]
    fn what_is_not_there_is_none() {
        let home = tempfile::tempdir().unwrap();
        assert!(open(&home.path().join("x")).unwrap().is_none());
    }
}
