//! Takes the strings for a terminal (OSC, DCS, SOS, PM, APC) out of what a program prints, however long
//! they are and wherever the output is cut.
//!
//! A string begins with ESC and one of five characters, and ends with ST (ESC and a backslash), CAN or
//! SUB; BEL ends an OSC (ECMA-48, 5.6 and 8.3; xterm's control sequences). The 8-bit forms are no
//! strings in UTF-8.

const BELL: u8 = 0x07;
const CANCEL: u8 = 0x18;
const SUBSTITUTE: u8 = 0x1a;
const ESCAPE: u8 = 0x1b;

/// Where in a sequence the output was cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum StringFilter {
    #[default]
    Text,
    /// An ESC has come that is not passed on yet.
    Escape,
    /// In an OSC.
    Command,
    /// In another string.
    Other,
    /// An ESC in a string, which ends it.
    End,
}

impl StringFilter {
    /// Appends what is no string.
    pub(super) fn pass(&mut self, bytes: &[u8], into: &mut Vec<u8>) {
        let mut rest = bytes;
        while let Some((&byte, behind)) = rest.split_first() {
            match self {
                Self::Text => {
                    let plain = memchr::memchr(ESCAPE, rest).unwrap_or(rest.len());
                    into.extend_from_slice(&rest[..plain]);
                    if plain < rest.len() {
                        *self = Self::Escape;
                    }
                    rest = rest.get(plain + 1..).unwrap_or_default();
                    continue;
                }
                Self::Escape | Self::End => {
                    let ends_string = *self == Self::End && byte == b'\\';
                    *self = match byte {
                        b']' => Self::Command,
                        b'P' | b'X' | b'^' | b'_' => Self::Other,
                        ESCAPE => Self::Escape,
                        _ => Self::Text,
                    };
                    if *self == Self::Text && !ends_string {
                        into.extend([ESCAPE, byte]);
                    }
                }
                Self::Command if byte == BELL => *self = Self::Text,
                Self::Command | Self::Other => {
                    *self = match byte {
                        CANCEL | SUBSTITUTE => Self::Text,
                        ESCAPE => Self::End,
                        _ => *self,
                    };
                }
            }
            rest = behind;
        }
    }
}
