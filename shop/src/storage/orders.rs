//! The list of orders, and how orders and their notes are now.

use jiff::Timestamp;
use tenure::aggregate::value::Value;
use tenure::{Database, Version, error::DatabaseError};

use super::sql::{Dialect, list, read};
use super::value;
use crate::domain::{MemberId, OrderNo, OrderState};
use crate::use_cases::OrderRow;

/// What a list shows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked<'a> {
    /// Only orders of this member.
    pub(crate) orderer: Option<&'a str>,
    /// Only those in this state.
    pub(crate) state: Option<&'a str>,
    /// Only those whose number or customer contains this text.
    pub(crate) search: Option<&'a str>,
    /// Only these.
    pub(crate) among: Option<&'a [String]>,
    /// Their order.
    pub(crate) sort: Sort,
}

/// The order of a list. The number decides between equal ones, so that turning pages neither skips nor repeats one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    /// The newest first.
    #[default]
    Newest,
    /// The oldest first.
    Oldest,
    /// The most expensive first.
    Total,
}

impl Sort {
    fn sql(self) -> &'static str {
        match self {
            Sort::Newest => "orders.placed_at desc, no desc",
            Sort::Oldest => "orders.placed_at, no",
            Sort::Total => "orders.total desc, orders.placed_at desc, no desc",
        }
    }
}

/// Counts orders.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn count_orders(db: &Database, asked: &Asked<'_>) -> Result<u64, DatabaseError> {
    let (text, values) = select(Dialect::of(db), "count(*)", asked, None);
    let (count,): (i64,) = read!(db, fetch_one, &text, (), values)?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// A page of them. A list decides nothing, so it is read without loading aggregates.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn list_orders(
    db: &Database,
    asked: &Asked<'_>,
    limit: u32,
    offset: u32,
) -> Result<Vec<OrderRow>, DatabaseError> {
    let dialect = Dialect::of(db);
    let columns = format!("no, orderer_name, state, total, {} as placed_at, version", dialect.micros("placed_at"));
    let (text, values) = select(dialect, &columns, asked, Some((offset, limit)));
    let rows: Vec<Listed> = read!(db, fetch_all, &text, (), values)?;
    rows.into_iter().map(Listed::order_row).collect()
}

/// The versions of these orders, with whom and in which state they are: one statement, without loading the aggregates.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub async fn orders_now(db: &Database, numbers: &[&str]) -> Result<Vec<OrderNow>, DatabaseError> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let (places, numbers) = list(numbers);
    let text = format!("select no, orderer, state, version from orders where no in ({places})");
    let rows: Vec<OrderNowRow> = read!(db, fetch_all, &text, (), numbers)?;
    let now = |row: OrderNowRow| {
        Ok(OrderNow {
            no: value("no", Value::Text(row.no))?,
            orderer: value("orderer", Value::Text(row.orderer))?,
            state: value("state", Value::Text(row.state))?,
            version: Version::new(row.version).map_err(DatabaseError::other)?,
        })
    };
    rows.into_iter().map(now).collect()
}

/// The versions of the notes on these orders, as far as there are notes: one statement.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub async fn notes_now(db: &Database, numbers: &[&str]) -> Result<Vec<(String, Version)>, DatabaseError> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let (places, numbers) = list(numbers);
    let text = format!("select order_no, version from order_note where order_no in ({places})");
    let rows: Vec<(String, i64)> = read!(db, fetch_all, &text, (), numbers)?;
    let note = |(no, version)| Ok((no, Version::new(version).map_err(DatabaseError::other)?));
    rows.into_iter().map(note).collect()
}

