//! Parses a submitted form into values for the domain, or all its mistakes.

use std::iter;
use std::str::FromStr;

use super::compare::line_in;
use super::fields::{Fields, NEW_LINE, SHIPPING, quantity};
use super::input::Mistake;
use crate::domain::{Address, Invalid, LineChange, Money, Order, OrderError, OrderLine, Receiver, ShippingInfo};
use crate::texts::{Html, Lang, field_label};

/// The delivery address in the fields.
///
/// # Errors
/// Every mistake.
pub(crate) fn read_shipping(t: Lang, typed: &Fields) -> Result<ShippingInfo, Vec<Mistake>> {
    let [name, phone, postal_code, line1, line2, message] = SHIPPING.map(|name| typed.text(name).to_owned());
    ShippingInfo::new(Receiver { name, phone }, Address { postal_code, line1, line2 }, &message)
        .map_err(|problems| problems.into_iter().map(|invalid| mistake(t, invalid)).collect())
}

/// The changes of lines in the fields, for an order that has the lines `now`, and had the lines `on` in the version that the form is on: those
/// that it does not name stay as they were.
///
/// # Errors
/// Every mistake.
pub(crate) fn read_lines(
    t: Lang,
    typed: &Fields,
    now: &[OrderLine],
    on: &[OrderLine],
) -> Result<Vec<LineChange>, Vec<Mistake>> {
    let (mut changes, mut mistakes) = (Vec::new(), Vec::new());
    let is_named = |line: &&OrderLine| typed.lines().any(|line_no| line_no == line.line_no());
    for line in on.iter().filter(|line| !is_named(line)) {
        changes.push(LineChange::Keep { line_no: line.line_no(), quantity: line.quantity() });
    }
    for line_no in typed.lines().filter(|line_no| !typed.removes(*line_no)) {
        let name = quantity(line_no);
        let line = now.iter().find(|line| line.line_no() == line_no);
        let possible = 1..=OrderLine::MAX_QUANTITY;
        match (number(typed.text(&name)).filter(|quantity| possible.contains(quantity)), line) {
            // The domain refuses a missing line later, by its number.
            (Some(quantity), _) => changes.push(LineChange::Keep { line_no, quantity }),
            (None, Some(line)) => {
                let label = t.line_quantity(line.product());
                mistakes.push(Mistake::new(name, label, t.wrong_quantity(OrderLine::MAX_QUANTITY)));
            }
            // No page has its field any more, so nobody could correct it: it is compared as it was typed.
            (None, None) if on.iter().any(|line| line.line_no() == line_no) => {
                changes.push(LineChange::Keep { line_no, quantity: u32::MAX });
            }
            (None, None) => {}
        }
    }
    let used = typed.lines().chain(now.iter().map(OrderLine::line_no)).max().unwrap_or(0);
    for (row, [product, price, quantity]) in new_lines(typed).into_iter().enumerate() {
        let line_no = used.saturating_add(1).saturating_add(u32::try_from(row).unwrap_or(u32::MAX));
        match read_new_line(t, line_no, product, price, quantity) {
            Ok(line) => changes.push(LineChange::Add(line)),
            Err(wrong) => mistakes.extend(
                wrong
                    .into_iter()
                    .map(|(at, text)| Mistake::new(new_line_id(at, row), field_label(t, NEW_LINE[at]), text)),
            ),
        }
    }
    if mistakes.is_empty() { Ok(changes) } else { Err(mistakes) }
}

/// An added line.
///
/// # Errors
/// Which of its three fields are wrong, and why.
pub(super) fn read_new_line(
    t: Lang,
    line_no: u32,
    product: &str,
    price: &str,
    quantity: &str,
) -> Result<OrderLine, Vec<(usize, Html)>> {
    let amount = won(price).filter(|amount| *amount >= Money::ZERO);
    let pieces = number(quantity).filter(|pieces| (1..=OrderLine::MAX_QUANTITY).contains(pieces));
    // What is wrong is replaced, so that the line's other mistakes are told, too.
    let line = OrderLine::new(line_no, product, amount.unwrap_or(Money::ZERO), pieces.unwrap_or(1));
    let of_line = |error: &OrderError| match error {
        OrderError::Invalid(Invalid { field: "lines.product", problem }) => (0, t.wrong(*problem)),
        other => (1, t.refusal(other)),
    };
    let wrong = [
        line.as_ref().err().map(of_line),
        amount.is_none().then(|| (1, t.wrong_price().into())),
        pieces.is_none().then(|| (2, t.wrong_quantity(OrderLine::MAX_QUANTITY))),
    ];
    let wrong: Vec<_> = wrong.into_iter().flatten().collect();
    match line {
        Ok(line) if wrong.is_empty() => Ok(line),
        _ => Err(wrong),
    }
}

