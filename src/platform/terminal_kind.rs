//! Which terminal slug runs in, as far as the environment tells.
//!
//! slug does not ask the terminal: an answer would hold up the first frame, and over ssh it may
//! come late or never. The result is a guess, used to choose between sequences that do no harm
//! where they are not understood; where a wrong guess would show, an unknown terminal gets the
//! plain form. Programs started in a terminal keep its variables even in another terminal. So the
//! more specific variables, which a terminal sets for its own children alone, come first in the
//! table.

use std::ffi::OsString;

use super::clipboard::TerminalMultiplexer;

/// The terminal emulators that slug treats in a particular way, and a few more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TerminalKind {
    Alacritty,
    AppleTerminal,
    /// ConEmu and Cmder.
    ConEmu,
    /// Nothing that understands sequences: `TERM=dumb`, or no `TERM` at all.
    Dumb,
    Foot,
    Ghostty,
    Iterm2,
    Kitty,
    /// Konsole and Yakuake.
    Konsole,
    /// The console of Linux itself.
    LinuxConsole,
    /// mintty, as in Git for Windows and Cygwin.
    Mintty,
    Rio,
    /// rxvt-unicode.
    Urxvt,
    /// The terminal inside Visual Studio Code and editors made from it.
    VsCode,
    /// GNOME Terminal, Ptyxis, Tilix and others on the VTE library.
    Vte,
    Warp,
    WezTerm,
    WindowsTerminal,
    /// xterm itself, recognised by a variable that only it sets.
    Xterm,
    Zed,
    Unknown,
}

/// The terminal, and what stands between it and slug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalInfo {
    /// Behind a multiplexer this is the terminal that the multiplexer was started in, which may not
    /// be the one that shows it now.
    pub kind: TerminalKind,
    /// Major and minor; `None` where the terminal does not tell.
    pub version: Option<(u32, u32)>,
    /// The program on the way that may drop sequences.
    pub multiplexer: TerminalMultiplexer,
    pub place: TerminalLocation,
}

/// Whether the terminal is on the machine on which slug runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalLocation {
    /// On this machine, as far as is known.
    Local,
    /// At the other end of ssh.
    OverSsh,
}

/// `TERM_PROGRAM`, and `LC_TERMINAL`, which passes through ssh.
const PROGRAMS: &[(&str, TerminalKind)] = &[
    ("Apple_Terminal", TerminalKind::AppleTerminal),
    ("ghostty", TerminalKind::Ghostty),
    ("iTerm.app", TerminalKind::Iterm2),
    ("iTerm2", TerminalKind::Iterm2),
    ("kitty", TerminalKind::Kitty),
    ("mintty", TerminalKind::Mintty),
    ("rio", TerminalKind::Rio),
    ("vscode", TerminalKind::VsCode),
    ("WarpTerminal", TerminalKind::Warp),
    ("WezTerm", TerminalKind::WezTerm),
    ("zed", TerminalKind::Zed),
];

/// How `TERM` begins.
const TERMS: &[(&str, TerminalKind)] = &[
    ("alacritty", TerminalKind::Alacritty),
    ("dumb", TerminalKind::Dumb),
    ("foot", TerminalKind::Foot),
    ("linux", TerminalKind::LinuxConsole),
    ("mintty", TerminalKind::Mintty),
    ("rio", TerminalKind::Rio),
    ("rxvt-unicode", TerminalKind::Urxvt),
    ("wezterm", TerminalKind::WezTerm),
    ("xterm-ghostty", TerminalKind::Ghostty),
    ("xterm-kitty", TerminalKind::Kitty),
];

/// Variables that a terminal sets, whatever their value.
const MARKS: &[(&str, TerminalKind)] = &[
    ("KITTY_WINDOW_ID", TerminalKind::Kitty),
    ("GHOSTTY_RESOURCES_DIR", TerminalKind::Ghostty),
    ("WEZTERM_PANE", TerminalKind::WezTerm),
    ("ITERM_SESSION_ID", TerminalKind::Iterm2),
    ("ALACRITTY_WINDOW_ID", TerminalKind::Alacritty),
    ("ConEmuPID", TerminalKind::ConEmu),
    ("KONSOLE_VERSION", TerminalKind::Konsole),
    ("VTE_VERSION", TerminalKind::Vte),
    ("WT_SESSION", TerminalKind::WindowsTerminal),
    ("XTERM_VERSION", TerminalKind::Xterm),
];

