//! An aggregate with every kind of column, and its states: an ordinary one, and the limits of each range.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure::aggregate::value::Json;
use tenure::{Aggregate, Entity, ValueObject};
use uuid::Uuid;

use super::support::random;

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_kinds", revisions = 2)]
pub struct Kinds {
    #[aggregate(id)]
    pub id: Uuid,
    pub always: Every,
    pub perhaps: Option<Every>,
    pub note: Option<serde_json::Value>,
    #[aggregate(children, table = "test_kinds_stay", owner = "kinds_id")]
    pub stays: Vec<Stay>,
}

#[derive(ValueObject, Debug, Clone, PartialEq)]
pub struct Every {
    pub flag: bool,
    pub number: i64,
    pub small: u32,
    pub real: f64,
    pub short: f32,
    pub price: Decimal,
    pub text: String,
    pub bytes: Vec<u8>,
    pub uuid: Uuid,
    pub json: serde_json::Value,
    pub typed: Json<Parcel>,
    pub at: Timestamp,
    pub day: Date,
    pub moment: DateTime,
    pub hour: Time,
}

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
pub enum Parcel {
    Letter,
    Box { width: u32, label: Option<String> },
    Weights(Vec<f64>),
}

/// A child whose key is a UUID and a date.
#[derive(Entity, Debug, Clone, PartialEq)]
pub struct Stay {
    #[aggregate(key)]
    pub room: Uuid,
    #[aggregate(key)]
    pub day: Date,
    pub price: Decimal,
    pub hour: Option<Time>,
}

pub fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

impl Kinds {
    /// Under a random id, with two stays.
    pub fn new(always: Every) -> Kinds {
        let stay = |day| Stay { room: Uuid::from_u128(7), day, price: decimal("12.50"), hour: None };
        Kinds {
            id: Uuid::from_slice(&random().as_bytes()[..16]).unwrap(),
            always,
            perhaps: None,
            note: None,
            stays: vec![stay(Date::constant(1969, 12, 31)), stay(Date::constant(2026, 11, 20))],
        }
    }
}

impl Every {
    pub fn ordinary() -> Every {
        Every {
            flag: true,
            number: 42,
            small: 7,
            real: 0.1,
            short: 0.1,
            price: decimal("12.50"),
            text: "생일 축하해! 💐".into(),
            bytes: vec![0, 1, 255],
            uuid: Uuid::from_u128(0x6ccd780c_baba_1026_9564_5b8c656024db),
            json: json!({"주소": ["💐", "it's \"quoted\"; \\ 100%", null, true, 1.5, -7], "empty": {}}),
            typed: Json(Parcel::Box { width: 30, label: Some("fragile".into()) }),
            at: "2026-11-20T10:00:00.5Z".parse().unwrap(),
            day: Date::constant(2024, 2, 29),
            moment: DateTime::constant(2026, 11, 20, 10, 0, 0, 0),
            hour: Time::constant(10, 30, 0, 0),
        }
    }

    pub fn least() -> Every {
        Every {
            flag: false,
            number: i64::MIN,
            small: u32::MIN,
            real: f64::MIN,
            short: f32::MIN,
            price: Decimal::MIN,
            text: String::new(),
            bytes: Vec::new(),
            uuid: Uuid::nil(),
            json: json!(null),
            typed: Json(Parcel::Letter),
            at: "0001-01-01T00:00:00Z".parse().unwrap(),
            day: Date::constant(1, 1, 1),
            moment: DateTime::constant(1, 1, 1, 0, 0, 0, 0),
            hour: Time::constant(0, 0, 0, 0),
        }
    }

    pub fn most() -> Every {
        Every {
            flag: true,
            number: i64::MAX,
            small: u32::MAX,
            real: f64::MAX,
            short: f32::MAX,
            price: Decimal::MAX,
            text: "나".repeat(20_000),
            bytes: (0..=255).cycle().take(60_000).collect(),
            uuid: Uuid::max(),
            json: json!((0..50_000).map(|n| format!("{n} 💐")).collect::<Vec<_>>()),
            typed: Json(Parcel::Weights(vec![f64::MAX, f64::MIN_POSITIVE, 1e16, -0.0, 0.1 + 0.2])),
            at: "9999-12-30T21:59:59.999999Z".parse().unwrap(),
            day: Date::constant(9999, 12, 31),
            moment: DateTime::constant(9999, 12, 31, 23, 59, 59, 999_999_000),
            hour: Time::constant(23, 59, 59, 999_999_000),
        }
    }

    /// The smallest non-zero values, and the time just before 1970.
    pub fn smallest() -> Every {
        Every {
            number: -1,
            real: 5e-324,
            short: 1e-45,
            price: decimal("-0.0000000000000000000000000001"),
            json: json!({"": "", "big": u64::MAX, "small": i64::MIN, "real": 1e300, "deep": [[[[[[]]]]]]}),
            at: "1969-12-31T23:59:59.999999Z".parse().unwrap(),
            day: Date::constant(1969, 12, 31),
            moment: DateTime::constant(1969, 12, 31, 23, 59, 59, 999_999_000),
            hour: Time::constant(0, 0, 0, 1_000),
            ..Every::ordinary()
        }
    }
}
