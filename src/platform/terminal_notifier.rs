//! What slug tells the terminal beside its picture: the window's name, a call for the person, and
//! that it works. Bytes only; who owns the terminal writes them, and `terminal` takes back at
//! the end what would stay.
//!
//! Every text is made harmless and short here, whoever it comes from. What lies in between may
//! swallow a sequence: through tmux a call goes wrapped, which tmux drops unless
//! `allow-passthrough` is on, and as a bell besides, which it always takes.

use unicode_segmentation::UnicodeSegmentation;

use super::clipboard::TerminalMultiplexer;
use super::terminal_kind::{TerminalInfo, TerminalKind};
use crate::domain::sanitize::sanitize;

/// Longest name of a window, and longest text of a call, in graphemes.
const LONGEST: usize = 80;

/// Keeps the window's name on the terminal's own stack (XTWINOPS).
pub const KEEP_TITLE: &str = "\x1b[22;2t";

/// Empties the window's name, for terminals that have no stack, then takes the kept one back.
pub const RETURN_TITLE: &str = "\x1b]2;\x07\x1b[23;2t";

/// Takes the progress off.
pub const CLEAR_PROGRESS: &str = "\x1b]9;4;0;\x07";

/// How a call reaches the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationSequence {
    /// The bell.
    Bell,
    /// `OSC 9 ; text`, iTerm2's.
    Osc9,
    /// `OSC 777 ; notify ; title ; text`, urxvt's.
    Osc777,
    /// `OSC 99`, kitty's.
    Osc99,
}

/// How far the work is, as `OSC 9;4` tells it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TerminalProgress {
    /// Nothing is done.
    #[default]
    None,
    /// Something is done, and how far it is cannot be told.
    Busy,
    /// So many percent of it are done.
    Percent(u8),
    /// It stands still until the person answers.
    Waiting,
}

/// What is wanted of the announcements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalNotifier {
    /// How calls are made; none where they are not wanted.
    pub method: Option<NotificationSequence>,
    /// Whether the window is named.
    pub title: TitleReporting,
    /// Whether progress is told.
    pub progress: ProgressReporting,
    /// What lies in between.
    pub multiplexer: TerminalMultiplexer,
}

/// Whether the window gets a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitleReporting {
    /// It does.
    Yes,
    /// It keeps the one it has.
    No,
}

/// Whether progress is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressReporting {
    /// It is.
    Yes,
    /// It is not.
    No,
}

impl NotificationSequence {
    /// What the terminal is known to understand. Windows Terminal and ConEmu show no message of
    /// OSC 9, but let the task bar flash at a bell.
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
    /// Not on the console of Linux, which has no window.
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
    /// Only where `OSC 9;4` is known to be progress: elsewhere it may show as a message with the
    /// text "4;3", as in iTerm2 and in older Ghostty and WezTerm.
    pub fn safe(terminal: &TerminalInfo) -> Self {
        let direct = terminal.multiplexer == TerminalMultiplexer::None;
        let understood = match terminal.kind {
            TerminalKind::WindowsTerminal | TerminalKind::ConEmu => true,
            TerminalKind::Ghostty => terminal.is_at_least((1, 2)),
            // Its versions are dates.
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
    /// One that says nothing.
    pub fn silent() -> Self {
        let multiplexer = TerminalMultiplexer::None;
        Self {
            method: None,
            title: TitleReporting::No,
            progress: ProgressReporting::No,
            multiplexer,
        }
    }

    /// Calls for the person.
    pub fn notification(&self, text: &str) -> Option<Vec<u8>> {
        let call = self.method?;
        let text = short(text);
        let plain = match call {
            NotificationSequence::Bell => return Some(b"\x07".to_vec()),
            // What begins with a digit is a command of ConEmu's; slug's name never does.
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
            // Its strings end at the first ST, so that only a bell is sure to arrive whole.
            TerminalMultiplexer::Screen => b"\x07".to_vec(),
        })
    }

    /// Names the window.
    pub fn title(&self, title: &str) -> Option<String> {
        match self.title {
            TitleReporting::Yes => Some(format!("\x1b]2;{}\x07", short(title))),
            TitleReporting::No => None,
        }
    }

    /// Tells how far the work is.
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

/// On one line, with nothing that a terminal would obey, and not long.
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

    fn announcer(
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
        String::from_utf8(announcer(Some(call), multiplexer).notification(text).unwrap()).unwrap()
    }

    #[test]
    fn each_way_of_calling_has_its_bytes() {
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
        assert_eq!(announcer(None, TerminalMultiplexer::None).notification("x"), None);
    }

    #[test]
    fn through_tmux_a_call_is_wrapped_and_a_bell_goes_with_it() {
        assert_eq!(
            called(NotificationSequence::Osc9, TerminalMultiplexer::Tmux, "x"),
            "\x1bPtmux;\x1b\x1b]9;slug: x\x07\x1b\\\x07"
        );
        assert_eq!(called(NotificationSequence::Osc99, TerminalMultiplexer::Screen, "x"), "\x07");
    }

    #[test]
    fn no_text_breaks_out() {
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
        let title = announcer(None, TerminalMultiplexer::None).title(evil).unwrap();
        assert_eq!(title.matches('\x1b').count() + title.matches('\x07').count(), 2, "{title:?}");
        let long = announcer(None, TerminalMultiplexer::None).title(&"x".repeat(500)).unwrap();
        assert!(long.len() < 100, "{long:?}");
    }

    #[test]
    fn progress_is_told_only_where_it_is_known_to_be_understood() {
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
        let told =
            |progress| announcer(None, TerminalMultiplexer::None).progress(progress).unwrap();
        assert_eq!(told(TerminalProgress::None), CLEAR_PROGRESS);
        assert_eq!(told(TerminalProgress::Busy), "\x1b]9;4;3;\x07");
        assert_eq!(told(TerminalProgress::Percent(43)), "\x1b]9;4;1;43\x07");
        assert_eq!(told(TerminalProgress::Waiting), "\x1b]9;4;4;100\x07");
        assert_eq!(TerminalNotifier::silent().progress(TerminalProgress::Busy), None);
    }
}
