#[derive(Debug, PartialEq)]
pub struct Settings {
    pub host: String,
    pub port: u16,
    pub verbose: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { host: "localhost".into(), port: 8080, verbose: false }
    }
}

impl Settings {
    /// Reads `key = value` lines over the defaults.
    pub fn read(file: &str) -> Result<Self, String> {
        let mut settings = Self::default();
        for line in file.lines().filter(|line| !line.trim().is_empty()) {
            let (key, value) = line.split_once('=').ok_or(format!("no `=` in {line:?}"))?;
            match (key.trim(), value.trim()) {
                ("host", value) => settings.host = value.into(),
                ("port", value) => {
                    settings.port = value.parse().map_err(|_| format!("port: {value:?} is not a port"))?;
                }
                ("verbose", "true") => settings.verbose = true,
                ("verbose", "false") => settings.verbose = false,
                ("verbose", value) => return Err(format!("verbose: {value:?} is neither true nor false")),
                (key, _) => return Err(format!("there is no setting {key:?}")),
            }
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_wins_over_defaults() {
        assert_eq!(Settings::read("port = 1\n").unwrap().port, 1);
        assert!(Settings::read("port = x").is_err());
    }
}