/// The text of a list, and its values; without a page (its first row, and how many rows), in no order.
fn select(dialect: Dialect, columns: &str, asked: &Asked<'_>, page: Option<(u32, u32)>) -> (String, Vec<String>) {
    let mut text = format!("select {columns} from orders where 1 = 1");
    let mut values = Vec::new();
    for (column, value) in [("orderer", asked.orderer), ("state", asked.state)] {
        if let Some(value) = value {
            text += &format!(" and {column} = ?");
            values.push(value.to_owned());
        }
    }
    if let Some(search) = asked.search {
        // SQLite's `lower` knows the letters of ASCII alone.
        let (condition, pattern) = match dialect {
            Dialect::Sqlite => (" and (no glob ? or orderer_name glob ?)", glob(search)),
            _ => (" and (lower(no) like ? escape '!' or lower(orderer_name) like ? escape '!')", like(search)),
        };
        text += condition;
        values.extend([pattern.clone(), pattern]);
    }
    match asked.among {
        Some([]) => text += " and 1 = 0",
        Some(among) => {
            let (places, among) = list(among);
            text += &format!(" and no in ({places})");
            values.extend(among);
        }
        None => {}
    }
    if let Some((offset, limit)) = page {
        text += &format!(" order by {} limit {limit} offset {offset}", asked.sort.sql());
    }
    (text, values)
}

/// Contains this text, in upper or lower case.
fn like(search: &str) -> String {
    let escaped = search.to_lowercase().replace('!', "!!").replace('%', "!%").replace('_', "!_");
    format!("%{escaped}%")
}

/// The same for SQLite: each letter stands for itself in both cases.
fn glob(search: &str) -> String {
    let one = |c: char| {
        let cases = [c.to_lowercase().to_string(), c.to_uppercase().to_string()];
        let others: String =
            cases.into_iter().filter(|case| case.chars().count() == 1 && *case != c.to_string()).collect();
        if others.is_empty() && !matches!(c, '*' | '?' | '[') { c.to_string() } else { format!("[{c}{others}]") }
    };
    format!("*{}*", search.chars().map(one).collect::<String>())
}

/// How an order is now.
#[derive(Debug, Clone)]
pub struct OrderNow {
    /// Its number.
    pub no: OrderNo,
    /// The member who placed it.
    pub orderer: MemberId,
    /// Its state.
    pub state: OrderState,
    /// Its version.
    pub version: Version,
}

/// Its row.
#[derive(sqlx::FromRow)]
struct OrderNowRow {
    no: String,
    orderer: String,
    state: String,
    version: i64,
}

/// A row of the list of orders.
#[derive(sqlx::FromRow)]
struct Listed {
    no: String,
    orderer_name: String,
    state: String,
    total: i64,
    /// Microseconds since 1970.
    placed_at: i64,
    version: i64,
}

impl Listed {
    fn order_row(self) -> Result<OrderRow, DatabaseError> {
        Ok(OrderRow {
            no: value("no", Value::Text(self.no))?,
            orderer_name: self.orderer_name,
            state: value("state", Value::Text(self.state))?,
            total: value("total", Value::Integer(self.total))?,
            placed_at: value::<Timestamp>("placed_at", Value::Timestamp(self.placed_at))?,
            version: Version::new(self.version).map_err(DatabaseError::other)?,
            editing: None,
            has_text: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_patterns_mean_themselves() {
        assert_eq!(like("100%_Tea!"), "%100!%!_tea!!%");
        assert_eq!(glob("1*[É]?ß가"), "*1[*][[][Éé]][?]ß가*");
    }

    #[test]
    fn a_statement_has_the_filters_that_were_asked_for() {
        let numbers = ["1".to_owned(), "2".to_owned()];
        let asked = Asked { state: Some("Shipped"), among: Some(&numbers), sort: Sort::Total, ..Asked::default() };
        let (text, values) = select(Dialect::Sqlite, "no", &asked, Some((50, 25)));
        assert_eq!(
            text,
            "select no from orders where 1 = 1 and state = ? and no in (?, ?) \
             order by orders.total desc, orders.placed_at desc, no desc limit 25 offset 50"
        );
        assert_eq!(values, ["Shipped", "1", "2"]);
        let none = Asked { among: Some(&[]), ..Asked::default() };
        assert!(select(Dialect::Sqlite, "no", &none, None).0.ends_with("where 1 = 1 and 1 = 0"));
    }
}
