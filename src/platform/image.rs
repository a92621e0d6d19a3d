//! Makes an image fit for a model: one of the formats that servers take, and within their limits.
//!
//! An image that is small enough stays as it is, byte for byte. The size of an image is known and
//! checked before it is decoded. All of this can take up to a second: never on the UI task.

use std::io::{self, Cursor};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::imageops::{self, FilterType};
use image::metadata::Orientation;
use image::{
    DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageFormat, ImageReader, Limits,
};

use crate::disk::{FileTextError, read_regular};
use crate::domain::{MediaType, MessageImage};

/// The largest file that is read, in bytes.
pub const LARGEST: u64 = 20_000_000;
/// The longest side, in pixels, that servers take without scaling the image down themselves.
const LONGEST_SIDE: u32 = 2000;
/// The most bytes that are sent: providers take 5 MB of base64.
const LARGEST_SENT: usize = 3_750_000;
/// The most pixels that are decoded: a quarter of a gigabyte of memory.
const MOST_PIXELS: u64 = 64_000_000;
/// The most that profiles and texts in a file may unpack to, in bytes.
const MOST_BESIDE_PIXELS: u64 = 16 << 20;
/// The quality of a JPEG that is made here, from 1 to 100.
const QUALITY: u8 = 85;

/// One image is decoded at a time: the largest takes three quarters of a gigabyte on the way, and a
/// response may ask for hundreds.
static DECODING: Mutex<()> = Mutex::new(());

/// An image that a model can take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedImage {
    /// The description for a message: name, format, size and hash.
    pub image: MessageImage,
    /// The encoded image, stored under its hash.
    pub bytes: Vec<u8>,
}

/// Why something is no image for a model.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The format is none that servers take.
    #[error("{0} is not a supported image. Use PNG, JPEG, GIF or WebP.")]
    Unknown(String),
    /// The file is larger than [`LARGEST`].
    #[error("{0} is larger than 20 MB. Resize or crop it.")]
    TooLarge(String),
    /// The image has more pixels than slug decodes, and was not decoded.
    #[error("{name} has {width}×{height} pixels, too many. Resize it.")]
    TooManyPixels { name: String, width: u32, height: u32 },
    /// The decoder or the encoder failed on the pixels.
    #[error("{name} is damaged: {source}.")]
    Damaged { name: String, source: image::ImageError },
    /// The operating system could not read the file.
    #[error("Cannot read {name}: {source}.")]
    Io { name: String, source: io::Error },
}

/// Reads the image in a file; `None` where there is no such file.
///
/// # Errors
///
/// When the file cannot be read, is too large, or is no image that can be decoded.
pub fn read(path: &Path) -> Result<Option<PreparedImage>, ImageError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let failed = |source| ImageError::Io { name: name.clone(), source };
    let bytes = match read_regular(path, LARGEST + 1) {
        Ok(Some(bytes)) => bytes,
        Ok(None) | Err(FileTextError::NotAFile | FileTextError::NotText) => return Ok(None),
        Err(FileTextError::Io(error)) => return Err(failed(error)),
    };
    fit(&name, bytes).map(Some)
}

/// Makes an image of RGBA pixels, four bytes each.
///
/// # Errors
///
/// When there are not four bytes for each pixel, or the image cannot be encoded.
pub fn of_pixels(name: &str, size: (u32, u32), pixels: &[u8]) -> Result<PreparedImage, ImageError> {
    fit(name, png(name, size, pixels)?)
}

/// Checks an encoded image and scales it down where it is too large for a server. An image that
/// fits keeps its bytes.
///
/// # Errors
///
/// When the bytes are too many, of an unknown format, damaged, or of too many pixels.
pub fn fit(name: &str, bytes: Vec<u8>) -> Result<PreparedImage, ImageError> {
    if bytes.len() as u64 > LARGEST {
        return Err(ImageError::TooLarge(name.to_owned()));
    }
    let kind = MediaType::of(&bytes).ok_or_else(|| ImageError::Unknown(name.to_owned()))?;
    let _one = DECODING.lock().unwrap_or_else(PoisonError::into_inner);
    let decoded = decode(name, kind, &bytes)?;
    let size = (decoded.width(), decoded.height());
    if size.0.max(size.1) <= LONGEST_SIDE && bytes.len() <= LARGEST_SENT {
        return Ok(PreparedImage { image: MessageImage::new(name, kind, size, &bytes), bytes });
    }
    let pixels = decoded.into_rgba8();
    let (width, height) = within(size, (LONGEST_SIDE, LONGEST_SIDE));
    let pixels = imageops::resize(&pixels, width, height, FilterType::Triangle);
    let mut kind = kind;
    let mut bytes = Vec::new();
    if kind != MediaType::Jpeg {
        kind = MediaType::Png;
        bytes = png(name, (width, height), &pixels)?;
    }
    if kind == MediaType::Jpeg || bytes.len() > LARGEST_SENT {
        kind = MediaType::Jpeg;
        bytes = jpeg(name, DynamicImage::ImageRgba8(pixels))?;
    }
    let image = MessageImage::new(name, kind, (width, height), &bytes);
    let image = if (width, height) == size { image } else { image.scaled_from(size) };
    Ok(PreparedImage { image, bytes })
}

