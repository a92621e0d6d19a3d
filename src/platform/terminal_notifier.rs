//! The sequences for what slug tells the terminal beside the screen: the window's title,
//! notifications for the user, and progress. This module only makes bytes; the owner of the
//! terminal writes them, and `terminal` undoes at the end what would stay.
//!
//! Every text is made harmless and short here, whatever its source. A multiplexer may drop a
//! sequence: for tmux a notification is wrapped, which tmux drops unless `allow-passthrough` is on,
//! and followed by a bell, which tmux always takes.

use unicode_segmentation::UnicodeSegmentation;

use super::clipboard::TerminalMultiplexer;
use super::terminal_kind::{TerminalInfo, TerminalKind};
use crate::domain::sanitize::sanitize;

/// The most graphemes of a title and of a notification's text.
const LONGEST: usize = 80;

/// Saves the window's title on the terminal's own stack (XTWINOPS).
pub const KEEP_TITLE: &str = "\x1b[22;2t";

/// Empties the window's title, for terminals that have no stack, then restores the saved one.
pub const RETURN_TITLE: &str = "\x1b]2;\x07\x1b[23;2t";

/// Removes the progress.
pub const CLEAR_PROGRESS: &str = "\x1b]9;4;0;\x07";

/// The sequence by which a notification reaches the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationSequence {
    /// BEL, which every terminal understands.
    Bell,
    /// `OSC 9 ; text`, from iTerm2.
    Osc9,
    /// `OSC 777 ; notify ; title ; text`, from urxvt.
    Osc777,
    /// `OSC 99`, from kitty.
    Osc99,
}

/// The progress of the work, as `OSC 9;4` reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TerminalProgress {
    /// slug does not work.
    #[default]
    None,
    /// slug works, and does not know how far it is.
    Busy,
    /// From 0 to 100; more counts as 100.
    Percent(u8),
    /// The work waits for the user's answer.
    Waiting,
}

/// Makes the sequences that are wanted and that the terminal understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalNotifier {
    /// `None` where notifications are not wanted.
    pub method: Option<NotificationSequence>,
    pub title: TitleReporting,
    pub progress: ProgressReporting,
    pub multiplexer: TerminalMultiplexer,
}

/// Whether slug sets the window's title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitleReporting {
    Yes,
    /// The window keeps the title it has.
    No,
}

/// Whether slug reports progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressReporting {
    Yes,
    No,
}

impl NotificationSequence {
    /// The best sequence that the terminal is known to understand. Windows Terminal and ConEmu show
    /// no message for OSC 9, but flash the task bar at a bell.
    pub fn of(kind: TerminalKind) -> Self {
        match kind {
            TerminalKind::Kitty => Self::Osc99,
            TerminalKind::Iterm2 => Self::Osc9,
            TerminalKind::Ghostty
            | TerminalKind::WezTerm
            | TerminalKind::Foot
            | TerminalKind::Urxvt
            | TerminalKind::Warp => Self::Osc777,
            TerminalKind::Alacritty
            | TerminalKind::AppleTerminal
            | TerminalKind::ConEmu
            | TerminalKind::Dumb
            | TerminalKind::Konsole
            | TerminalKind::LinuxConsole
            | TerminalKind::Mintty
            | TerminalKind::Rio
            | TerminalKind::VsCode
            | TerminalKind::Vte
            | TerminalKind::WindowsTerminal
            | TerminalKind::Xterm
            | TerminalKind::Zed
            | TerminalKind::Unknown => Self::Bell,
        }
    }
}

impl TitleReporting {
    /// `No` for the console of Linux, which has no window, and for dumb terminals.
    pub fn possible(kind: TerminalKind) -> Self {
        match kind {
            TerminalKind::LinuxConsole | TerminalKind::Dumb => Self::No,
            TerminalKind::Alacritty
            | TerminalKind::AppleTerminal
            | TerminalKind::ConEmu
            | TerminalKind::Foot
            | TerminalKind::Ghostty
            | TerminalKind::Iterm2
            | TerminalKind::Kitty
            | TerminalKind::Konsole
            | TerminalKind::Mintty
            | TerminalKind::Rio
            | TerminalKind::Urxvt
            | TerminalKind::VsCode
            | TerminalKind::Vte
            | TerminalKind::Warp
            | TerminalKind::WezTerm
            | TerminalKind::WindowsTerminal
            | TerminalKind::Xterm
            | TerminalKind::Zed
            | TerminalKind::Unknown => Self::Yes,
        }
    }
}

