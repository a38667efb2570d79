//! The list of orders: its filters are the same on each database.

use sqlx::{Encode, QueryBuilder, Type};

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

/// A page of a list: its first row, and how many rows.
pub(super) type PageOf = (u32, u32);

/// The statement of a list; without a page, in no order.
pub(super) fn select<'a, D: sqlx::Database>(columns: &str, asked: &Asked<'a>, page: Option<PageOf>) -> QueryBuilder<D>
where
    String: Encode<'a, D> + Type<D>,
    i64: Encode<'a, D> + Type<D>,
{
    let mut select = QueryBuilder::new(format!("select {columns} from orders where 1 = 1"));
    for (column, value) in [("orderer", asked.orderer), ("state", asked.state)] {
        if let Some(value) = value {
            select.push(format!(" and {column} = ")).push_bind(value.to_owned());
        }
    }
    if let Some(search) = asked.search {
        // SQLite's `lower` knows the letters of ASCII alone.
        let (is_like, pattern, end) = match D::NAME {
            <sqlx::Sqlite as sqlx::Database>::NAME => ("glob", glob(search), ""),
            _ => ("like", like(search), " escape '!'"),
        };
        for (at, column) in ["no", "orderer_name"].into_iter().enumerate() {
            let column = if end.is_empty() { column.to_owned() } else { format!("lower({column})") };
            select.push(if at == 0 { " and (" } else { " or " }).push(format!("{column} {is_like} "));
            select.push_bind(pattern.clone()).push(end);
        }
        select.push(")");
    }
    if let Some(among) = asked.among {
        select.push(if among.is_empty() { " and 1 = 0" } else { " and no in (" });
        let mut list = select.separated(", ");
        for no in among {
            list.push_bind(no.clone());
        }
        select.push(if among.is_empty() { "" } else { ")" });
    }
    if let Some((offset, limit)) = page {
        select.push(format!(" order by {} limit {limit} offset {offset}", asked.sort.sql()));
    }
    select
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
        let all = select::<sqlx::Sqlite>("no", &asked, Some((50, 25)));
        let sql = all.sql();
        let sql = sql.as_str();
        assert_eq!(
            sql,
            "select no from orders where 1 = 1 and state = ? and no in (?, ?) \
             order by orders.total desc, orders.placed_at desc, no desc limit 25 offset 50"
        );
        let none = Asked { among: Some(&[]), ..Asked::default() };
        assert!(select::<sqlx::Sqlite>("no", &none, None).sql().as_str().ends_with("where 1 = 1 and 1 = 0"));
    }
}