impl TerminalInfo {
    /// Detects by the environment: `get` is normally `std::env::var_os`.
    pub fn detect(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name: &str| {
            get(name)
                .map(|value| value.to_string_lossy().into_owned())
                .filter(|value| !value.is_empty())
        };
        let is_set = |name: &str| text(name).is_some();
        let multiplexer = if is_set("TMUX") {
            TerminalMultiplexer::Tmux
        } else if is_set("STY") {
            TerminalMultiplexer::Screen
        } else {
            TerminalMultiplexer::None
        };
        let is_remote = ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"].into_iter().any(is_set);
        let place = if is_remote { TerminalLocation::OverSsh } else { TerminalLocation::Local };
        let program = text("TERM_PROGRAM").or_else(|| text("LC_TERMINAL"));
        let named = |program: Option<String>| {
            let program = program?;
            PROGRAMS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&program))
        };
        let by_program = named(program).or_else(|| named(text("LC_TERMINAL")));
        let by_term = match text("TERM") {
            None => Some(TerminalKind::Dumb),
            Some(term) => TERMS.iter().find(|(name, _)| term.starts_with(name)).map(|row| row.1),
        };
        // A specific name in TERM is the terminal's own; `xterm-256color` and `tmux` fit many.
        let kind = by_term
            .or_else(|| by_program.map(|row| row.1))
            .or_else(|| MARKS.iter().find(|(name, _)| is_set(name)).map(|row| row.1))
            .unwrap_or(TerminalKind::Unknown);
        // tmux sets its own version where it is the program.
        let version = by_program
            .filter(|row| row.1 == kind)
            .and_then(|_| text("TERM_PROGRAM_VERSION").or_else(|| text("LC_TERMINAL_VERSION")))
            .filter(|_| text("TERM_PROGRAM").as_deref() != Some("tmux"))
            .and_then(|version| major_and_minor(&version));
        Self { kind, version, multiplexer, place }
    }

    /// Detects by the variables of this process.
    pub fn from_environment() -> Self {
        Self::detect(|name| std::env::var_os(name))
    }

    /// Whether the terminal surely sends keys by the kitty protocol when asked, so that shift+enter is
    /// not enter. A multiplexer only does where its user has switched that on, and so do WezTerm
    /// (`enable_kitty_keyboard`) and iTerm2; Alacritty does from 0.13, and tells no version.
    pub fn sends_extended_keys(&self) -> bool {
        self.multiplexer == TerminalMultiplexer::None
            && matches!(
                self.kind,
                TerminalKind::Foot
                    | TerminalKind::Ghostty
                    | TerminalKind::Kitty
                    | TerminalKind::Rio
            )
    }

    /// Whether escape reaches slug at once while it takes the mouse. GNU screen (4.9) then keeps a lone
    /// escape, which may begin a report of the mouse, until the next key.
    pub fn sends_escape_with_mouse(&self) -> bool {
        self.multiplexer != TerminalMultiplexer::Screen
    }

    /// Whether the version is known and at least `least`.
    pub fn is_at_least(&self, least: (u32, u32)) -> bool {
        self.version.is_some_and(|version| version >= least)
    }
}

impl TerminalKind {
    /// Whether alt+enter is the terminal's own key by default, for its full screen, and never comes.
    pub fn takes_alt_enter(self) -> bool {
        matches!(self, Self::WezTerm | Self::WindowsTerminal | Self::Xterm)
    }

    /// How many events the terminal sends for one notch of the wheel by default. Most send one.
    pub fn wheel_events(self) -> u16 {
        match self {
            Self::Ghostty | Self::Warp => 9,
            Self::Alacritty | Self::AppleTerminal | Self::Kitty => 3,
            Self::ConEmu
            | Self::Dumb
            | Self::Foot
            | Self::Iterm2
            | Self::Konsole
            | Self::LinuxConsole
            | Self::Mintty
            | Self::Rio
            | Self::Urxvt
            | Self::VsCode
            | Self::Vte
            | Self::WezTerm
            | Self::WindowsTerminal
            | Self::Xterm
            | Self::Zed
            | Self::Unknown => 1,
        }
    }
}

