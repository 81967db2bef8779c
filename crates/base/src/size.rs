//! Amounts of memory, as people write them.

use crate::{Error, Result};

/// The number of bytes that `text` says: `512M`, `1G`, `64K` or a plain number.
pub fn parse_size(text: &str) -> Result<usize> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => Some(1usize),
        "K" | "KB" => Some(1 << 10),
        "M" | "MB" => Some(1 << 20),
        "G" | "GB" => Some(1 << 30),
        "T" | "TB" => Some(1 << 40),
        _ => None,
    };
    let size = digits.parse::<f64>().ok().zip(factor).map(|(n, f)| n * f as f64);
    match size.filter(|s| s.is_finite() && *s >= 1.0 && *s < 2f64.powi(60)) {
        Some(size) => Ok(size as usize),
        None => {
            Err(Error::Invalid(format!("expected an amount of memory such as 512M or 1G, found `{text}`")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("1G").unwrap(), 1 << 30);
        assert_eq!(parse_size("1.5K").unwrap(), 1536);
        for bad in ["", "G", "1X", "-1", "nan", "1e99"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
