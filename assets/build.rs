//! The build script: packs the relative relocations of the release binary.
//!
//! slug has 56,000 addresses that the loader moves at each start, and a list of them of 1.3 MB
//! that is read for it. Packed (DT_RELR) the list has a fortieth of that. Loaders before glibc 2.36
//! cannot read it, so only a binary that is built for the system it is built on gets it, where that
//! system is new enough; `SLUG_PACK_RELOCATIONS=0` leaves it out for a binary that is to run elsewhere.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=assets/build.rs");
    println!("cargo::rerun-if-env-changed=SLUG_PACK_RELOCATIONS");
    if is_wanted() && loader_reads_packed_relocations() {
        println!("cargo::rustc-link-arg-bin=slug=-Wl,-z,pack-relative-relocs");
    }
}

fn is_wanted() -> bool {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|it| it == value);
    let is_own_system = env::var_os("HOST") == env::var_os("TARGET");
    let is_glibc = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    is_own_system && is_glibc && is("PROFILE", "release") && !is("SLUG_PACK_RELOCATIONS", "0")
}

/// Whether `getconf` names glibc 2.36 or later.
fn loader_reads_packed_relocations() -> bool {
    let Ok(answer) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else { return false };
    let text = String::from_utf8_lossy(&answer.stdout);
    let version = text.trim().strip_prefix("glibc 2.").and_then(|minor| minor.parse::<u32>().ok());
    version.is_some_and(|minor| minor >= 36)
}
