//! Opens and reads regular files only, without ever blocking on a FIFO or a device.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Why a file cannot be read as text. The messages follow the file's name and a colon.
#[derive(Debug, thiserror::Error)]
pub enum FileTextError {
    /// A folder, FIFO, socket or device.
    #[error("is not a regular file")]
    NotAFile,
    /// It holds NUL bytes or is not UTF-8.
    #[error("is not UTF-8 text")]
    NotText,
    /// The operating system refuses to open or read it.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// The first `limit` bytes of a file as text, without a byte order mark; `None` when there is no
/// file. A character that the limit cuts in two is left out.
///
/// # Errors
///
/// [`FileTextError::NotAFile`] when the path is a folder, FIFO, socket or device,
/// [`FileTextError::NotText`] when the file holds NUL bytes or is not UTF-8, and
/// [`FileTextError::Io`] when it cannot be opened or read.
pub fn read_text(path: &Path, limit: u64) -> Result<Option<String>, FileTextError> {
    let Some(bytes) = read_regular(path, limit)? else { return Ok(None) };
    let was_cut = bytes.len() as u64 == limit;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let fault = error.utf8_error();
            if fault.error_len().is_some() || !was_cut {
                return Err(FileTextError::NotText);
            }
            let mut bytes = error.into_bytes();
            bytes.truncate(fault.valid_up_to());
            String::from_utf8(bytes).map_err(|_| FileTextError::NotText)?
        }
    };
    if text.contains('\0') {
        return Err(FileTextError::NotText);
    }
    Ok(Some(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned)))
}

/// The first `limit` bytes of a file; `None` when there is no file.
///
/// # Errors
///
/// [`FileTextError::NotAFile`] when the path is a folder, FIFO, socket or device, and
/// [`FileTextError::Io`] when it cannot be opened or read.
pub fn read_regular(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileTextError> {
    let Some((file, _)) = open_regular(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Opens a file and returns it with the metadata of the open file; `None` when there is no file.
///
/// # Errors
///
/// [`FileTextError::NotAFile`] when the path is a folder, FIFO, socket or device, and
/// [`FileTextError::Io`] when it cannot be opened or examined.
pub fn open_regular(path: &Path) -> Result<Option<(File, Metadata)>, FileTextError> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        // `open` on a socket fails with ENXIO.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            return Err(FileTextError::NotAFile);
        }
        Err(error) => return Err(error.into()),
    };
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok(Some((file, metadata))) } else { Err(FileTextError::NotAFile) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_character_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "aé").unwrap();
        assert_eq!(read_text(&path, 2).unwrap().as_deref(), Some("a"));
        assert_eq!(read_text(&path, 3).unwrap().as_deref(), Some("aé"));
    }

    #[test]
    fn a_byte_order_mark_is_not_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "\u{feff}x").unwrap();
        assert_eq!(read_text(&path, 100).unwrap().as_deref(), Some("x"));
    }

    #[test]
    fn files_that_are_not_text_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        crate::domain::testing::make_fifo(&fifo);
        assert!(matches!(read_text(&fifo, 10), Err(FileTextError::NotAFile)));
        assert!(matches!(read_text(folder.path(), 10), Err(FileTextError::NotAFile)));
        let binary = folder.path().join("binary");
        std::fs::write(&binary, b"\x7fELF\0").unwrap();
        assert!(matches!(read_text(&binary, 10), Err(FileTextError::NotText)));
        std::fs::write(&binary, b"\xff\xfe").unwrap();
        assert!(matches!(read_text(&binary, 10), Err(FileTextError::NotText)));
        assert!(read_text(&folder.path().join("none"), 10).unwrap().is_none());
    }
}
