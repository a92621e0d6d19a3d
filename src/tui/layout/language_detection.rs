//! Detects the language of code that has no label, from its first line.
//!
//! A language is assumed only if the line can hardly be anything else: wrong colours are worse than
//! none. Only the first line is read, and only once it is complete, so that code that streams keeps
//! the language it has got.

/// The language that the first line of `code` reveals, as a name for the highlighter; empty if
/// none.
pub(super) fn language(code: &str) -> &'static str {
    let Some((first, _)) = code.split_once('\n') else { return "" };
    let first = first.trim_end();
    if let Some(command) = first.strip_prefix("#!") {
        return interpreter(command);
    }
    let found = STARTS.iter().find(|(start, _)| first.starts_with(start));
    if let Some((_, language)) = found {
        return language;
    }
    let whole = |start: &str, end: &str| first.starts_with(start) && first.ends_with(end);
    if whole("{\"", "") || first.starts_with("[{\"") || first == "{" || first == "[{" {
        return "json";
    }
    if whole("package ", ";") || whole("import java.", ";") {
        return "java";
    }
    if whole("[", "]") && first[1..first.len() - 1].bytes().all(is_key) && first.len() > 4 {
        return "toml";
    }
    if (whole("def ", ":") || whole("class ", ":")) && first.contains(['(', ':']) {
        return "python";
    }
    ""
}

/// Beginnings of a line that identify a language on their own.
const STARTS: &[(&str, &str)] = &[
    ("diff --git ", "diff"),
    ("--- a/", "diff"),
    ("@@ -", "diff"),
    ("<?php", "php"),
    ("<?xml", "xml"),
    ("<!DOCTYPE html", "html"),
    ("<!doctype html", "html"),
    ("<html", "html"),
    ("$ ", "bash"),
    ("#include <", "cpp"),
    ("#include \"", "cpp"),
    ("#[derive(", "rust"),
    ("use std::", "rust"),
    ("pub fn ", "rust"),
    ("fn main()", "rust"),
    ("impl ", "rust"),
    ("package main", "go"),
    ("func main()", "go"),
    ("from __future__ import", "python"),
    ("async def ", "python"),
    ("import React", "tsx"),
    ("\"use strict\"", "js"),
    ("SELECT ", "sql"),
    ("INSERT INTO ", "sql"),
    ("CREATE TABLE ", "sql"),
    ("%YAML", "yaml"),
    ("apiVersion: ", "yaml"),
];

fn interpreter(command: &str) -> &'static str {
    let mut words = command.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let mut program = words.next().unwrap_or_default();
    if program == "env" {
        program = words.find(|word| !word.starts_with('-')).unwrap_or_default();
    }
    match program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "sh" | "bash" | "zsh" | "dash" | "ksh" => "bash",
        "python" | "uv" => "python",
        "node" | "deno" | "bun" => "js",
        "ruby" => "ruby",
        "perl" => "perl",
        "php" => "php",
        "lua" => "lua",
        "fish" => "fish",
        "awk" | "gawk" => "awk",
        _ => "",
    }
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_lowercase() || matches!(byte, b'.' | b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmistakable_first_lines_are_detected() {
        for (first, expected) in [
            ("#!/bin/sh", "bash"),
            ("#!/usr/bin/env -S python3.12", "python"),
            ("diff --git a/x b/x", "diff"),
            ("{\"a\": 1}", "json"),
            ("{", "json"),
            ("[dependencies]", "toml"),
            ("use std::fmt;", "rust"),
            ("package main", "go"),
            ("package a.b;", "java"),
            ("def f(x):", "python"),
            ("$ cargo test", "bash"),
            ("<?xml version=\"1.0\"?>", "xml"),
            ("SELECT * FROM t", "sql"),
        ] {
            assert_eq!(language(&format!("{first}\nmore\n")), expected, "{first}");
        }
    }

    #[test]
    fn ambiguous_first_lines_stay_plain() {
        for code in [
            "",
            "fn main() {",
            "x = 1\n",
            "[1]\n",
            "some words\n",
            "class Notes\n",
            "import x\n",
            "├── src\n",
            "#!/opt/own/thing\n",
        ] {
            assert_eq!(language(code), "", "{code}");
        }
    }
}
