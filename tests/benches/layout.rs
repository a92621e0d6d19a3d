//! Layout: from text to lines.

use divan::{Bencher, black_box, counter::BytesCount};
use slug_code::domain::FileDiff;
use slug_code::tui::layout::ansi::{self, AnsiExcerpt};
use slug_code::tui::layout::markdown::{self, StreamingMarkdown};
use slug_code::tui::layout::{LayoutCache, LayoutKey, PaneFold, SyntaxHighlighter, diff};

use crate::samples;

const WIDTH: u16 = 117;

/// Pieces of 16 bytes, laid out every 512 bytes, as frames do.
#[divan::bench(sample_count = 20)]
fn markdown_streamed_200_kb(bencher: Bencher) {
    let text = samples::markdown(200_000);
    let off = SyntaxHighlighter::off();
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let mut stream = StreamingMarkdown::default();
        for (n, piece) in text.as_bytes().chunks(16).enumerate() {
            stream.push(std::str::from_utf8(piece).unwrap());
            if n % 32 == 31 {
                black_box(stream.lines(WIDTH, &off).len());
            }
        }
        stream.lines(WIDTH, &off).len()
    });
}

/// The same, with a link in each paragraph. The links are defined at the end, and the list of
/// definitions streams as well.
#[divan::bench(sample_count = 20)]
fn markdown_with_definitions_streamed_200_kb(bencher: Bencher) {
    let text = samples::markdown(200_000);
    let mut text: String = text
        .split("\n\n")
        .enumerate()
        .map(|(n, block)| format!("{block}\n\nSee [source {n}] of it.\n\n"))
        .collect();
    for n in 0..text.matches("[source ").count() {
        text.push_str(&format!("[source {n}]: https://a.example/{n}\n"));
    }
    let off = SyntaxHighlighter::off();
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let mut stream = StreamingMarkdown::default();
        for (n, piece) in text.as_bytes().chunks(16).enumerate() {
            stream.push(std::str::from_utf8(piece).unwrap());
            if n % 32 == 31 {
                black_box(stream.lines(WIDTH, &off).len());
            }
        }
        stream.lines(WIDTH, &off).len()
    });
}

#[divan::bench]
fn markdown_whole_200_kb(bencher: Bencher) {
    let text = samples::markdown(200_000);
    let off = SyntaxHighlighter::off();
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| markdown::render(black_box(&text), WIDTH, &off));
}

/// A frame's requests for 40 blocks that it has drawn before.
#[divan::bench]
fn cached_frame(bencher: Bencher) {
    let off = SyntaxHighlighter::off();
    let mut layouts = LayoutCache::default();
    let key =
        |block| LayoutKey { owner: 1, block, revision: 0, width: WIDTH, fold: PaneFold::Open };
    let text = samples::markdown(1_000);
    let mut frame = move || {
        (0..40)
            .map(|block| {
                layouts.get(key(block), &off, || markdown::render(&text, WIDTH, &off)).len()
            })
            .sum::<usize>()
    };
    frame();
    bencher.bench_local(frame);
}

#[divan::bench]
fn diff_of_2000_lines(bencher: Bencher) {
    let side = |name: &str| -> String {
        (0..1_000).map(|n| format!("    let {name}{n} = parse(input, {n});\n")).collect()
    };
    let diff = FileDiff::between("/home/me/src/parser.rs", &side("old"), &side("new"));
    let off = SyntaxHighlighter::off();
    bencher.bench(|| diff::render(black_box(&diff), WIDTH, usize::MAX, &off));
}

#[divan::bench(sample_count = 20)]
fn terminal_output_of_1_mb(bencher: Bencher) {
    let line = "\x1b[1m\x1b[32m   Compiling\x1b[0m parser v0.1.0 (/home/me/crates/parser)\n";
    let output = line.repeat(1_000_000 / line.len());
    bencher
        .counter(BytesCount::of_str(&output))
        .bench(|| ansi::render(black_box(&output), AnsiExcerpt::All, WIDTH));
}
