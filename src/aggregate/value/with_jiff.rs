//! Types of `jiff` in columns. All have microsecond precision; smaller fractions are cut off.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};

use super::calendar::{self, Day, Hour};
use super::{Kind, RowReader, Value, ValueObject};
use crate::aggregate::mapping::{Column, MappingError};

scalar!(Timestamp, Timestamp, |value| micros(*value), |stored| Timestamp::from_microsecond(*stored)
    .map_err(|error| error.to_string()));
scalar!(Date, Date, |value| day(*value).to_string(), |stored| Day::parse(stored).and_then(date));
scalar!(Time, Time, |value| hour(*value).to_string(), |stored| Hour::parse(stored).and_then(time));
scalar!(DateTime, DateTime, |value| format!("{} {}", day(value.date()), hour(value.time())), |stored| calendar::parse(
    stored
)
.and_then(|(day, hour)| Ok(DateTime::from_parts(date(day)?, time(hour)?))));

/// The microsecond in which it lies, also before 1970.
fn micros(time: Timestamp) -> i64 {
    let micros = time.as_nanosecond().div_euclid(1_000);
    i64::try_from(micros).expect("an i64 holds the microseconds of 290 000 years")
}

fn day(date: Date) -> Day {
    let [month, day] = [date.month(), date.day()].map(i8::unsigned_abs);
    Day { year: date.year().into(), month, day }
}

fn hour(time: Time) -> Hour {
    let [hour, minute, second] = [time.hour(), time.minute(), time.second()].map(i8::unsigned_abs);
    Hour { hour, minute, second, micros: time.subsec_nanosecond().unsigned_abs() / 1_000 }
}

fn date(Day { year, month, day }: Day) -> Result<Date, String> {
    let fits = || Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok();
    fits().ok_or_else(|| format!("{year}-{month}-{day} is no date"))
}

fn time(Hour { hour, minute, second, micros }: Hour) -> Result<Time, String> {
    let nanos = i32::try_from(micros * 1_000).ok();
    let fits = || Time::new(hour.try_into().ok()?, minute.try_into().ok()?, second.try_into().ok()?, nanos?).ok();
    fits().ok_or_else(|| format!("{hour}:{minute}:{second} is no time of day"))
}
