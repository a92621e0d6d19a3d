//! The language of code that nobody named, from its first line.
//!
//! Only what can hardly be anything else is taken for a language: colours that are wrong are
//! worse than none. The first line alone is looked at, and only once it is complete, so that code
//! that streams keeps the language it has got.

/// What the first line of `code` tells: a name for the highlighter, or nothing.
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

/// Beginnings that tell the language by themselves.
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
    fn what_can_hardly_be_anything_else_is_known() {
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
    fn what_may_be_anything_stays_plain() {
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
