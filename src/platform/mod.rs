//! The machine: paths, files, processes, the terminal, the clipboard, logging.
