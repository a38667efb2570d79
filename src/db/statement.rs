//! Statements: one text for all databases, and its values.
//!
//! A text numbers its parameters, `$1`, `$2`, and may use one several times. What databases spell differently stands in braces and is
//! written by the [`Sheet`]: `{now $1}`. Names and texts in quotes are left as they are.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::sheet::{Dialect, Sheet};
use crate::aggregate::value::{Kind, Value};

/// The place in a text where a lock of rows is written, if it is not at the end.
pub(crate) const LOCK: char = '\u{1}';

/// A text as one database reads it.
#[derive(Debug)]
pub(crate) struct Sql {
    pub text: Arc<str>,
    /// Which value each `?` of the text stands for, by its number from 0; `None` where the text itself has numbers.
    pub order: Option<Box<[u16]>>,
}

impl Sql {
    /// A text with numbered parameters and no braces.
    pub(crate) fn numbered(text: &str, sheet: &Sheet) -> Sql {
        if sheet.numbers {
            return Sql { text: text.into(), order: None };
        }
        let (mut plain, mut order, mut rest) = (String::with_capacity(text.len()), Vec::new(), text);
        while let Some(at) = rest.find(['$', '\'', '"', '`']) {
            let (before, special) = rest.split_at(at);
            plain += before;
            let quote = special.as_bytes()[0];
            let digits = special[1..].bytes().take_while(u8::is_ascii_digit).count();
            let length = match quote {
                b'$' if digits > 0 => {
                    let number: u16 = special[1..=digits].parse().expect("parameters are counted, and few");
                    order.push(number - 1);
                    plain.push('?');
                    1 + digits
                }
                b'$' => {
                    plain.push('$');
                    1
                }
                // A doubled quote inside is the end of one part and the beginning of the next.
                _ => {
                    let length = special[1..].find(char::from(quote)).map_or(special.len(), |end| end + 2);
                    plain += &special[..length];
                    length
                }
            };
            rest = &special[length..];
        }
        plain += rest;
        Sql { text: plain.into(), order: Some(order.into()) }
    }

    /// The text with this lock of its rows.
    #[cfg(any(feature = "sqlite", feature = "postgres", test))]
    pub(crate) fn locking(&self, lock: &str) -> Arc<str> {
        match (self.text.contains(LOCK), lock) {
            (true, lock) => self.text.replace(LOCK, lock).into(),
            (false, "") => Arc::clone(&self.text),
            (false, lock) => [&self.text, lock].concat().into(),
        }
    }
}

/// A fixed text. It is written once for each database.
pub(crate) struct Text {
    template: Template,
    written: [OnceLock<Arc<Sql>>; Dialect::COUNT],
}

enum Template {
    Fixed(&'static str),
    Made(fn(&Sheet) -> String),
}

impl Text {
    pub(crate) const fn new(template: &'static str) -> Self {
        Text { template: Template::Fixed(template), written: [const { OnceLock::new() }; Dialect::COUNT] }
    }

    /// A text that is composed, of names and fixed parts.
    pub(crate) const fn made(make: fn(&Sheet) -> String) -> Self {
        Text { template: Template::Made(make), written: [const { OnceLock::new() }; Dialect::COUNT] }
    }

    /// The text for a database.
    pub(crate) fn on(&self, sheet: &Sheet) -> &Arc<Sql> {
        self.written[sheet.dialect as usize].get_or_init(|| {
            let text = match self.template {
                Template::Fixed(text) => sheet.write(text),
                Template::Made(make) => sheet.write(&make(sheet)),
            };
            Arc::new(Sql::numbered(&text, sheet))
        })
    }

    /// A statement with these values.
    pub(crate) fn with<'v>(&'static self, values: impl IntoIterator<Item = Bind<'v>>) -> Statement<'v> {
        Statement { source: Source::Fixed(self), values: values.into_iter().collect() }
    }
}

/// A text with its values.
pub(crate) struct Statement<'v> {
    source: Source,
    values: Vec<Bind<'v>>,
}

enum Source {
    Fixed(&'static Text),
    Made(Arc<Sql>),
}

impl<'v> Statement<'v> {
    /// A statement of a text that was made for the database.
    pub(crate) fn new(sql: Arc<Sql>, values: Vec<Bind<'v>>) -> Self {
        Statement { source: Source::Made(sql), values }
    }

    /// The text for this database.
    pub(crate) fn sql(&self, sheet: &Sheet) -> &Sql {
        match &self.source {
            Source::Fixed(text) => text.on(sheet),
            Source::Made(sql) => sql,
        }
    }

    /// The values in the order of the placeholders of that text.
    pub(crate) fn values(&self, sql: &Sql) -> impl Iterator<Item = &Bind<'v>> {
        let count = sql.order.as_ref().map_or(self.values.len(), |order| order.len());
        let at = move |place: usize| sql.order.as_ref().map_or(place, |order| usize::from(order[place]));
        (0..count).map(move |place| &self.values[at(place)])
    }
}

/// A value of a statement.
#[derive(Debug, Clone)]
pub(crate) enum Bind<'v> {
    Value(Cow<'v, Value>),
    Text(&'v str),
    Bytes(&'v [u8]),
    /// A part of a key, which is compared by its bytes.
    Key(&'v str),
}

impl<'v> From<&'v Value> for Bind<'v> {
    fn from(value: &'v Value) -> Self {
        Bind::Value(Cow::Borrowed(value))
    }
}

impl From<Value> for Bind<'_> {
    fn from(value: Value) -> Self {
        Bind::Value(Cow::Owned(value))
    }
}

impl From<i64> for Bind<'_> {
    fn from(number: i64) -> Self {
        Value::Integer(number).into()
    }
}

impl From<Option<i64>> for Bind<'_> {
    fn from(number: Option<i64>) -> Self {
        number.map_or(Value::Null(Kind::Integer), Value::Integer).into()
    }
}

impl<'v> From<&'v str> for Bind<'v> {
    fn from(text: &'v str) -> Self {
        Bind::Text(text)
    }
}

impl<'v> From<Option<&'v str>> for Bind<'v> {
    fn from(text: Option<&'v str>) -> Self {
        text.map_or(Value::Null(Kind::Text).into(), Bind::Text)
    }
}

impl<'v> From<&'v [u8]> for Bind<'v> {
    fn from(bytes: &'v [u8]) -> Self {
        Bind::Bytes(bytes)
    }
}

impl<'v> Bind<'v> {
    /// A part of a key, or null.
    pub(crate) fn key(part: Option<&'v str>) -> Self {
        part.map_or(Value::Null(Kind::Text).into(), Bind::Key)
    }

    /// Whether it is null.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Bind::Value(value) if matches!(**value, Value::Null(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::sheet::PLAIN;

    #[test]
    fn numbers_become_places_and_quoted_names_stay() {
        let sql = Sql::numbered("select `a$1``b`, '$2', \"c$3\" where x = $2 and y in ($1, $2) and z = '$", &PLAIN);
        assert_eq!(&*sql.text, "select `a$1``b`, '$2', \"c$3\" where x = ? and y in (?, ?) and z = '$");
        assert_eq!(sql.order.as_deref(), Some(&[1, 0, 1][..]));
    }

    #[test]
    fn lock_stands_at_its_place_or_at_the_end() {
        let sql = |text: &str| Sql { text: text.into(), order: None };
        assert_eq!(&*sql("select 1").locking(" for update"), "select 1 for update");
        assert_eq!(&*sql("(a\u{1}) union (b\u{1})").locking(" for share"), "(a for share) union (b for share)");
        assert_eq!(&*sql("(a\u{1})").locking(""), "(a)");
    }
}
