//! Dates and times in ISO 8601: the canonical form for comparison, and parsing of other common forms.

use std::fmt;
use std::ops::RangeInclusive;

/// The instants of the years 1 to 9999, which every database can hold, in microseconds since 1970.
pub(super) const INSTANTS: RangeInclusive<i64> = -62_135_596_800_000_000..=253_402_300_799_999_999;

/// A day: `YYYY-MM-DD`. Days outside the years 1 to 9999 can be written, but not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Day {
    pub(super) year: i64,
    pub(super) month: u8,
    pub(super) day: u8,
}

impl Day {
    pub(super) fn parse(text: &str) -> Result<Day, String> {
        let day = || {
            let [year, month, day] = numbers(text, '-', [4, 2, 2])?;
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let days = match month {
                2 => 28 + u32::from(leap),
                4 | 6 | 9 | 11 => 30,
                1..=12 => 31,
                _ => return None,
            };
            let (month, day) = (u8::try_from(month).ok()?, (1..=days).contains(&day).then_some(day)?);
            (year > 0).then_some(Day { year: i64::from(year), month, day: u8::try_from(day).ok()? })
        };
        day().ok_or_else(|| format!("`{text}` is no date of the years 1 to 9999, written `2026-11-20`"))
    }

    /// The day that many days after 1970-01-01: `civil_from_days` of Howard Hinnant's
    /// <https://howardhinnant.github.io/date_algorithms.html>. It counts years from March, in cycles of 400 years.
    fn after_1970(days: i64) -> Day {
        let days = days + 719_468;
        let (cycle, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let small = |number| u8::try_from(number).expect("a day or a month");
        Day { year: cycle * 400 + year + i64::from(month <= 2), month: small(month), day: small(day) }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// A time of day: `HH:MM:SS.ffffff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hour {
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: u8,
    pub(super) micros: u32,
}

impl Hour {
    /// Also parses times without seconds and with any number of fraction digits; fractions of a microsecond are cut off.
    pub(super) fn parse(text: &str) -> Result<Hour, String> {
        let hour = || {
            let (time, fraction) = text.split_once('.').unwrap_or((text, "0"));
            let [hour, minute, second] = match time.len() {
                5 if time == text => numbers(time, ':', [2, 2]).map(|[hour, minute]| [hour, minute, 0])?,
                _ => numbers(time, ':', [2, 2, 2])?,
            };
            let digits = !fraction.is_empty() && fraction.bytes().all(|digit| digit.is_ascii_digit());
            let micros = format!("{fraction:0<6}").get(..6).filter(|_| digits)?.parse().ok()?;
            let below = |number: u32, limit| u8::try_from(number).ok().filter(|number| *number < limit);
            Some(Hour { hour: below(hour, 24)?, minute: below(minute, 60)?, second: below(second, 60)?, micros })
        };
        hour().ok_or_else(|| format!("`{text}` is no time of day, written `23:59:59.999999`"))
    }
}

impl fmt::Display for Hour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}:{:02}.{:06}", self.hour, self.minute, self.second, self.micros)
    }
}

/// A day and a time, with a space or a `T` between them.
pub(super) fn parse(text: &str) -> Result<(Day, Hour), String> {
    let parsed =
        text.split_once([' ', 'T']).and_then(|(day, hour)| Some((Day::parse(day).ok()?, Hour::parse(hour).ok()?)));
    parsed.ok_or_else(|| {
        format!(
            "`{text}` is no date and time of the years 1 to 9999, written `2026-11-20 10:00:00.000000`, without a zone"
        )
    })
}

/// An instant in UTC, with the fraction if there is one: `2026-11-20T10:00:00Z`.
pub(super) fn write_instant(micros: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (seconds, micros) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (day, second) = (Day::after_1970(seconds.div_euclid(86_400)), seconds.rem_euclid(86_400));
    write!(f, "{day}T{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)?;
    if micros > 0 {
        write!(f, ".{}", format!("{micros:06}").trim_end_matches('0'))?;
    }
    f.write_str("Z")
}

/// Parses numbers with these counts of digits and this separator.
fn numbers<const N: usize>(text: &str, between: char, digits: [usize; N]) -> Option<[u32; N]> {
    let mut parts = text.split(between);
    let mut found = [0; N];
    for (found, digits) in found.iter_mut().zip(digits) {
        let part =
            parts.next().filter(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()))?;
        *found = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::aggregate::value::Value;

    #[test]
    fn instants_format_as_iso_8601_before_1970_and_in_leap_years() {
        for (micros, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
            (1_795_168_800_500_000, "2026-11-20T10:00:00.5Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00Z"),
            (951_868_800_000_000, "2000-03-01T00:00:00Z"),
            (-2_203_891_200_000_001, "1900-02-28T23:59:59.999999Z"),
            (-2_203_891_200_000_000, "1900-03-01T00:00:00Z"),
            (*INSTANTS.start(), "0001-01-01T00:00:00Z"),
            (*INSTANTS.end(), "9999-12-31T23:59:59.999999Z"),
            (i64::MAX, "294247-01-10T04:00:54.775807Z"),
            (i64::MIN, "-290308-12-21T19:59:05.224192Z"),
        ] {
            assert_eq!(Value::Timestamp(micros).to_string(), text);
        }
    }

    #[test]
    fn every_day_of_a_thousand_years_round_trips() {
        let mut before = String::new();
        for day in (-170_000..200_000).map(Day::after_1970) {
            let text = day.to_string();
            assert_eq!(Day::parse(&text), Ok(day));
            assert!(before < text, "{before} and then {text}");
            before = text;
        }
    }

    #[test]
    fn a_day_that_is_not_in_the_calendar_is_refused() {
        for text in ["2026-02-29", "1900-02-29", "2026-00-01", "2026-13-01", "2026-04-31", "2026-01-00", "0000-01-01"] {
            assert!(Day::parse(text).is_err(), "{text}");
        }
        for text in
            ["2026-1-1", "-0044-03-15", "0044-03-15 BC", "10000-01-01", "+026-01-01", "2026-01-01-", "infinity", ""]
        {
            assert!(Day::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_parse_common_formats_and_cut_to_microseconds() {
        for (text, read) in [
            ("10:00", "10:00:00.000000"),
            ("10:00:59", "10:00:59.000000"),
            ("23:59:59.5", "23:59:59.500000"),
            ("23:59:59.123456999", "23:59:59.123456"),
        ] {
            assert_eq!(Hour::parse(text).unwrap().to_string(), read);
        }
        for text in
            ["24:00:00", "10:60", "10:00:60", "10:00.5", "1:00", "10:00:00.", "10:00:00Z", "10:00:00.é", "-01:00:00"]
        {
            assert!(Hour::parse(text).is_err(), "{text}");
        }
        let (day, hour) = parse("2026-11-20T10:00:00.1").unwrap();
        assert_eq!(format!("{day} {hour}"), "2026-11-20 10:00:00.100000");
        for text in ["2026-11-20", "2026-11-20 10:00:00+01:00", "2026-11-20  10:00:00", "10:00:00"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
