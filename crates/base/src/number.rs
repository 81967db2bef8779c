//! Numbers in text: exact both ways.

use std::io::Write as _;

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Adds the digits at `at` to `mantissa` and returns where they end.
fn digits(bytes: &[u8], mut at: usize, mantissa: &mut u64) -> usize {
    while let Some(digit) = bytes.get(at).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        *mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    at
}

/// The exponent `e-5` at `at`, if there is one: its value and its end. None if it has no digits.
fn exponent(bytes: &[u8], at: usize) -> Option<(i32, usize)> {
    if !matches!(bytes.get(at), Some(b'e' | b'E')) {
        return Some((0, at));
    }
    let sign = bytes.get(at + 1).copied();
    let from = at + 1 + usize::from(matches!(sign, Some(b'-' | b'+')));
    let mut value = 0;
    let end = digits(bytes, from, &mut value);
    let value = if end - from > 4 { 9999 } else { value as i32 };
    (end > from).then_some((if sign == Some(b'-') { -value } else { value }, end))
}

/// The finite decimal number that `bytes` starts with, and its length in bytes.
///
/// Up to 15 digits or so with a small exponent are exact in one operation on f64 (both operands are); the rest
/// goes through the standard library, which rounds correctly too.
pub fn prefix(bytes: &[u8]) -> Option<(f64, usize)> {
    let signed = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let mut mantissa = 0u64;
    let mut at = digits(bytes, signed, &mut mantissa);
    let (mut count, mut scale) = (at - signed, 0);
    if bytes.get(at) == Some(&b'.') {
        let end = digits(bytes, at + 1, &mut mantissa);
        count += end - at - 1;
        scale = -i32::try_from(end - at - 1).ok()?;
        at = end;
    }
    if count == 0 {
        return None;
    }
    let (power, end) = exponent(bytes, at)?;
    scale += power;
    let exact = count <= 19 && mantissa <= 1 << 53 && scale.unsigned_abs() <= 22;
    let size = if !exact {
        std::str::from_utf8(&bytes[signed..end]).ok()?.parse().ok()?
    } else if scale < 0 {
        mantissa as f64 / POWERS[scale.unsigned_abs() as usize]
    } else {
        mantissa as f64 * POWERS[scale as usize]
    };
    size.is_finite().then_some((if bytes[0] == b'-' { -size } else { size }, end))
}

/// The finite number that `text` is, all of it.
pub fn parse(text: &str) -> Option<f64> {
    prefix(text.as_bytes()).filter(|&(_, length)| length == text.len()).map(|(value, _)| value)
}

/// Whether `text`, already known as a number, is one in JSON's stricter grammar too.
pub fn is_json(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let whole = unsigned.iter().take_while(|b| b.is_ascii_digit()).count();
    let fraction =
        unsigned.get(whole) != Some(&b'.') || unsigned.get(whole + 1).is_some_and(u8::is_ascii_digit);
    whole > 0 && (whole == 1 || unsigned[0] != b'0') && fraction
}

/// Appends the shortest digits that read back to the same finite f64.
///
/// As C and Python lay them out: an exponent of at least two digits below 1e-4 and from 1e16 on, else none; but
/// integers have no `.0`.
pub fn write(value: f64, out: &mut Vec<u8>) {
    let size = value.abs();
    // Writing to a vector cannot fail.
    let _ = if value.fract() == 0.0 && size < 1e15 && (size > 0.0 || value.is_sign_positive()) {
        write!(out, "{}", value as i64)
    } else if size == 0.0 || (1e-4..1e16).contains(&size) {
        write!(out, "{value}")
    } else {
        let text = format!("{value:e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, power) = power.strip_prefix('-').map_or(('+', power), |p| ('-', p));
        write!(out, "{digits}e{sign}{power:0>2}")
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: f64) -> String {
        let mut out = Vec::new();
        write(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn layout() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (-7.66174, "-7.66174"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000"),
            (1e16, "1e+16"),
            (-2.5e300, "-2.5e+300"),
            (5e-324, "5e-324"),
        ];
        for (value, want) in cases {
            assert_eq!(text(value), want);
        }
    }

    #[test]
    fn what_is_no_finite_number() {
        for bad in
            ["", "-", ".", "nan", "inf", "-inf", "1e", "1e+", "1e999", "1x", "0x1", "--1", "1 ", "1_0", "e5"]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
        for (good, want) in
            [("1.", 1.0), (".5", 0.5), ("+2", 2.0), ("1E3", 1000.0), ("1e-999", 0.0), ("1e99999999999", 0.0)]
        {
            assert_eq!(parse(good).unwrap_or(0.0), want, "{good}");
        }
    }

    #[test]
    fn json_is_stricter() {
        for (text, want) in [
            ("0", true),
            ("-0.5", true),
            ("1e-05", true),
            ("01", false),
            ("+1", false),
            (".5", false),
            ("1.", false),
            ("-", false),
        ] {
            assert_eq!(is_json(text.as_bytes()), want, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_finite_value_comes_back(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(parse(&text(value)).map(f64::to_bits), Some(bits));
        }

        #[test]
        fn decimals_parse_as_the_standard_library_does(text in "[+-]?[0-9]{1,22}(\\.[0-9]{0,22})?([eE][+-]?[0-9]{1,3})?") {
            let want: f64 = text.parse().unwrap();
            prop_assert_eq!(parse(&text).map(f64::to_bits), want.is_finite().then_some(want.to_bits()));
        }
    }
}