impl ProgressReporting {
    /// `Yes` only where `OSC 9;4` is known to be progress: elsewhere it may show as a message with
    /// the text "4;3", as in iTerm2 and in older Ghostty and WezTerm.
    pub fn safe(terminal: &TerminalInfo) -> Self {
        let direct = terminal.multiplexer == TerminalMultiplexer::None;
        let understood = match terminal.kind {
            TerminalKind::WindowsTerminal | TerminalKind::ConEmu => true,
            TerminalKind::Ghostty => terminal.is_at_least((1, 2)),
            // WezTerm's versions are dates.
            TerminalKind::WezTerm => terminal.is_at_least((20_250_209, 0)),
            TerminalKind::Alacritty
            | TerminalKind::AppleTerminal
            | TerminalKind::Dumb
            | TerminalKind::Foot
            | TerminalKind::Iterm2
            | TerminalKind::Kitty
            | TerminalKind::Konsole
            | TerminalKind::LinuxConsole
            | TerminalKind::Mintty
            | TerminalKind::Rio
            | TerminalKind::Urxvt
            | TerminalKind::VsCode
            | TerminalKind::Vte
            | TerminalKind::Warp
            | TerminalKind::Xterm
            | TerminalKind::Zed
            | TerminalKind::Unknown => false,
        };
        if direct && understood { Self::Yes } else { Self::No }
    }
}

impl TerminalNotifier {
    /// A notifier that makes no sequences.
    pub fn silent() -> Self {
        let multiplexer = TerminalMultiplexer::None;
        Self {
            method: None,
            title: TitleReporting::No,
            progress: ProgressReporting::No,
            multiplexer,
        }
    }

    /// The bytes that notify the user; `None` where notifications are not wanted.
    pub fn notification(&self, text: &str) -> Option<Vec<u8>> {
        let call = self.method?;
        let text = short(text);
        let plain = match call {
            NotificationSequence::Bell => return Some(b"\x07".to_vec()),
            // In ConEmu a text that begins with a digit is a command; slug's name begins with none.
            NotificationSequence::Osc9 => format!("\x1b]9;slug: {text}\x07"),
            NotificationSequence::Osc777 => {
                format!("\x1b]777;notify;slug;{}\x07", text.replace(';', ","))
            }
            NotificationSequence::Osc99 => {
                format!(
                    "\x1b]99;i=slug:d=0:o=unfocused;slug\x1b\\\x1b]99;i=slug:p=body;{text}\x1b\\"
                )
            }
        };
        Some(match self.multiplexer {
            TerminalMultiplexer::None => plain.into_bytes(),
            TerminalMultiplexer::Tmux => {
                let passed = plain.replace('\x1b', "\x1b\x1b");
                format!("\x1bPtmux;{passed}\x1b\\\x07").into_bytes()
            }
            // Screen's strings end at the first ST, so that only a bell surely arrives whole.
            TerminalMultiplexer::Screen => b"\x07".to_vec(),
        })
    }

    /// The sequence that sets the window's title; `None` where it is not wanted.
    pub fn title(&self, title: &str) -> Option<String> {
        match self.title {
            TitleReporting::Yes => Some(format!("\x1b]2;{}\x07", short(title))),
            TitleReporting::No => None,
        }
    }

    /// The sequence that reports progress; `None` where it is not wanted.
    pub fn progress(&self, progress: TerminalProgress) -> Option<String> {
        match (self.progress, progress) {
            (ProgressReporting::No, _) => None,
            (ProgressReporting::Yes, TerminalProgress::None) => Some(CLEAR_PROGRESS.to_owned()),
            (ProgressReporting::Yes, TerminalProgress::Busy) => Some("\x1b]9;4;3;\x07".to_owned()),
            (ProgressReporting::Yes, TerminalProgress::Percent(part)) => {
                Some(format!("\x1b]9;4;1;{}\x07", part.min(100)))
            }
            (ProgressReporting::Yes, TerminalProgress::Waiting) => {
                Some("\x1b]9;4;4;100\x07".to_owned())
            }
        }
    }
}

