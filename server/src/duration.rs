//! Durations on the command line.

use std::time::Duration;

/// `30d`, `12h`, `90m` or `3600s`.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration; write a number and d, h, m or s, as in 30d");
    let unit = text.char_indices().next_back().ok_or_else(wrong)?;
    let seconds: u64 = match unit.1 {
        'd' => 24 * 3600,
        'h' => 3600,
        'm' => 60,
        's' => 1,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..unit.0].parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        assert_eq!(parse("30d"), Ok(Duration::from_secs(30 * 24 * 3600)));
        assert_eq!(parse("12h"), Ok(Duration::from_secs(12 * 3600)));
        assert_eq!(parse("90m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse("7s"), Ok(Duration::from_secs(7)));
        for wrong in ["", "d", "30", "-1d", "1.5h", "30일", "99999999999999999999d", "9999999999999999d"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