fn major_and_minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or_default();
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(variables: &[(&str, &str)]) -> TerminalInfo {
        TerminalInfo::detect(|name| {
            variables.iter().find(|(it, _)| *it == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn terminals_are_recognised_by_their_variables() {
        let xterm = ("TERM", "xterm-256color");
        let rows: &[(&[(&str, &str)], TerminalKind)] = &[
            (&[("TERM", "xterm-kitty"), ("KITTY_WINDOW_ID", "1")], TerminalKind::Kitty),
            (&[("TERM", "xterm-ghostty"), ("TERM_PROGRAM", "ghostty")], TerminalKind::Ghostty),
            (&[xterm, ("TERM_PROGRAM", "iTerm.app")], TerminalKind::Iterm2),
            (&[xterm, ("LC_TERMINAL", "iTerm2"), ("SSH_TTY", "/dev/pts/1")], TerminalKind::Iterm2),
            (&[xterm, ("TERM_PROGRAM", "WezTerm")], TerminalKind::WezTerm),
            (&[xterm, ("TERM_PROGRAM", "vscode"), ("VTE_VERSION", "7600")], TerminalKind::VsCode),
            (&[xterm, ("VTE_VERSION", "7600")], TerminalKind::Vte),
            (&[xterm, ("WT_SESSION", "guid")], TerminalKind::WindowsTerminal),
            (&[xterm, ("ConEmuPID", "7"), ("WT_SESSION", "guid")], TerminalKind::ConEmu),
            (&[("TERM", "foot-extra")], TerminalKind::Foot),
            (&[("TERM", "rxvt-unicode-256color")], TerminalKind::Urxvt),
            (&[("TERM", "linux")], TerminalKind::LinuxConsole),
            (&[("TERM", "dumb"), ("TERM_PROGRAM", "vscode")], TerminalKind::Dumb),
            (&[], TerminalKind::Dumb),
            (&[xterm], TerminalKind::Unknown),
            (&[xterm, ("VTE_VERSION", "")], TerminalKind::Unknown),
        ];
        for (variables, kind) in rows {
            assert_eq!(detect(variables).kind, *kind, "{variables:?}");
        }
    }

    #[test]
    fn the_multiplexer_is_recognised() {
        let bare = detect(&[("TERM", "xterm-256color")]);
        assert_eq!(
            (bare.multiplexer, bare.place),
            (TerminalMultiplexer::None, TerminalLocation::Local)
        );
        let tmux = detect(&[
            ("TERM", "tmux-256color"),
            ("TMUX", "/tmp/tmux-0/default,1,0"),
            ("TERM_PROGRAM", "tmux"),
            ("TERM_PROGRAM_VERSION", "3.5a"),
            ("KITTY_WINDOW_ID", "1"),
            ("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22"),
        ]);
        assert_eq!(
            (tmux.multiplexer, tmux.place),
            (TerminalMultiplexer::Tmux, TerminalLocation::OverSsh)
        );
        assert_eq!((tmux.kind, tmux.version), (TerminalKind::Kitty, None));
        let screen = detect(&[("TERM", "screen"), ("STY", "1.pts-0.host")]);
        assert_eq!(screen.multiplexer, TerminalMultiplexer::Screen);
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let ghostty = |version| {
            detect(&[
                ("TERM", "xterm-ghostty"),
                ("TERM_PROGRAM", "ghostty"),
                ("TERM_PROGRAM_VERSION", version),
            ])
        };
        assert_eq!(ghostty("1.2.0-main+abc").version, Some((1, 2)));
        assert!(ghostty("1.10.1").is_at_least((1, 2)));
        assert!(!ghostty("1.1.3").is_at_least((1, 2)));
        assert!(!ghostty("tip").is_at_least((1, 2)));
        assert_eq!(ghostty("2").version, Some((2, 0)));
    }
}
