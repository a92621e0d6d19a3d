//! An image in the transcript where no picture of it can be shown: a frame that says what it is.

use crate::domain::Image;
use crate::tui::layout::{Line, Role};

use super::paint::{line, span, truncate, width};

/// What a box says of an image.
pub fn about(image: &Image) -> String {
    format!("{} {}  {}", image.media_type.short(), image.size(), bytes(image.bytes))
}

/// How much a number of bytes is.
pub fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

/// A frame of this size with what is known of the image in its middle. Smaller ones are left out.
pub fn frame(image: &Image, columns: u16, rows: u16) -> Vec<Line> {
    let inner = columns.saturating_sub(2);
    if rows < 3 || inner == 0 {
        return vec![line(vec![span(truncate(&about(image), columns), Role::Muted)])];
    }
    let across = "─".repeat(usize::from(inner));
    let edge = |text: String| line(vec![span(text, Role::Border)]);
    let blank = " ".repeat(usize::from(inner));
    let words = truncate(&about(image), inner.saturating_sub(2));
    let left = (inner - width(&words)) / 2;
    let right = inner - width(&words) - left;
    let room = |columns: u16| " ".repeat(usize::from(columns));
    let mut lines = vec![edge(format!("┌{across}┐"))];
    for row in 1..rows - 1 {
        lines.push(if row == (rows - 1) / 2 {
            line(vec![
                span(format!("│{}", room(left)), Role::Border),
                span(words.clone(), Role::Muted),
                span(format!("{}│", room(right)), Role::Border),
            ])
        } else {
            edge(format!("│{blank}│"))
        });
    }
    lines.push(edge(format!("└{across}┘")));
    lines
}

/// The frame where no picture will ever be shown: as small as its words.
pub fn label(image: &Image, columns: u16) -> Vec<Line> {
    frame(image, (width(&about(image)) + 6).min(columns), 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::MediaType;

    fn shown(lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| line.spans.iter().map(|it| it.text.as_str()).collect()).collect()
    }

    #[test]
    fn a_frame_has_its_size_and_its_words_in_the_middle() {
        let image = Image::new("a.png", MediaType::Png, (30, 20), &[0; 2_345]);
        let lines = shown(&frame(&image, 24, 5));
        assert_eq!(lines.len(), 5);
        assert!(lines.iter().all(|line| width(line) == 24), "{lines:?}");
        assert_eq!(lines[2], "│  PNG 30×20  2.3 kB   │");
        assert_eq!(shown(&frame(&image, 12, 3))[1], "│ PNG 30×… │");
        assert_eq!(shown(&frame(&image, 5, 2)), ["PNG …"]);
    }

    #[test]
    fn sizes_read_well() {
        let said = [999, 1_000, 2_345_678].map(bytes);
        assert_eq!(said, ["999 bytes", "1.0 kB", "2.3 MB"]);
    }
}