/// The text on one line, without anything that a terminal would obey, and shortened.
fn short(text: &str) -> String {
    let text = sanitize(text).replace(['\n', '\t'], " ");
    let mut graphemes = text.trim().graphemes(true);
    let mut kept: String = graphemes.by_ref().take(LONGEST).collect();
    if graphemes.next().is_some() {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::terminal_kind::TerminalLocation;

    fn notifier(
        call: Option<NotificationSequence>,
        multiplexer: TerminalMultiplexer,
    ) -> TerminalNotifier {
        TerminalNotifier {
            method: call,
            title: TitleReporting::Yes,
            progress: ProgressReporting::Yes,
            multiplexer,
        }
    }

    fn called(call: NotificationSequence, multiplexer: TerminalMultiplexer, text: &str) -> String {
        String::from_utf8(notifier(Some(call), multiplexer).notification(text).unwrap()).unwrap()
    }

    #[test]
    fn each_notification_sequence_has_its_bytes() {
        let direct = |call| called(call, TerminalMultiplexer::None, "shop: done; 2 min");
        assert_eq!(direct(NotificationSequence::Bell), "\x07");
        assert_eq!(direct(NotificationSequence::Osc9), "\x1b]9;slug: shop: done; 2 min\x07");
        assert_eq!(
            direct(NotificationSequence::Osc777),
            "\x1b]777;notify;slug;shop: done, 2 min\x07"
        );
        assert_eq!(
            direct(NotificationSequence::Osc99),
            "\x1b]99;i=slug:d=0:o=unfocused;slug\x1b\\\x1b]99;i=slug:p=body;shop: done; 2 min\x1b\\"
        );
        assert_eq!(notifier(None, TerminalMultiplexer::None).notification("x"), None);
    }

    #[test]
    fn through_tmux_a_notification_is_wrapped_and_followed_by_a_bell() {
        assert_eq!(
            called(NotificationSequence::Osc9, TerminalMultiplexer::Tmux, "x"),
            "\x1bPtmux;\x1b\x1b]9;slug: x\x07\x1b\\\x07"
        );
        assert_eq!(called(NotificationSequence::Osc99, TerminalMultiplexer::Screen, "x"), "\x07");
    }

    #[test]
    fn no_text_escapes_its_sequence() {
        let evil = "a\x1b]52;c;QQ==\x07\x1b\\\nb\u{9c}\u{202e}";
        for call in
            [NotificationSequence::Osc9, NotificationSequence::Osc777, NotificationSequence::Osc99]
        {
            let sent = called(call, TerminalMultiplexer::None, evil);
            let strings = sent.matches("\x1b]").count();
            assert_eq!(
                strings,
                if call == NotificationSequence::Osc99 { 2 } else { 1 },
                "{sent:?}"
            );
            assert!(!sent.contains(['\n', '\u{9c}', '\u{202e}']), "{sent:?}");
        }
        let title = notifier(None, TerminalMultiplexer::None).title(evil).unwrap();
        assert_eq!(title.matches('\x1b').count() + title.matches('\x07').count(), 2, "{title:?}");
        let long = notifier(None, TerminalMultiplexer::None).title(&"x".repeat(500)).unwrap();
        assert!(long.len() < 100, "{long:?}");
    }

    #[test]
    fn progress_is_reported_only_where_it_is_known_to_be_understood() {
        let terminal = |kind, version, multiplexer| TerminalInfo {
            kind,
            version,
            multiplexer,
            place: TerminalLocation::Local,
        };
        let none = TerminalMultiplexer::None;
        let rows = [
            (terminal(TerminalKind::WindowsTerminal, None, none), ProgressReporting::Yes),
            (
                terminal(TerminalKind::WindowsTerminal, None, TerminalMultiplexer::Tmux),
                ProgressReporting::No,
            ),
            (terminal(TerminalKind::Ghostty, Some((1, 2)), none), ProgressReporting::Yes),
            (terminal(TerminalKind::Ghostty, Some((1, 1)), none), ProgressReporting::No),
            (terminal(TerminalKind::Ghostty, None, none), ProgressReporting::No),
            (
                terminal(TerminalKind::WezTerm, Some((20_240_203, 110_809)), none),
                ProgressReporting::No,
            ),
            (terminal(TerminalKind::WezTerm, Some((20_260_117, 1)), none), ProgressReporting::Yes),
            (terminal(TerminalKind::Iterm2, Some((3, 6)), none), ProgressReporting::No),
            (terminal(TerminalKind::Kitty, None, none), ProgressReporting::No),
        ];
        for (terminal, want) in rows {
            assert_eq!(ProgressReporting::safe(&terminal), want, "{terminal:?}");
        }
    }

    #[test]
    fn progress_has_its_bytes() {
        let sequence =
            |progress| notifier(None, TerminalMultiplexer::None).progress(progress).unwrap();
        assert_eq!(sequence(TerminalProgress::None), CLEAR_PROGRESS);
        assert_eq!(sequence(TerminalProgress::Busy), "\x1b]9;4;3;\x07");
        assert_eq!(sequence(TerminalProgress::Percent(43)), "\x1b]9;4;1;43\x07");
        assert_eq!(sequence(TerminalProgress::Waiting), "\x1b]9;4;4;100\x07");
        assert_eq!(TerminalNotifier::silent().progress(TerminalProgress::Busy), None);
    }
}