/// The rows of lines that were added, and saved with this order, are changes of those lines. One of which there is no row stays as it is.
pub(super) fn adopt_added_lines(t: Lang, typed: &mut Fields, before: &Order, after: &Order) {
    if typed.lines().next().is_none() {
        return;
    }
    let mut rows: Vec<_> = new_rows(typed).map(|row| row.map(str::to_owned)).collect();
    let is_of = |line: &OrderLine, [product, price, quantity]: &[String; 3]| {
        let row = read_new_line(t, line.line_no(), product, price, quantity);
        row.is_ok_and(|row| (row.product(), row.price()) == (line.product(), line.price()))
    };
    for line in after.lines().iter().filter(|line| line_in(before, line.line_no()).is_none()) {
        let row = rows.iter().position(|row| is_of(line, row)).map(|at| rows.remove(at));
        let [.., pieces] = row.unwrap_or_else(|| ["", "", &line.quantity().to_string()].map(str::to_owned));
        typed.set(&quantity(line.line_no()), &pieces);
    }
    typed.replace_rows(&rows);
}

/// A whole number as people type it: `1,000`, and `３４` from a Korean keyboard. A comma that does not separate three digits may be a decimal
/// point, and is refused.
pub(crate) fn number<N: FromStr>(text: &str) -> Option<N> {
    let plain = |typed: char| match typed {
        '０'..='９' => char::from_digit(u32::from(typed) - u32::from('０'), 10).unwrap_or(typed),
        '，' => ',',
        other => other,
    };
    let plain: String = text.trim().chars().map(plain).collect();
    let mut groups = plain.split(',');
    let is_grouped = groups.next().is_some_and(|first| !first.is_empty()) && groups.all(|group| group.len() == 3);
    if is_grouped { plain.replace(',', "").parse().ok() } else { None }
}

/// An amount in common notations: `12300`, `₩12,300` or `12,300원`.
fn won(text: &str) -> Option<Money> {
    number(text.trim().trim_start_matches('₩').trim_end_matches('원')).map(Money::won)
}

/// The mistake on the form for a refusal of the domain, if it is about typed text.
pub(crate) fn mistake_of(t: Lang, error: &OrderError) -> Option<Mistake> {
    match error {
        OrderError::QuantityOutOfRange { line_no, .. } => {
            let name = quantity(*line_no);
            let label = field_label(t, &name);
            Some(Mistake::new(name, label, t.wrong_quantity(OrderLine::MAX_QUANTITY)))
        }
        OrderError::Invalid(invalid) => Some(mistake(t, *invalid)),
        OrderError::NoLines
        | OrderError::TotalTooLarge
        | OrderError::DuplicateLine { .. }
        | OrderError::NoSuchLine { .. } => Some(Mistake::general("lines", t.refusal(error))),
        _ => None,
    }
}

/// The domain's refusal of a field, at the input of that name.
pub(crate) fn mistake(t: Lang, invalid: Invalid) -> Mistake {
    Mistake::new(invalid.field, field_label(t, invalid.field), t.wrong(invalid.problem))
}

/// The id of an input of an added line: which of the three fields, and in which row.
pub(super) fn new_line_id(at: usize, row: usize) -> String {
    format!("{}-{}", NEW_LINE[at], row + 1)
}

/// The rows for added lines, also the empty ones.
pub(super) fn new_rows(typed: &Fields) -> impl Iterator<Item = [&str; 3]> {
    let [products, prices, quantities] = NEW_LINE.map(|name| typed.all(name));
    let rows = products.zip(prices).zip(quantities.chain(iter::repeat("")));
    rows.map(|((product, price), quantity)| [product, price, quantity])
}

/// Whether a row is a line: one without product and price is none.
pub(super) fn is_line([product, price, _]: &[&str; 3]) -> bool {
    !product.trim().is_empty() || !price.trim().is_empty()
}

