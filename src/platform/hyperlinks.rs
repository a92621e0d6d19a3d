//! Whether links can be made clickable (OSC 8).
//!
//! A terminal that does not know OSC 8 ignores it, except for a few that print unknown sequences or
//! are known to break. Those are listed here. slug does not ask the terminal.

/// Whether the terminal is trusted with OSC 8 links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HyperlinkSupport {
    /// Links are written with their address as an OSC 8 sequence.
    Clickable,
    /// Links are text like any other.
    Plain,
}

/// The first safe `VTE_VERSION`: before 0.50.2, VTE ended the program it showed on a long link.
const VTE_WITH_SAFE_LINKS: u32 = 5002;

impl HyperlinkSupport {
    /// Decides by `TERM` and `VTE_VERSION` of this process.
    pub fn detect() -> Self {
        let text = |name| std::env::var(name).ok();
        Self::of(text("TERM").as_deref(), text("VTE_VERSION").as_deref())
    }

    fn of(term: Option<&str>, vte: Option<&str>) -> Self {
        let Some(term) = term else { return Self::Plain };
        // The console, real terminals of the last century, and the one inside Emacs.
        let prints = ["linux", "dumb", "vt", "ansi", "cons", "sun", "wy", "eterm", "emacs"];
        let breaks = vte.is_some_and(|version| {
            version.parse::<u32>().is_ok_and(|version| version < VTE_WITH_SAFE_LINKS)
        });
        if breaks || term.is_empty() || prints.iter().any(|name| term.starts_with(name)) {
            return Self::Plain;
        }
        Self::Clickable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_terminals_that_can_bear_them_get_links() {
        for (term, vte, expected) in [
            (Some("xterm-256color"), None, HyperlinkSupport::Clickable),
            (Some("tmux-256color"), None, HyperlinkSupport::Clickable),
            (Some("xterm-kitty"), Some("nonsense"), HyperlinkSupport::Clickable),
            (Some("xterm-256color"), Some("7600"), HyperlinkSupport::Clickable),
            (Some("xterm-256color"), Some("4601"), HyperlinkSupport::Plain),
            (Some("linux"), None, HyperlinkSupport::Plain),
            (Some("dumb"), None, HyperlinkSupport::Plain),
            (Some("vt220"), None, HyperlinkSupport::Plain),
            (Some("eterm-color"), None, HyperlinkSupport::Plain),
            (Some(""), None, HyperlinkSupport::Plain),
            (None, None, HyperlinkSupport::Plain),
        ] {
            assert_eq!(HyperlinkSupport::of(term, vte), expected, "{term:?} {vte:?}");
        }
    }
}
