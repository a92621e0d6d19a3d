//! Encodes pixels as sixels: six rows at a time, one pass for each colour in them.
//!
//! The colours are a fixed cube of 216, so that two images on one screen need the same colours. The
//! error of each pixel is spread over its neighbours (Floyd and Steinberg's dithering).

use image::RgbaImage;

/// Steps of each of red, green and blue.
const STEPS: u8 = 6;
/// Rows in a band.
const BAND: u32 = 6;

/// The sequence that paints these pixels at the cursor. Mostly transparent pixels are left out.
pub(super) fn encode(pixels: &RgbaImage) -> Vec<u8> {
    let (width, height) = pixels.dimensions();
    let colours = reduce(pixels);
    let mut out = format!("\x1bP0;1;0q\"1;1;{width};{height}").into_bytes();
    let percent = |step: u8| u32::from(step) * 100 / u32::from(STEPS - 1);
    for colour in 0..STEPS.pow(3) {
        let (red, green, blue) = (colour / 36, colour / 6 % 6, colour % 6);
        let (red, green, blue) = (percent(red), percent(green), percent(blue));
        out.extend_from_slice(format!("#{colour};2;{red};{green};{blue}").as_bytes());
    }
    for top in (0..height).step_by(BAND as usize) {
        band(&colours, (width, height), top, &mut out);
        out.push(b'-');
    }
    out.extend_from_slice(b"\x1b\\");
    out
}

fn band(colours: &[Option<u8>], (width, height): (u32, u32), top: u32, out: &mut Vec<u8>) {
    let at = |x: u32, y: u32| colours.get((y * width + x) as usize).copied().flatten();
    let rows = top..(top + BAND).min(height);
    let mut used = [false; 256];
    for colour in rows.clone().flat_map(|y| (0..width).filter_map(move |x| at(x, y))) {
        used[usize::from(colour)] = true;
    }
    for colour in (0..=u8::MAX).filter(|colour| used[usize::from(*colour)]) {
        out.extend_from_slice(format!("#{colour}").as_bytes());
        let column = |x: u32| {
            let bits = rows.clone().filter(|y| at(x, *y) == Some(colour));
            63 + bits.fold(0, |bits, y| bits | 1_u8 << (y - top))
        };
        let mut x = 0;
        while x < width {
            let sixel = column(x);
            let run = (x..width).take_while(|next| column(*next) == sixel).count();
            match run {
                0..=3 => out.extend(std::iter::repeat_n(sixel, run)),
                _ => out.extend_from_slice(format!("!{run}{}", char::from(sixel)).as_bytes()),
            }
            x += u32::try_from(run).unwrap_or(width).max(1);
        }
        out.push(b'$');
    }
}

/// The colour number of each pixel; `None` for a transparent one.
fn reduce(pixels: &RgbaImage) -> Vec<Option<u8>> {
    let (width, height) = pixels.dimensions();
    let across = width as usize;
    // The error that the pixels of this row and the next have to correct, with room at both ends.
    let mut owed = [vec![[0_i32; 3]; across + 2], vec![[0_i32; 3]; across + 2]];
    let mut colours = Vec::with_capacity(across * height as usize);
    for y in 0..height {
        for x in 0..across {
            let pixel = pixels.get_pixel(x as u32, y).0;
            if pixel[3] < 128 {
                colours.push(None);
                continue;
            }
            let mut number = 0;
            for channel in 0..3 {
                let wanted = i32::from(pixel[channel]) + owed[0][x + 1][channel] / 16;
                let wanted = wanted.clamp(0, 255);
                let step = (wanted * i32::from(STEPS - 1) + 127) / 255;
                let missed = wanted - step * 255 / i32::from(STEPS - 1);
                owed[0][x + 2][channel] += missed * 7;
                owed[1][x][channel] += missed * 3;
                owed[1][x + 1][channel] += missed * 5;
                owed[1][x + 2][channel] += missed;
                number = number * STEPS + u8::try_from(step).unwrap_or(0);
            }
            colours.push(Some(number));
        }
        owed.swap(0, 1);
        owed[1].fill([0; 3]);
    }
    colours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_red_square_is_one_colour_in_two_bands() {
        let pixels = RgbaImage::from_pixel(8, 7, image::Rgba([255, 0, 0, 255]));
        let text = String::from_utf8(encode(&pixels)).unwrap();
        assert!(text.starts_with("\x1bP0;1;0q\"1;1;8;7#0;2;0;0;0"));
        assert!(text.ends_with("#180!8~$-#180!8@$-\x1b\\"), "{text}");
    }

    #[test]
    fn transparent_pixels_are_left_out() {
        let pixels = RgbaImage::new(4, 4);
        assert!(encode(&pixels).ends_with(b"#215;2;100;100;100-\x1b\\"));
    }
}
