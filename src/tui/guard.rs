//! Takes the terminal over and gives it back when it is dropped.

use std::io::{self, Write};

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

/// The terminal while it is slug's.
#[derive(Debug)]
pub struct Screen {
    _only_here: (),
}

impl Screen {
    /// Takes the terminal.
    pub fn enter() -> io::Result<Self> {
        let screen = Self { _only_here: () };
        take()?;
        Ok(screen)
    }

    /// Gives the terminal to `visitor` and takes it again.
    pub fn lend<T>(&mut self, visitor: impl FnOnce() -> T) -> io::Result<T> {
        give_back()?;
        let result = visitor();
        take()?;
        Ok(result)
    }

    /// Stops slug until the shell continues it.
    pub fn suspend(&mut self) -> io::Result<()> {
        self.lend(|| rustix::process::kill_current_process_group(rustix::process::Signal::STOP))??;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _ = give_back();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        EnableMouseCapture,
        PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES)
    )
}

fn give_back() -> io::Result<()> {
    let mut out = io::stdout();
    let written = execute!(
        out,
        PopKeyboardEnhancementFlags,
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        crossterm::cursor::Show
    );
    out.flush()?;
    disable_raw_mode().and(written)
}