/// Decodes an image of this format and turns it as its orientation says.
///
/// # Errors
///
/// When the bytes are damaged or the image has too many pixels.
pub fn decode(name: &str, kind: MediaType, bytes: &[u8]) -> Result<DynamicImage, ImageError> {
    let damaged = |source| ImageError::Damaged { name: name.to_owned(), source };
    let format = match kind {
        MediaType::Png => ImageFormat::Png,
        MediaType::Jpeg => ImageFormat::Jpeg,
        MediaType::Gif => ImageFormat::Gif,
        MediaType::Webp => ImageFormat::WebP,
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MOST_BESIDE_PIXELS);
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder().map_err(damaged)?;
    limits.max_alloc = Some(MOST_PIXELS * 8);
    decoder.set_limits(limits).map_err(damaged)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(ImageError::TooManyPixels { name: name.to_owned(), width, height });
    }
    let turned = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut image = DynamicImage::from_decoder(decoder).map_err(damaged)?;
    image.apply_orientation(turned);
    Ok(image)
}

/// Scales `size` down to fit `most` with the same proportions. It is never scaled up.
pub fn within(size: (u32, u32), most: (u32, u32)) -> (u32, u32) {
    let scale = |side: u32, most: u32| f64::from(most) / f64::from(side.max(1));
    let factor = scale(size.0, most.0).min(scale(size.1, most.1)).min(1.0);
    let side = |side: u32| ((f64::from(side) * factor).round() as u32).max(1);
    (side(size.0), side(size.1))
}

/// Encodes RGBA pixels, four bytes each, as a PNG.
///
/// # Errors
///
/// When there are not four bytes for each pixel of the size.
pub fn png(name: &str, (width, height): (u32, u32), pixels: &[u8]) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes)
        .write_image(pixels, width, height, ExtendedColorType::Rgba8)
        .map_err(|source| ImageError::Damaged { name: name.to_owned(), source })?;
    Ok(bytes)
}

fn jpeg(name: &str, image: DynamicImage) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, QUALITY)
        .encode_image(&image.into_rgb8())
        .map_err(|source| ImageError::Damaged { name: name.to_owned(), source })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(width: u32, height: u32) -> Vec<u8> {
        let pixels = vec![200; (width * height * 4) as usize];
        png("p", (width, height), &pixels).unwrap()
    }

    #[test]
    fn a_small_image_keeps_its_bytes() {
        let bytes = picture(30, 20);
        let fit = fit("a.png", bytes.clone()).unwrap();
        assert_eq!(fit.bytes, bytes);
        assert_eq!(fit.image.to_string(), "a.png 30×20");
    }

    #[test]
    fn a_large_image_is_scaled_down_and_says_so() {
        let fit = fit("a.png", picture(4000, 1000)).unwrap();
        assert_eq!(fit.image.to_string(), "a.png 4000×1000 scaled to 2000×500");
        let scaled = decode("a", MediaType::Png, &fit.bytes).unwrap();
        assert_eq!((scaled.width(), scaled.height()), (2000, 500));
    }

    #[test]
    fn a_jpeg_stays_a_jpeg() {
        let image = DynamicImage::ImageRgba8(image::RgbaImage::new(2400, 100));
        let fit = fit("a.jpg", jpeg("a", image).unwrap()).unwrap();
        assert_eq!((fit.image.media_type, fit.image.width), (MediaType::Jpeg, 2000));
    }

    #[test]
    fn a_bomb_is_refused_before_it_is_decoded() {
        // Only the head of a PNG: what follows is never read.
        let mut bytes = picture(1, 1);
        bytes[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
        let refused = fit("a.png", bytes).unwrap_err();
        assert!(!refused.to_string().is_empty());
        assert!(matches!(refused, ImageError::TooManyPixels { .. } | ImageError::Damaged { .. }));
    }

    #[test]
    fn bytes_that_are_no_image_are_an_error() {
        let error_of = |bytes: &[u8]| fit("a.png", bytes.to_vec()).unwrap_err().to_string();
        assert!(error_of(b"text").starts_with("a.png is not a supported image"));
        assert!(error_of(b"\x89PNG\r\n\x1a\nxxxx").starts_with("a.png is damaged"));
    }

    #[test]
    fn a_missing_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(&folder.path().join("a.png")).unwrap(), None);
        assert_eq!(read(folder.path()).unwrap(), None);
        std::fs::write(folder.path().join("b.png"), picture(2, 2)).unwrap();
        let fit = read(&folder.path().join("b.png")).unwrap().unwrap();
        assert_eq!(fit.image.name(), "b.png");
    }

    #[test]
    fn proportions_are_kept() {
        assert_eq!(within((4000, 2000), (2000, 2000)), (2000, 1000));
        assert_eq!(within((10, 10), (2000, 2000)), (10, 10));
        assert_eq!(within((1, 9000), (2000, 2000)), (1, 2000));
    }
}
