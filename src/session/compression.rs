//! Files that nobody has used for a while, compressed by zstd: `X.zst` in the place of `X`.
//!
//! Only one of the two exists, except between two steps; then the plain file counts. The plain file
//! is removed only after the packed file has been read back and compared with it.
//!
//! A few packed bytes can stand for any number of bytes, and slug did not write every packed file.
//! So the unpacked content is limited, to more than slug ever writes, and a reader of lines holds
//! no more than one line in memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::disk::{FileTextError, open_regular};

use super::files::{self, Durability, missing_is_none};

/// The ending of a packed file's name, without the dot.
pub(super) const ENDING: &str = "zst";
/// The zstd level: it packs logs 8 to 1, at some 60 MB per second.
const LEVEL: i32 = 4;
/// How much of a file's beginning decides whether packing is worth it, in bytes.
const SAMPLE: u64 = 64 << 10;
/// How much is read by one call, in bytes.
const AT_ONCE: usize = 1 << 18;

/// How much a packed file may unpack to, in bytes.
const LONGEST: u64 = 1 << 30;
/// How long a line of a packed file may be, in bytes.
const LONGEST_LINE: u64 = 64 << 20;

/// The path of `plain` when it is packed.
pub(super) fn packed(plain: &Path) -> PathBuf {
    let mut path = plain.as_os_str().to_owned();
    path.push(".");
    path.push(ENDING);
    path.into()
}

/// The content of `plain`, packed or not; `None` where neither file exists. Anything but a regular
/// file, which could hold up its reader for ever, is an error.
pub(super) fn open(plain: &Path) -> io::Result<Option<Box<dyn BufRead + Send>>> {
    if let Some(file) = opened(plain)? {
        return Ok(Some(Box::new(BufReader::with_capacity(AT_ONCE, file))));
    }
    match opened(&packed(plain))? {
        Some(file) => Ok(Some(Box::new(unpacked(file)?))),
        // Another slug may have unpacked it since the first attempt.
        None => {
            Ok(opened(plain)?.map(|file| Box::new(BufReader::with_capacity(AT_ONCE, file)) as _))
        }
    }
}

/// The content of this very file, unpacked where its ending says that it is packed.
pub(super) fn read(file: &Path) -> io::Result<Box<dyn BufRead + Send>> {
    let is_packed = file.extension().is_some_and(|ending| ending == ENDING);
    let content = opened(file)?.ok_or(io::ErrorKind::NotFound)?;
    if is_packed {
        return Ok(Box::new(unpacked(content)?));
    }
    Ok(Box::new(BufReader::with_capacity(AT_ONCE, content)))
}

/// Opens a regular file; `None` where there is no file.
fn opened(file: &Path) -> io::Result<Option<File>> {
    match open_regular(file) {
        Ok(opened) => Ok(opened.map(|(file, _)| file)),
        Err(FileTextError::Io(error)) => Err(error),
        Err(error @ (FileTextError::NotAFile | FileTextError::NotText)) => {
            Err(io::Error::other(format!("it {error}")))
        }
    }
}

/// Packs `plain`, and returns the size of the packed file in bytes. Nobody may write to `plain`
/// meanwhile.
pub(super) fn pack(plain: &Path) -> io::Result<u64> {
    let to = packed(plain);
    let modified = std::fs::metadata(plain)?.modified()?;
    files::replace_with(&to, Durability::Synced, |file| {
        zstd::stream::copy_encode(File::open(plain)?, &mut *file, LEVEL)?;
        files::set_modified(file, modified)
    })?;
    let is_same = File::open(&to).and_then(unpacked).and_then(|it| same(File::open(plain)?, it));
    if !matches!(is_same, Ok(true)) {
        files::remove(&to)?;
        is_same?;
        return Err(io::Error::other("the compressed data differs from the original"));
    }
    files::remove(plain)?;
    Ok(std::fs::metadata(&to)?.len())
}

/// Whether packing makes a file at least a tenth smaller, judged by its beginning. Never true for a
/// file that is too long to be unpacked again.
pub(super) fn is_worth_it(plain: &Path) -> io::Result<bool> {
    if std::fs::metadata(plain)?.len() > LONGEST {
        return Ok(false);
    }
    let mut begin = Vec::new();
    File::open(plain)?.take(SAMPLE).read_to_end(&mut begin)?;
    let size = zstd::bulk::compress(&begin, LEVEL)?.len();
    Ok(size * 10 < begin.len() * 9)
}

