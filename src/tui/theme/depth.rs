//! Detects how many colours the terminal can show and is allowed to show.

/// How many colours slug uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorDepth {
    /// None: the user does not want any, or the terminal has none.
    None,
    /// The terminal's own 16 colours.
    Sixteen,
    /// The palette of 256 colours.
    Palette,
    /// 24 bits per colour.
    TrueColor,
}

/// Parts of `TERM` that name a terminal with 24 bits. Over ssh, `TERM` may be all that is known.
const TRUE_COLOR: [&str; 8] =
    ["alacritty", "contour", "foot", "ghostty", "kitty", "rio", "wezterm", "-direct"];

/// Values of `TERM` for terminals without colours.
const NO_COLORS: [&str; 4] = ["vt52", "vt100", "vt102", "vt220"];

impl ColorDepth {
    /// Reads the environment through `get`: `NO_COLOR` (set and not empty) turns colours off,
    /// `COLORTERM` and `TERM` say how many there are, and `CLICOLOR_FORCE` (not `0`) gives a
    /// terminal that is known to have none its 16. xterm and tmux have 256 where their `TERM` says
    /// less (`xterm`, `screen`), as it does by default.
    pub fn detect(get: impl Fn(&str) -> Option<String>) -> Self {
        let given = |name| get(name).filter(|value| !value.is_empty());
        if given("NO_COLOR").is_some() {
            return Self::None;
        }
        if matches!(given("COLORTERM").as_deref(), Some("truecolor" | "24bit")) {
            return Self::TrueColor;
        }
        let term = given("TERM").unwrap_or_default();
        if NO_COLORS.contains(&term.as_str()) {
            let forced = given("CLICOLOR_FORCE").is_some_and(|value| value != "0");
            return if forced { Self::Sixteen } else { Self::None };
        }
        if TRUE_COLOR.iter().any(|name| term.contains(name)) {
            Self::TrueColor
        } else if term.contains("256color")
            || given("XTERM_VERSION").is_some() && term == "xterm"
            || given("TMUX").is_some() && term == "screen"
        {
            Self::Palette
        } else {
            Self::Sixteen
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_how_many_colours() {
        let rows: [(&[(&str, &str)], ColorDepth); 15] = [
            (&[], ColorDepth::Sixteen),
            (&[("TERM", "xterm")], ColorDepth::Sixteen),
            (&[("TERM", "xterm"), ("XTERM_VERSION", "XTerm(379)")], ColorDepth::Palette),
            (&[("TERM", "linux"), ("XTERM_VERSION", "XTerm(379)")], ColorDepth::Sixteen),
            (&[("TERM", "screen"), ("TMUX", "/tmp/tmux-0/default,1,0")], ColorDepth::Palette),
            (&[("TERM", "linux")], ColorDepth::Sixteen),
            (&[("TERM", "screen-256color")], ColorDepth::Palette),
            (&[("TERM", "xterm-direct")], ColorDepth::TrueColor),
            (&[("TERM", "xterm-kitty")], ColorDepth::TrueColor),
            (&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")], ColorDepth::TrueColor),
            (&[("COLORTERM", "24bit"), ("NO_COLOR", "")], ColorDepth::TrueColor),
            (&[("COLORTERM", "truecolor"), ("NO_COLOR", "1")], ColorDepth::None),
            (&[("TERM", "vt100")], ColorDepth::None),
            (&[("TERM", "vt100"), ("CLICOLOR_FORCE", "1")], ColorDepth::Sixteen),
            (&[("TERM", "vt100"), ("CLICOLOR_FORCE", "0")], ColorDepth::None),
        ];
        for (variables, want) in rows {
            let get = |name: &str| {
                let found = variables.iter().find(|(given, _)| *given == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(ColorDepth::detect(get), want, "{variables:?}");
        }
    }
}
