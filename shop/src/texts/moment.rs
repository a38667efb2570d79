//! Formatted times and durations: Korean time, because the shop is in Korea.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::Lang;
use super::markup::{Html, Part};

/// A displayed instant. It is a `<time>` element: the script may show it in the visitor's own zone.
#[derive(Debug, Clone)]
pub(crate) struct When {
    lang: Lang,
    at: Zoned,
    today: Zoned,
    zone: bool,
}

impl When {
    /// That instant, on a page that is rendered at `now`: today's times are shown without the day.
    pub(crate) fn new(lang: Lang, at: Timestamp, now: Timestamp) -> When {
        When { lang, at: in_seoul(at), today: in_seoul(now), zone: false }
    }

    /// Adds the name of the zone.
    pub(crate) fn with_zone(self) -> When {
        When { zone: true, ..self }
    }

    /// Without markup, in the shortest form.
    pub(crate) fn text(&self) -> String {
        let (at, today) = (&self.at, &self.today);
        let day = match (self.lang, at.date() == today.date(), at.year() == today.year()) {
            (_, true, _) => "",
            (Lang::En, false, true) => "%-d %b ",
            (Lang::Ko, false, true) => "%-m월 %-d일 ",
            (Lang::En, false, false) => "%-d %b %Y ",
            (Lang::Ko, false, false) => "%Y년 %-m월 %-d일 ",
        };
        // In Korean the footer names the zone, and a clock time is one of the morning or of the afternoon.
        let (time, zone) = match self.lang {
            Lang::En => ("%H:%M", if self.zone { " KST" } else { "" }),
            Lang::Ko => (if at.hour() < 12 { "오전 %-I:%M" } else { "오후 %-I:%M" }, ""),
        };
        format!("{}{zone}", at.strftime(&format!("{day}{time}")))
    }
}

impl std::fmt::Display for When {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let instant = self.at.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ");
        let full = self.at.strftime("%Y-%m-%d %H:%M:%S KST");
        write!(f, r#"<time datetime="{instant}" title="{full}">{}</time>"#, self.text())
    }
}

impl askama::filters::HtmlSafe for When {}

impl Part for When {
    fn html(&self) -> Html {
        Html::trusted(self.to_string())
    }
}

fn in_seoul(at: Timestamp) -> Zoned {
    // The zone database is part of the program. If it is missing nevertheless, the time is still right: Korea has
    // been nine hours ahead, without summer time, for decades.
    let seoul = TimeZone::get("Asia/Seoul").unwrap_or_else(|_| TimeZone::fixed(jiff::tz::offset(9)));
    at.to_zoned(seoul)
}

/// A remaining time, in minutes and seconds.
pub(crate) fn left(lang: Lang, duration: Duration) -> String {
    let (minutes, seconds) = (duration.as_secs() / 60, duration.as_secs() % 60);
    match (lang, minutes, seconds) {
        (Lang::En, 0, seconds) => format!("{seconds} s"),
        (Lang::Ko, 0, seconds) => format!("{seconds}초"),
        (Lang::En, minutes, 0) => format!("{minutes} min"),
        (Lang::Ko, minutes, 0) => format!("{minutes}분"),
        (Lang::En, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (Lang::Ko, minutes, seconds) => format!("{minutes}분 {seconds}초"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn when(lang: Lang, at: &str, now: &str) -> When {
        When::new(lang, at.parse().expect("a time"), now.parse().expect("a time"))
    }

    #[test]
    fn a_time_is_as_short_as_it_can_be_without_being_unclear() {
        let at = "2026-11-02T01:32:10Z";
        assert_eq!(when(Lang::En, at, "2026-11-02T03:00:00Z").text(), "10:32");
        assert_eq!(when(Lang::En, at, "2026-11-02T15:00:00Z").text(), "2 Nov 10:32");
        assert_eq!(when(Lang::Ko, at, "2026-11-03T03:00:00Z").text(), "11월 2일 오전 10:32");
        assert_eq!(when(Lang::Ko, at, "2027-01-03T03:00:00Z").text(), "2026년 11월 2일 오전 10:32");
        assert_eq!(when(Lang::En, at, "2026-11-02T03:00:00Z").with_zone().text(), "10:32 KST");
        let afternoon = when(Lang::Ko, "2026-11-02T06:48:00Z", "2026-11-02T07:00:00Z").with_zone();
        assert_eq!(afternoon.text(), "오후 3:48");
        let night = when(Lang::Ko, "2026-11-01T15:05:00Z", "2026-11-02T07:00:00Z");
        assert_eq!(night.text(), "오전 12:05");
    }

    #[test]
    fn programs_read_the_same_time_in_utc() {
        let html = when(Lang::En, "2026-11-02T01:32:10.5Z", "2026-11-02T03:00:00Z").html().to_string();
        assert_eq!(html, r#"<time datetime="2026-11-02T01:32:10Z" title="2026-11-02 10:32:10 KST">10:32</time>"#);
    }

    #[test]
    fn remaining_time_is_in_minutes_and_seconds() {
        let english = |seconds| left(Lang::En, Duration::from_secs(seconds));
        assert_eq!([9, 60, 252].map(english), ["9 s", "1 min", "4 min 12 s"]);
        assert_eq!(left(Lang::Ko, Duration::from_secs(252)), "4분 12초");
    }
}