/// Restores `plain` where only its packed form exists.
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
    let content = zstd::stream::read::Decoder::new(file)?;
    let bounded = BoundedContent { content, left: LONGEST, line: 0, longest_line: LONGEST_LINE };
    Ok(BufReader::with_capacity(AT_ONCE, bounded))
}

/// Fails with an error as soon as the content exceeds one of its limits.
struct BoundedContent<R> {
    content: R,
    left: u64,
    /// The length of the current line so far, in bytes.
    line: u64,
    longest_line: u64,
}

impl<R: Read> Read for BoundedContent<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        let part = &buffer[..count];
        let too_much = |what| Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        let Some(left) = self.left.checked_sub(part.len() as u64) else {
            return too_much("it unpacks to more than 1 GB, so slug did not write it: remove it");
        };
        self.left = left;
        let first = memchr::memchr(b'\n', part).unwrap_or(count);
        if self.line + first as u64 > self.longest_line {
            return too_much(
                "it unpacks to a line of more than 64 MB, so slug did not write it: remove it",
            );
        }
        self.line = match memchr::memrchr(b'\n', part) {
            Some(last) => (count - last - 1) as u64,
            None => self.line + count as u64,
        };
        Ok(count)
    }
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
    use crate::domain::faults::with_failing_call;

    use super::*;

    fn content(plain: &Path) -> Vec<u8> {
        let mut bytes = Vec::new();
        open(plain).unwrap().unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_packed_file_is_read_and_unpacks_to_the_same_bytes() {
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

    /// Does `work` to a file, with each call to the disk failing in turn. What a failure leaves
    /// behind may not disturb the next attempt.
    fn whichever_call_fails(begin: fn(&Path) -> io::Result<()>, work: fn(&Path) -> io::Result<()>) {
        let text = b"line\n".repeat(1000);
        for call in 0.. {
            let home = tempfile::tempdir().unwrap();
            let plain = home.path().join("x");
            std::fs::write(&plain, &text).unwrap();
            begin(&plain).unwrap();
            let done = with_failing_call(call, || work(&plain).is_ok());
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
    fn unpacked_content_is_limited() {
        let home = tempfile::tempdir().unwrap();
        let plain = home.path().join("x.jsonl");
        let zeros = io::repeat(0).take(LONGEST_LINE + 1);
        zstd::stream::copy_encode(zeros, File::create(packed(&plain)).unwrap(), LEVEL).unwrap();
        assert!(packed(&plain).metadata().unwrap().len() < 64 << 10);
        let message_of = |read: io::Result<u64>| read.unwrap_err().to_string();
        let read = io::copy(&mut open(&plain).unwrap().unwrap(), &mut io::sink());
        assert!(message_of(read).contains("a line of more than 64 MB"));
        // Nothing of the unpacked part stays.
        assert!(message_of(unpack(&plain).map(|()| 0)).contains("64 MB") && !plain.exists());
        let read = |text: &[u8], left, longest_line| {
            let mut bounded = BoundedContent { content: text, left, line: 0, longest_line };
            // In pieces, as a real reader returns them.
            let mut piece = [0; 3];
            while bounded.read(&mut piece)? > 0 {}
            Ok::<u64, io::Error>(bounded.left)
        };
        assert_eq!(read(b"abcd\nabcd\n\nab", 13, 4).unwrap(), 0);
        assert!(message_of(read(b"abcd\nabcd\n\nab", 12, 4)).contains("more than 1 GB"));
        for text in [b"abcde".as_slice(), b"a\nabcde\n", b"\n\nabcde"] {
            assert!(message_of(read(text, 99, 4)).contains("64 MB"), "{text:?}");
        }
    }

    #[test]
    fn a_file_that_could_not_be_unpacked_again_is_not_packed() {
        let home = tempfile::tempdir().unwrap();
        let plain = home.path().join("x");
        File::create(&plain).unwrap().set_len(LONGEST_LINE + 1).unwrap();
        pack(&plain).unwrap_err();
        assert!(plain.exists() && !packed(&plain).exists());
        File::create(&plain).unwrap().set_len(LONGEST + 1).unwrap();
        assert!(!is_worth_it(&plain).unwrap());
    }

    #[test]
    fn a_missing_file_is_none() {
        let home = tempfile::tempdir().unwrap();
        assert!(open(&home.path().join("x")).unwrap().is_none());
    }
}
