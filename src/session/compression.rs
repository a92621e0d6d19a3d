//! Files that nobody has used for a while, packed by zstd: `X.zst` in the place of `X`.
//!
//! Of both only one is there, but for the moment between two steps: then the plain one counts. The
//! plain file goes only after what was packed has been read back and found to be the same.
//!
//! A few packed bytes can stand for any number, and not every packed file is slug's own work. So what
//! is unpacked has bounds, above all that slug writes, and who reads a line holds no more than one.

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

/// So much may come of a packed file.
const LONGEST: u64 = 1 << 30;
/// And so much without an end of a line.
const LONGEST_LINE: u64 = 64 << 20;

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
    let is_same = File::open(&to).and_then(unpacked).and_then(|it| same(File::open(plain)?, it));
    if !matches!(is_same, Ok(true)) {
        files::remove(&to)?;
        is_same?;
        return Err(io::Error::other("what was packed is not what was there"));
    }
    files::remove(plain)?;
    Ok(std::fs::metadata(&to)?.len())
}

/// Whether packing makes a file clearly smaller, by its beginning.
pub(super) fn is_worth_it(plain: &Path) -> io::Result<bool> {
    if std::fs::metadata(plain)?.len() > LONGEST {
        return Ok(false);
    }
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
    let content = zstd::stream::read::Decoder::new(file)?;
    let bounded = BoundedContent { content, left: LONGEST, line: 0, longest_line: LONGEST_LINE };
    Ok(BufReader::with_capacity(AT_ONCE, bounded))
}

/// Ends with an error where more comes than may.
struct BoundedContent<R> {
    content: R,
    left: u64,
    /// How long the line is that has not ended.
    line: u64,
    longest_line: u64,
}

impl<R: Read> Read for BoundedContent<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        let part = &buffer[..count];
        let too_much = |what| Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        let Some(left) = self.left.checked_sub(part.len() as u64) else {
            return too_much(
                "it unpacks to more than 1 GB, which nothing of slug's does: remove it",
            );
        };
        self.left = left;
        let first = memchr::memchr(b'\n', part).unwrap_or(count);
        if self.line + first as u64 > self.longest_line {
            return too_much(
                "it unpacks to a line of more than 64 MB, which nothing of slug's has: remove it",
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
    fn what_is_unpacked_has_bounds() {
        let home = tempfile::tempdir().unwrap();
        let plain = home.path().join("x.jsonl");
        let zeros = io::repeat(0).take(LONGEST_LINE + 1);
        zstd::stream::copy_encode(zeros, File::create(packed(&plain)).unwrap(), LEVEL).unwrap();
        assert!(packed(&plain).metadata().unwrap().len() < 64 << 10);
        let told = |read: io::Result<u64>| read.unwrap_err().to_string();
        let read = io::copy(&mut open(&plain).unwrap().unwrap(), &mut io::sink());
        assert!(told(read).contains("a line of more than 64 MB"));
        // Nothing of it stays, and it is not taken for what is to be packed, either.
        assert!(told(unpack(&plain).map(|()| 0)).contains("64 MB") && !plain.exists());
        let read = |text: &[u8], left, longest_line| {
            let mut bounded = BoundedContent { content: text, left, line: 0, longest_line };
            // In pieces, as a reader gets them.
            let mut piece = [0; 3];
            while bounded.read(&mut piece)? > 0 {}
            Ok::<u64, io::Error>(bounded.left)
        };
        assert_eq!(read(b"abcd\nabcd\n\nab", 13, 4).unwrap(), 0);
        assert!(told(read(b"abcd\nabcd\n\nab", 12, 4)).contains("more than 1 GB"));
        for text in [b"abcde".as_slice(), b"a\nabcde\n", b"\n\nabcde"] {
            assert!(told(read(text, 99, 4)).contains("64 MB"), "{text:?}");
        }
    }

    #[test]
    fn what_could_not_be_read_again_is_not_packed() {
        let home = tempfile::tempdir().unwrap();
        let plain = home.path().join("x");
        File::create(&plain).unwrap().set_len(LONGEST_LINE + 1).unwrap();
        pack(&plain).unwrap_err();
        assert!(plain.exists() && !packed(&plain).exists());
        File::create(&plain).unwrap().set_len(LONGEST + 1).unwrap();
        assert!(!is_worth_it(&plain).unwrap());
    }

    #[test]
    fn what_is_not_there_is_none() {
        let home = tempfile::tempdir().unwrap();
        assert!(open(&home.path().join("x")).unwrap().is_none());
    }
}
