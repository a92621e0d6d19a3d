//! Formats a number of bytes for display.

/// "512 bytes", "3.4 kB", "1.2 MB", "2.0 GB".
pub fn format_bytes(count: u64) -> String {
    let of = |unit: f64| count as f64 / unit;
    match count {
        1 => "1 byte".to_owned(),
        0..1_000 => format!("{count} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", of(1e3)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", of(1e6)),
        _ => format!("{:.1} GB", of(1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_use_the_unit_that_fits() {
        let formatted = [0, 1, 999, 1_000, 2_500_000, 3_000_000_000].map(format_bytes);
        assert_eq!(formatted, ["0 bytes", "1 byte", "999 bytes", "1.0 kB", "2.5 MB", "3.0 GB"]);
    }
}