/// The added lines.
pub(super) fn new_lines(typed: &Fields) -> Vec<[&str; 3]> {
    new_rows(typed).filter(is_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        Fields::sent(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
    }

    fn line(line_no: u32, quantity: u32) -> OrderLine {
        OrderLine::new(line_no, "tea", Money::won(1_000), quantity).expect("a line")
    }

    fn ids(mistakes: Vec<Mistake>) -> Vec<String> {
        mistakes.into_iter().map(|mistake| mistake.id).collect()
    }

    #[test]
    fn lines_are_kept_removed_and_added_by_their_fields() {
        let typed = fields(&[
            ("quantity-1", "2"),
            ("quantity-2", "1"),
            ("remove-2", "on"),
            ("new-product", "cup"),
            ("new-price", "₩12,300"),
            ("new-quantity", "３"),
            ("new-product", ""),
            ("new-price", " "),
            ("new-quantity", "1"),
        ]);
        let changes = read_lines(Lang::En, &typed, &[line(1, 1), line(2, 1)], &[]).expect("valid");
        let cup = OrderLine::new(3, "cup", Money::won(12_300), 3).expect("a line");
        assert_eq!(changes, [LineChange::Keep { line_no: 1, quantity: 2 }, LineChange::Add(cup)]);
    }

    #[test]
    fn new_line_number_was_never_used() {
        let typed = fields(&[
            ("quantity-7", "1"),
            ("remove-7", "on"),
            ("new-product", "cup"),
            ("new-price", "1"),
            ("new-quantity", "1"),
        ]);
        let changes = read_lines(Lang::En, &typed, &[line(1, 1), line(4, 1)], &[]).expect("valid");
        assert!(matches!(&changes[..], [LineChange::Add(line)] if line.line_no() == 8), "{changes:?}");
    }

    #[test]
    fn every_field_that_is_wrong_is_named_by_its_id() {
        let typed = fields(&[
            ("quantity-1", "0"),
            ("quantity-2", "many"),
            ("new-product", ""),
            ("new-price", "5"),
            ("new-quantity", "1"),
            ("new-product", "cup"),
            ("new-price", "free"),
            ("new-quantity", "1"),
            ("new-product", "cup"),
            ("new-price", "5"),
            ("new-quantity", "1000"),
            ("new-product", "a".repeat(201).as_str()),
            ("new-price", "-5"),
            ("new-quantity", "0"),
        ]);
        let mistakes = read_lines(Lang::Ko, &typed, &[line(1, 1), line(2, 1)], &[]).expect_err("all of it is wrong");
        let of_one = ["quantity-1", "quantity-2", "new-product-1", "new-price-2", "new-quantity-3"];
        assert_eq!(
            ids(mistakes),
            of_one.into_iter().chain(["new-product-4", "new-price-4", "new-quantity-4"]).collect::<Vec<_>>()
        );
        let mistakes = read_shipping(Lang::En, &fields(&[("address.line1", "1 Road")])).expect_err("incomplete");
        assert_eq!(ids(mistakes), ["receiver.name", "receiver.phone", "address.postal_code"]);
    }

    #[test]
    fn an_amount_is_read_as_people_write_it_and_not_guessed() {
        for text in ["12300", " 12,300 ", "₩12,300", "12,300원", "１２３００", "0"] {
            assert!(won(text).is_some_and(|amount| [0, 12_300].contains(&amount.as_won())), "{text}");
        }
        for text in ["", "12,3", "1,5", ",300", "12.5", "free", "1 000"] {
            assert_eq!((won(text), number::<u32>(text)), (None, None), "{text}");
        }
        assert_eq!(["1,000", " １，０００ ", "1000"].map(number), [Some(1_000_u32); 3]);
    }

    #[test]
    fn a_form_that_was_not_touched_is_no_change() {
        let order_lines = [line(1, 2), line(3, 4)];
        let typed = Fields::default().with_lines(&order_lines);
        let kept = [LineChange::Keep { line_no: 1, quantity: 2 }, LineChange::Keep { line_no: 3, quantity: 4 }];
        assert_eq!(read_lines(Lang::En, &typed, &order_lines, &[]).expect("valid"), kept);
    }

    #[test]
    fn form_refusals_are_placed_at_their_fields() {
        let place = |error| mistake_of(Lang::En, &error).map(|mistake| mistake.id);
        assert_eq!(place(OrderError::NoLines).as_deref(), Some("lines"));
        assert_eq!(place(OrderError::QuantityOutOfRange { line_no: 3, quantity: 0 }).as_deref(), Some("quantity-3"));
        assert_eq!(place(OrderError::AlreadyCancelled), None);
    }
}
