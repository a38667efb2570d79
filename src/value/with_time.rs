//! Types of `time` in columns. All to the microsecond; what is smaller is cut off. An instant comes back in UTC.

use ::time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

use super::calendar::{self, Day, Hour};
use super::scalar::scalar;
use super::{Kind, RowReader, Value, ValueObject};
use crate::mapping::{Column, MappingError};

scalar!(OffsetDateTime, Timestamp, |value| micros(*value), |stored| instant(*stored));
scalar!(Date, Date, |value| day(*value).to_string(), |stored| Day::parse(stored).and_then(date));
scalar!(Time, Time, |value| hour(*value).to_string(), |stored| Hour::parse(stored).and_then(time));
scalar!(PrimitiveDateTime, DateTime, |value| format!("{} {}", day(value.date()), hour(value.time())), |stored| {
    calendar::parse(stored).and_then(|(day, hour)| Ok(PrimitiveDateTime::new(date(day)?, time(hour)?)))
});

fn micros(time: OffsetDateTime) -> i64 {
    // With its feature `large-dates`, years beyond what fits; they are refused as those that just fit.
    let micros = time.unix_timestamp_nanos() / 1_000;
    i64::try_from(micros).unwrap_or(if micros < 0 { i64::MIN } else { i64::MAX })
}

fn instant(micros: i64) -> Result<OffsetDateTime, String> {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(micros) * 1_000).map_err(|error| error.to_string())
}

fn day(date: Date) -> Day {
    Day { year: date.year().into(), month: date.month().into(), day: date.day() }
}

fn hour(time: Time) -> Hour {
    let (hour, minute, second, micros) = time.as_hms_micro();
    Hour { hour, minute, second, micros }
}

fn date(Day { year, month, day }: Day) -> Result<Date, String> {
    let fits = || Date::from_calendar_date(year.try_into().ok()?, Month::try_from(month).ok()?, day).ok();
    fits().ok_or_else(|| format!("{year}-{month}-{day} is no date"))
}

fn time(Hour { hour, minute, second, micros }: Hour) -> Result<Time, String> {
    Time::from_hms_micro(hour, minute, second, micros).map_err(|error| error.to_string())
}
