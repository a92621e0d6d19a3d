//! Whether links can be made clickable (OSC 8).
//!
//! A terminal that does not know them ignores them, but for a few that print what they do not
//! know, or that are known to break: those are named here. Nothing is asked of the terminal.

/// Whether links can be clicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HyperlinkSupport {
    /// They are written with their address.
    Clickable,
    /// They are text like any other.
    Plain,
}

/// VTE before 0.50.2 ended the program that it showed when a link was long.
const VTE_WITH_SAFE_LINKS: u32 = 5002;

impl HyperlinkSupport {
    /// What the environment says: `TERM` and `VTE_VERSION`.
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
