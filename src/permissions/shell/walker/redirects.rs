//! The redirections of a command: the files that they open, and the scripts in their words and
//! here-documents.

use brush_parser::ast::{self, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect};

use crate::permissions::shell::{
    FileRedirect, RedirectDirection, ShellAstWalker, ShellWord, SimpleCommand,
};
use crate::permissions::words::show;

impl ShellAstWalker {
    pub(super) fn redirects_of_compound(&mut self, redirects: Option<&ast::RedirectList>) {
        let mut command = SimpleCommand::default();
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            self.redirect(redirect, &mut command);
        }
        if !command.redirects.is_empty() || !command.here_texts.is_empty() {
            self.commands.push(command);
        }
    }

    /// Notes the file that a redirection opens, and gives the redirection as slug writes it.
    pub(super) fn redirect(
        &mut self,
        redirect: &IoRedirect,
        command: &mut SimpleCommand,
    ) -> Option<String> {
        let files = &mut command.redirects;
        match redirect {
            IoRedirect::File(fd, kind, target) => {
                let fd = fd.map_or(String::new(), |fd| fd.to_string());
                self.file_redirect(&fd, kind, target, files)
            }
            IoRedirect::OutputAndError(target, append) => {
                let target = self.word(&target.value);
                let operator = if *append { "&>>" } else { "&>" };
                let text = format!("{operator}{}", show(&target.text));
                opens(RedirectDirection::Write, target, files);
                Some(text)
            }
            IoRedirect::HereDocument(_, document) => {
                self.not_static("Contains a here-document");
                command.here_texts.push(document.doc.value.clone());
                if document.requires_expansion {
                    self.nested_in(&document.doc.value);
                }
                None
            }
            IoRedirect::HereString(_, word) => {
                self.not_static("Contains a here-string");
                command.here_texts.push(self.word(&word.value).text);
                None
            }
        }
    }

    fn file_redirect(
        &mut self,
        fd: &str,
        kind: &IoFileRedirectKind,
        target: &IoFileRedirectTarget,
        files: &mut Vec<FileRedirect>,
    ) -> Option<String> {
        let (operator, direction) = match kind {
            IoFileRedirectKind::Read => ("<", RedirectDirection::Read),
            IoFileRedirectKind::Write => (">", RedirectDirection::Write),
            IoFileRedirectKind::Append => (">>", RedirectDirection::Write),
            IoFileRedirectKind::ReadAndWrite => ("<>", RedirectDirection::Write),
            IoFileRedirectKind::Clobber => (">|", RedirectDirection::Write),
            IoFileRedirectKind::DuplicateInput => ("<&", RedirectDirection::Read),
            IoFileRedirectKind::DuplicateOutput => (">&", RedirectDirection::Write),
        };
        match target {
            IoFileRedirectTarget::Fd(target) => {
                self.copied_from(&target.to_string());
                Some(format!("{fd}{operator}{target}"))
            }
            IoFileRedirectTarget::Filename(word) => {
                let word = self.word(&word.value);
                let text = format!("{fd}{operator}{}", show(&word.text));
                opens(direction, word, files);
                Some(text)
            }
            IoFileRedirectTarget::Duplicate(word) => {
                let word = self.word(&word.value);
                let number = word.text.strip_suffix('-').unwrap_or(&word.text);
                if word.is_literal() && number.chars().all(|c| c.is_ascii_digit()) {
                    self.copied_from(number);
                    return Some(format!("{fd}{operator}{}", word.text));
                }
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./+-".contains(c);
                if !word.text.chars().all(is_plain) {
                    // bash expands the word a second time once its quotes are gone.
                    self.not_static("Copies a descriptor that has no number");
                    self.nested_in(&word.text);
                    opens(direction, ShellWord::dynamic(word.text), files);
                    return None;
                }
                let text = format!("{fd}{operator}{}", show(&word.text));
                opens(direction, word, files);
                Some(text)
            }
            IoFileRedirectTarget::ProcessSubstitution(_, script) => {
                self.process_substitution(script);
                None
            }
        }
    }

    /// Notes a copied descriptor. Above 2 it is not known whether it is open, and a command whose
    /// redirection fails does not run. An empty number closes a descriptor and copies nothing.
    fn copied_from(&mut self, number: &str) {
        if !matches!(number, "" | "0" | "1" | "2") {
            self.not_static("Copies a descriptor that may not exist");
        }
    }
}

fn opens(direction: RedirectDirection, target: ShellWord, files: &mut Vec<FileRedirect>) {
    if target.known() != Some("/dev/null") {
        files.push(FileRedirect { direction, target });
    }
}
