//! Types of `time` in columns. All have microsecond precision; smaller fractions are cut off. An instant is read back in UTC.

use ::time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

use super::calendar::{self, Day, Hour};
use super::{Kind, RowReader, Value, ValueObject};
use crate::aggregate::mapping::{Column, MappingError};

scalar!(OffsetDateTime, Timestamp, |value| micros(*value), |stored| instant(*stored));
scalar!(Date, Date, |value| day(*value).to_string(), |stored| Day::parse(stored).and_then(date));
scalar!(Time, Time, |value| hour(*value).to_string(), |stored| Hour::parse(stored).and_then(time));
scalar!(PrimitiveDateTime, DateTime, |value| format!("{} {}", day(value.date()), hour(value.time())), |stored| {
    calendar::parse(stored).and_then(|(day, hour)| Ok(PrimitiveDateTime::new(date(day)?, time(hour)?)))
});

fn micros(time: OffsetDateTime) -> i64 {
    // Its feature `large-dates` allows years out of range; they are clamped to the nearest refused ones.
    let micros = time.unix_timestamp_nanos().div_euclid(1_000);
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ::time::UtcOffset;

    use super::*;

    fn written(value: &impl ValueObject) -> Value {
        let mut row = Vec::new();
        value.write(&mut row);
        row.remove(0)
    }

    fn read<T: ValueObject>(value: Value) -> Result<T, MappingError> {
        let mut columns = Vec::new();
        T::columns("at", "at", &mut columns);
        T::read(&mut RowReader::new("orders", &columns, &[value]))
    }

    #[test]
    fn dates_and_times_round_trip_to_the_microsecond_in_utc() {
        let (date, time) =
            (date(Day { year: 1, month: 2, day: 28 }).unwrap(), Time::from_hms_nano(23, 59, 58, 123_456_789));
        let (time, cut) = (time.unwrap(), Time::from_hms_micro(23, 59, 58, 123_456).unwrap());
        assert_eq!(written(&date), Value::Date("0001-02-28".into()));
        assert_eq!(read::<Date>(written(&date)), Ok(date));
        assert_eq!(written(&time), Value::Time("23:59:58.123456".into()));
        assert_eq!(read::<Time>(written(&time)), Ok(cut));
        let moment = PrimitiveDateTime::new(date, time);
        assert_eq!(written(&moment), Value::DateTime("0001-02-28 23:59:58.123456".into()));
        assert_eq!(read::<PrimitiveDateTime>(written(&moment)), Ok(moment.replace_time(cut)));
        let instant = moment.assume_offset(UtcOffset::from_hms(9, 0, 0).unwrap());
        assert_eq!(written(&instant).to_string(), "0001-02-28T14:59:58.123456Z");
        let back = read::<OffsetDateTime>(written(&instant)).unwrap();
        assert_eq!((back.offset(), back.hour()), (UtcOffset::UTC, 14));
        assert_eq!(written(&back), written(&instant));
    }

    #[test]
    fn unsupported_years_are_refused_at_save() {
        for date in [Date::MIN, Date::from_calendar_date(0, Month::December, 31).unwrap()] {
            assert!(written(&date).check(Kind::Date).is_err());
            assert!(written(&date.with_time(Time::MIDNIGHT)).check(Kind::DateTime).is_err());
            assert!(written(&date.with_time(Time::MIDNIGHT).assume_utc()).check(Kind::Timestamp).is_err());
        }
    }

    #[test]
    fn invalid_stored_form_names_the_column() {
        let error = read::<Date>(Value::Date("2026-2-1".into())).unwrap_err().to_string();
        assert!(error.contains("table `orders`, column `at`: `2026-2-1` is no date"), "{error}");
        let error = read::<OffsetDateTime>(Value::Timestamp(i64::MAX)).unwrap_err().to_string();
        assert!(error.contains("table `orders`, column `at`: "), "{error}");
    }
}
