//! Turns a command's output into the plain text that a terminal would show. Pure.

/// The text without escape sequences and control characters, each line in its last state.
pub(super) fn plain(printed: &str) -> String {
    let mut plain = String::with_capacity(printed.len());
    for (index, line) in printed.split(['\n', '\0']).enumerate() {
        if index > 0 {
            plain.push('\n');
        }
        let start = plain.len();
        let mut rest = last_state(line).chars();
        while let Some(c) = rest.next() {
            match c {
                '\u{1b}' => skip_escape(&mut rest),
                '\u{9b}' => skip_control(&mut rest),
                '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut rest),
                // An overstrike, as in manual pages.
                '\u{8}' if plain.len() > start => {
                    plain.pop();
                }
                '\t' => plain.push(c),
                c if c.is_control() => {}
                c => plain.push(c),
            }
        }
    }
    plain
}

/// Each line in its last state, with its escape sequences.
pub(super) fn last_states(printed: &str) -> String {
    let lines: Vec<&str> = printed.split('\n').map(last_state).collect();
    lines.join("\n")
}

/// The last state of a progress line: the part after the last carriage return that is followed by
/// anything.
fn last_state(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.rsplit('\r').next().unwrap_or(line)
}

fn skip_escape(rest: &mut std::str::Chars<'_>) {
    let mut after = rest.clone();
    match after.next() {
        Some('[') => {
            *rest = after;
            skip_control(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            *rest = after;
            skip_string(rest);
        }
        // Intermediate bytes, then a final one.
        Some(' '..='/') => {
            while let Some(' '..='/') = after.clone().next() {
                after.next();
            }
            if let Some('0'..='~') = after.clone().next() {
                after.next();
            }
            *rest = after;
        }
        Some('0'..='~') => *rest = after,
        Some(_) | None => {}
    }
}

/// Skips parameters and intermediate bytes, then a final one. Stops before anything else.
fn skip_control(rest: &mut std::str::Chars<'_>) {
    loop {
        let mut after = rest.clone();
        match after.next() {
            Some(' '..='?') => *rest = after,
            Some('@'..='~') => {
                *rest = after;
                return;
            }
            Some(_) | None => return,
        }
    }
}

/// Skips up to BEL or ST. A string without an end takes the rest of the line, no more.
fn skip_string(rest: &mut std::str::Chars<'_>) {
    while let Some(c) = rest.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' if rest.as_str().starts_with('\\') => {
                rest.next();
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_go_and_text_stays() {
        let cases = [
            ("\x1b[1;31mred\x1b[0m x", "red x"),
            ("\x1b]0;title\x07a\x1b]8;;http://e\x1b\\link\x1b]8;;\x1b\\", "alink"),
            ("\x1bP+q544e\x1b\\a\x1b(Bb\x1b7c\x1b=", "abc"),
            ("\u{9b}2Ja\u{9d}0;t\u{9c}b", "ab"),
            ("\x1b]0;never ends\nnext", "\nnext"),
            ("\x1b[12\u{e9}", "\u{e9}"),
            ("N\x08NA\x08A \x07.\x7f", "NA ."),
            ("a\0b", "a\nb"),
            ("tab\there \x1b", "tab\there "),
        ];
        for (printed, expected) in cases {
            assert_eq!(plain(printed), expected, "{printed:?}");
        }
    }

    #[test]
    fn r42_progress_lines_show_their_last_state() {
        assert_eq!(plain(" 1%\r 50%\r100%\r\ndone\r\n"), "100%\ndone\n");
        assert_eq!(plain("a\r\r\rb\r\r"), "b");
        assert_eq!(last_states("\x1b[1m1%\r\x1b[1m2%\x1b[0m\n"), "\x1b[1m2%\x1b[0m\n");
    }

    proptest! {
        #[test]
        fn plain_text_holds_no_control_character(printed in "[\\x00-\\x1f\\x7f-\\u{9f}a-e\\[\\]é;0-9 ]{0,60}") {
            let plain = plain(&printed);
            prop_assert!(!plain.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        }

        #[test]
        fn text_without_controls_is_left_alone(text in "[ -~é→\n]{0,60}") {
            prop_assert_eq!(plain(&text), text);
        }
    }
}
