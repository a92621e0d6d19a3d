//! Takes the strings for a terminal (OSC, DCS, SOS, PM, APC) out of what a program prints, however long
//! they are and wherever the output is cut. The first parameter of a control sequence is bounded: REP
//! (`CSI n b`) would have the emulator print a character so many times.
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
    /// In the first parameter of a control sequence, with its value so far.
    Parameter(Option<u16>),
}

/// No screen has more columns or rows.
const MOST: u16 = 500;

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
                Self::Parameter(value) => match byte {
                    b'0'..=b'9' => {
                        let next = value.unwrap_or(0).saturating_mul(10);
                        *value = Some(next.saturating_add((byte - b'0').into()).min(MOST));
                    }
                    CANCEL | SUBSTITUTE | ESCAPE | b' '..=b'~' => {
                        into.extend(value.map(|it| it.to_string()).unwrap_or_default().bytes());
                        *self = Self::Text;
                        continue;
                    }
                    // Emulators go on with the sequence behind these.
                    0x7f.. => {}
                    _ => into.push(byte),
                },
                Self::Escape | Self::End => {
                    let ends_string = *self == Self::End && byte == b'\\';
                    *self = match byte {
                        b']' => Self::Command,
                        b'P' | b'X' | b'^' | b'_' => Self::Other,
                        ESCAPE => Self::Escape,
                        b'[' => Self::Parameter(None),
                        _ => Self::Text,
                    };
                    if matches!(self, Self::Text | Self::Parameter(_)) && !ends_string {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(pieces: &[&[u8]]) -> String {
        let (mut filter, mut out) = (StringFilter::default(), Vec::new());
        pieces.iter().for_each(|piece| filter.pass(piece, &mut out));
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn the_first_parameter_is_bounded_wherever_the_output_is_cut() {
        for (pieces, wanted) in [
            (vec![&b"a\x1b[999999999999b"[..]], "a\x1b[500b"),
            (vec![b"a\x1b[9", b"99", b"9b"], "a\x1b[500b"),
            (vec![b"\x1b[99\n99\x7f\xff9b"], "\x1b[\n500b"),
            (vec![b"\x1b[99999;1b"], "\x1b[500;1b"),
            (vec![b"\x1b[0007mx\x1b[mx\x1b[1;31mx"], "\x1b[7mx\x1b[mx\x1b[1;31mx"),
            (vec![b"\x1b[?2004h\x1b[>1u\x1b[99\x1b[9b"], "\x1b[?2004h\x1b[>1u\x1b[99\x1b[9b"),
            (vec![b"\x1b]0;title\x07\x1b[4999Hx"], "\x1b[500Hx"),
        ] {
            assert_eq!(passed(&pieces), wanted, "{pieces:?}");
        }
    }
}
