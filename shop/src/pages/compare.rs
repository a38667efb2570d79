//! Comparison field by field: the opened value, the current one, and the typed one. A row can offer a choice.

use std::collections::BTreeSet;

use tenure::aggregate::value::Value;
use tenure::{
    VersionConflict, VersionToken,
    version::{FieldConflict, Side},
};

use super::fields::{Fields, REMOVE, SHIPPING, quantity, removal};
use super::frame::Visit;
use super::problem::typed;
use super::read::{new_lines, read_new_line};
use super::refusal::Attempt;
use crate::domain::{Order, OrderLine, OrderNo};
use crate::texts::{Html, Lang, field_label, line_of, marked, shown};
use crate::use_cases::Shop;

/// A differing field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) label: Html,
    pub(super) opened: Cell,
    pub(super) now: Cell,
    pub(super) mine: Cell,
    pub(super) side: Side,
    /// The choice between the two, if the form has a field for it.
    pub(super) choice: Option<Choice>,
    /// Whether it is a line of the order, which may be missing.
    is_line: bool,
    /// Whether it is a line that another person removed, so that mine has nothing to change any more.
    pub(super) gone: bool,
    /// Whether its product is in the order again, on another line.
    pub(super) is_back: bool,
    /// The line of the order that has the product of a line of mine already.
    second_to: Option<u32>,
}

/// A displayed value; `None` if there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cell(pub(super) Option<String>);

/// Two values for one field of the form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) name: String,
    pub(super) theirs: String,
    pub(super) mine: String,
}

impl Row {
    /// A row without values, of a field or of a line.
    fn of(label: Html, is_line: bool, side: Side) -> Row {
        let [opened, now, mine] = Default::default();
        Row { label, opened, now, mine, side, choice: None, is_line, gone: false, is_back: false, second_to: None }
    }

    /// The text of one of its cells. A missing or empty value is named, not left blank.
    pub(super) fn shown(&self, cell: &Cell, t: &Lang) -> Html {
        match cell.0.as_deref() {
            None if self.is_line => Html::dim(t.no_line()),
            None => Html::dim(t.absent_value()),
            Some("") => Html::dim(t.empty_value()),
            Some(text) => Html::typed(text),
        }
    }

    /// The same, with the words marked that differ from the value when it was opened; if that is unknown, from the value now.
    pub(super) fn marked(&self, cell: &Cell, t: &Lang) -> Html {
        match (self.opened.0.as_deref().or(self.now.0.as_deref()), cell.0.as_deref()) {
            // A second line of a product replaces nothing.
            (Some(before), Some(now)) if before != now && !self.is_second() => marked(*t, before, now),
            _ => None,
        }
        .unwrap_or_else(|| self.shown(cell, t))
    }

    /// Whether both sides changed it, to different values.
    pub(super) fn is_open(&self) -> bool {
        self.side == Side::Both && self.is_choosable()
    }

    /// Whether only the other side changed it: then there is nothing to decide.
    pub(super) fn is_theirs(&self) -> bool {
        self.side == Side::Theirs
    }

    /// Whether both sides changed it to the same.
    pub(super) fn is_same(&self) -> bool {
        self.side == Side::Same
    }

    /// Whether my change can be made on the current version: it is one, and its line is still there.
    pub(super) fn applies(&self) -> bool {
        matches!(self.side, Side::Mine | Side::Both) && !self.gone
    }

    /// Whether my change removes the line with this number.
    fn removes(&self, line_no: u32) -> bool {
        let is_of = |choice: &Choice| choice.name == quantity(line_no) && choice.mine == REMOVE;
        self.applies() && self.choice.as_ref().is_some_and(is_of)
    }

    /// Whether it is a line of mine whose product is in the order already.
    pub(super) fn is_second(&self) -> bool {
        self.second_to.is_some()
    }

    /// Whether it is a line that I added.
    fn adds(&self) -> bool {
        self.is_line && self.choice.is_none() && self.applies()
    }

    pub(super) fn now_changed(&self) -> bool {
        self.opened != self.now
    }

    pub(super) fn mine_changed(&self) -> bool {
        self.opened != self.mine
    }

    /// The value of the field if both sides are kept.
    pub(super) fn kept<'a>(&self, choice: &'a Choice) -> &'a str {
        if self.is_theirs() { &choice.theirs } else { &choice.mine }
    }

    /// Whether this is a row with a choice between the two sides.
    pub(super) fn is_choosable(&self) -> bool {
        self.choice.as_ref().is_some_and(|choice| choice.theirs != choice.mine)
    }
}

/// The rows of a conflict. `order` is the current order, if it is about one: it has the names of the products.
pub(super) fn rows(t: Lang, conflict: &VersionConflict, typed: &Fields, order: Option<&Order>) -> Vec<Row> {
    // What I added has rows of its own. It may have the number of a line that they added: it gets another one.
    let is_added_by_me = |field: &FieldConflict| {
        line_of(&field.path).is_some() && conflict.opened_known && field.opened.is_none() && field.now.is_none()
    };
    let is_told_otherwise = |path: &str| match line_of(path) {
        // An added or removed line is one row, not one for each of its columns.
        Some((line, field)) if field != "quantity" => {
            let quantity = format!("lines[{line}].quantity");
            field == "line_no" || conflict.fields.iter().any(|field| field.path == quantity)
        }
        // The total is computed from the lines, which are told.
        _ => path == "total" && conflict.fields.iter().any(|field| line_of(&field.path).is_some()),
    };
    let told = conflict.fields.iter().filter(|field| !is_added_by_me(field) && !is_told_otherwise(&field.path));
    let mut rows: Vec<Row> = told.map(|field| row(t, conflict, field, typed, order)).collect();
    if conflict.mine_known {
        rows.extend(added_rows(t, typed, order));
    } else if let Some(order) = order {
        // The library could not compute my state; the form still has it.
        let name = |row: &Row| row.choice.as_ref().map(|choice| choice.name.clone());
        let known: Vec<_> = rows.iter().map(|row| (row.label.clone(), name(row))).collect();
        let is_new =
            |row: &Row| !known.iter().any(|known| known.0 == row.label || (known.1.is_some() && known.1 == name(row)));
        // What was typed about a line that is gone is told as a field of the version that was opened.
        let rest = if conflict.opened_known { without_gone_lines(typed.clone(), order) } else { typed.clone() };
        let typed = typed_rows(t, order, None, &rest).into_iter().filter(is_new);
        rows.extend(typed.map(|row| Row {
            opened: if conflict.opened_known { row.now.clone() } else { Cell::default() },
            side: if conflict.opened_known { Side::Mine } else { row.side },
            ..row
        }));
    }
    for row in rows.iter_mut().filter(|_| conflict.opened_known) {
        if let Some(line) = row.second_to.and_then(|line| line_in(order?, line)) {
            row.opened = opened_line(t, conflict, line);
        }
    }
    rows
}

/// A line as it was in the version that was opened; none if they added it.
fn opened_line(t: Lang, conflict: &VersionConflict, line: &OrderLine) -> Cell {
    let path = format!("lines[{}].quantity", line.line_no());
    let quantity = match conflict.fields.iter().find(|field| field.path == path) {
        None => Some(line.quantity().to_string()),
        Some(changed) => changed.opened.as_ref().map(Value::to_string),
    };
    Cell(quantity.map(|quantity| t.pieces_at(quantity, t.money(line.price())).plain()))
}

fn row(t: Lang, conflict: &VersionConflict, field: &FieldConflict, typed: &Fields, order: Option<&Order>) -> Row {
    let mut field = field.clone();
    let (name, line) = match line_of(&field.path) {
        Some((line, _)) => (quantity(line), Some(line)),
        None => (field.path.strip_prefix("shipping.").unwrap_or(&field.path).to_owned(), None),
    };
    if !conflict.mine_known {
        field.mine = match line {
            Some(line) if typed.removes(line) || !typed.has(&name) => None,
            Some(_) => {
                let text = typed.text(&name).trim();
                Some(text.parse().map_or_else(|_| Value::Text(text.to_owned()), Value::Integer))
            }
            None if typed.has(&name) => Some(Value::Text(typed.text(&name).trim().to_owned())),
            None => field.opened.clone(),
        };
    }
    // A line of mine with the same number is another product.
    let added = line.filter(|_| field.opened.is_none() && field.now.is_some());
    if added.is_some() {
        field.mine = None;
    }
    let added = order.filter(|_| conflict.opened_known).and_then(|order| line_in(order, added?));
    let cell = |value: &Option<Value>| Cell(value.as_ref().map(|value| shown(t, &field.path, value)));
    let sent = |value: &Option<Value>| value.as_ref().map_or_else(|| REMOVE.to_owned(), Value::to_string);
    let in_form = if line.is_some() { typed.lines().next().is_some() } else { typed.has(&name) };
    let choice = Choice { name, theirs: sent(&field.now), mine: sent(&field.mine) };
    let removed = removed_product(conflict, line, order);
    let product = removed.map_or_else(|| label(t, &field.path, order), |product| t.line_quantity(product));
    Row {
        label: added.map_or(product, |line| t.line_added(line.product())),
        opened: cell(&field.opened),
        now: added.map_or_else(|| cell(&field.now), |line| Cell(Some(pieces_at(t, line)))),
        mine: cell(&field.mine),
        side: field.side(),
        choice: (in_form && (line.is_none() || field.now.is_some())).then_some(choice),
        is_line: line.is_some(),
        gone: line.is_some() && field.opened.is_some() && field.now.is_none() && field.mine.is_some(),
        is_back: removed.zip(order).is_some_and(|(product, order)| has_product(order, product)),
        second_to: None,
    }
}

/// Whether both changes together would leave no product in the order: each side has removed what the other kept.
pub(super) fn leaves_nothing(order: &Order, rows: &[Row]) -> bool {
    let is_removed = |line: &OrderLine| rows.iter().any(|row| row.removes(line.line_no()));
    order.lines().iter().all(is_removed) && !rows.iter().any(Row::adds)
}

/// The line with this number.
pub(super) fn line_in(order: &Order, line_no: u32) -> Option<&OrderLine> {
    order.lines().iter().find(|line| line.line_no() == line_no)
}

/// How many pieces of a line, and their price.
fn pieces_at(t: Lang, line: &OrderLine) -> String {
    t.pieces_at(line.quantity(), t.money(line.price())).plain()
}

/// The lines that I added, each with its price. They are in no version of the order; another line of the same product may be.
fn added_rows(t: Lang, typed: &Fields, order: Option<&Order>) -> Vec<Row> {
    let row = |[product, price, quantity]: [&str; 3]| {
        let as_typed = || [quantity, price].map(str::trim).join(" × ");
        let line = read_new_line(t, 1, product, price, quantity);
        let mine = Cell(Some(line.map_or_else(|_| as_typed(), |line| pieces_at(t, &line))));
        let is_first = |line: &&OrderLine| line.product() == product.trim() && !typed.removes(line.line_no());
        let first = order.and_then(|order| order.lines().iter().rfind(is_first));
        let now = Cell(first.map(|line| pieces_at(t, line)));
        let second_to = first.map(OrderLine::line_no);
        Row { second_to, now, mine, ..Row::of(t.line_added_by_me(product.trim()), true, Side::Mine) }
    };
    new_lines(typed).into_iter().map(row).collect()
}

fn has_product(order: &Order, product: &str) -> bool {
    order.lines().iter().any(|line| line.product() == product)
}

/// The product of a line that they removed.
fn removed_product<'a>(conflict: &'a VersionConflict, line: Option<u32>, order: Option<&Order>) -> Option<&'a str> {
    let line = line.filter(|line| order.is_none_or(|order| line_in(order, *line).is_none()))?;
    let path = format!("lines[{line}].product");
    let product = conflict.fields.iter().find(|field| field.path == path)?;
    match product.opened.as_ref()? {
        Value::Text(product) => Some(product),
        _ => None,
    }
}

/// The label of a field; the quantity of a product by the product's name, in the first of the orders that has it.
pub(super) fn label<'a>(t: Lang, path: &str, orders: impl IntoIterator<Item = &'a Order>) -> Html {
    let of_line = line_of(path).filter(|(_, field)| *field == "quantity");
    let line = of_line.and_then(|(line_no, _)| orders.into_iter().find_map(|order| line_in(order, line_no)));
    line.map_or_else(|| field_label(t, path), |line| t.line_quantity(line.product()))
}

/// The differences between the typed text and the current order. `opened` is the order that the text was typed on, if it is known: then
/// what was not touched is not taken for a change.
pub(super) fn typed_rows(t: Lang, order: &Order, opened: Option<&Order>, typed: &Fields) -> Vec<Row> {
    let before = opened.map(|order| Fields::of_shipping(order.shipping()).with_lines(order.lines()));
    let is_untouched = |name: &str, mine: Option<&str>| {
        before.as_ref().is_some_and(|before| mine.is_some() && before.get(name) == mine)
    };
    let row = |path: &str, now: Option<String>, mine: Option<String>, side, choice, gone| {
        // A line that is gone has its product in the order that the text was typed on.
        let label = label(t, path, if gone { opened } else { Some(order) });
        let before = line_of(path).filter(|_| gone).and_then(|(line_no, _)| line_in(opened?, line_no));
        let is_back = before.is_some_and(|line| has_product(order, line.product()));
        Row { now: Cell(now), mine: Cell(mine), choice, gone, is_back, ..Row::of(label, line_of(path).is_some(), side) }
    };
    let now = Fields::of_shipping(order.shipping());
    let mut rows = Vec::new();
    for name in SHIPPING.into_iter().filter(|name| typed.has(name)) {
        let (theirs, mine) = (now.text(name).to_owned(), typed.text(name).trim().to_owned());
        if theirs != mine {
            let choice = Choice { name: name.into(), theirs: theirs.clone(), mine: mine.clone() };
            let side = if is_untouched(name, Some(&mine)) { Side::Theirs } else { Side::Both };
            rows.push(row(name, Some(theirs), Some(mine), side, Some(choice), false));
        }
    }
    if typed.lines().next().is_none() && new_lines(typed).is_empty() {
        return rows;
    }
    let numbers: BTreeSet<u32> = typed.lines().chain(order.lines().iter().map(|line| line.line_no())).collect();
    for line_no in numbers {
        let name = quantity(line_no);
        let line = line_in(order, line_no);
        let theirs = line.map(|line| line.quantity().to_string());
        let mine = typed.get(&name).filter(|_| !typed.removes(line_no)).map(|text| text.trim().to_owned());
        if theirs == mine {
            continue;
        }
        // A line that the form did not have was added by another person.
        let is_theirs = !typed.has(&name) || is_untouched(&name, mine.as_deref());
        let side = if is_theirs { Side::Theirs } else { Side::Both };
        let sent = |value: &Option<String>| value.clone().unwrap_or_else(|| REMOVE.to_owned());
        let choice = Choice { name: name.clone(), theirs: sent(&theirs), mine: sent(&mine) };
        let (choice, gone) = (theirs.is_some().then_some(choice), theirs.is_none());
        let mut row = row(&name, theirs, mine, side, choice, gone);
        if let Some(line) = line.filter(|_| before.as_ref().is_some_and(|before| !before.has(&name))) {
            (row.label, row.now) = (t.line_added(line.product()), Cell(Some(pieces_at(t, line))));
        }
        rows.push(row);
    }
    rows.extend(added_rows(t, typed, Some(order)));
    rows
}

/// The differences between two versions of an order: `opened` was before, `now` came after. Lines go by their numbers, which no other
/// product gets.
pub(super) fn between(t: Lang, before: &Order, after: &Order) -> Vec<Row> {
    let row = |label: Html, before: Option<String>, after: Option<String>, is_line| {
        (before != after).then(|| Row {
            opened: Cell(before),
            now: Cell(after),
            ..Row::of(label, is_line, Side::Theirs)
        })
    };
    let (shipping, shipping_after) = (Fields::of_shipping(before.shipping()), Fields::of_shipping(after.shipping()));
    let text = |fields: &Fields, name| Some(fields.text(name).to_owned());
    let numbers: BTreeSet<u32> = before.lines().iter().chain(after.lines()).map(OrderLine::line_no).collect();
    let lines = numbers.into_iter().filter_map(|line_no| {
        let (old, new) = (line_in(before, line_no), line_in(after, line_no));
        let product = old.or(new)?.product();
        let quantity = |line: Option<&OrderLine>| line.map(|line| line.quantity().to_string());
        let label = if old.is_some() { t.line_quantity(product) } else { t.line_added(product) };
        row(label, quantity(old), quantity(new), true)
    });
    let total = |order: &Order| Some(t.money(order.total()).plain());
    let state = |order: &Order| Some(t.order_state(order.state()).to_owned());
    let fields = SHIPPING
        .into_iter()
        .filter_map(|name| row(field_label(t, name), text(&shipping, name), text(&shipping_after, name), false));
    let rows = row(field_label(t, "state"), state(before), state(after), false).into_iter().chain(lines);
    rows.chain(row(field_label(t, "total"), total(before), total(after), false)).chain(fields).collect()
}

/// The one row of two texts of a note, if they differ.
pub(super) fn between_texts(t: Lang, before: &str, after: &str) -> Vec<Row> {
    let [opened, now] = [before, after].map(|text| Cell(Some(text.to_owned())));
    let row = Row { opened, now, ..Row::of(field_label(t, "text"), false, Side::Theirs) };
    if before == after { Vec::new() } else { vec![row] }
}

/// The order that text was typed on, if it is still known. Without it everything that differs is taken for typed.
pub(super) async fn opened(
    shop: &Shop,
    visit: &Visit,
    no: &OrderNo,
    seen: impl Into<Option<VersionToken<Order>>>,
) -> Option<Order> {
    shop.order_in(&visit.member, no, seen.into()?.version()).await.ok().flatten()
}

/// The text of a refused form that is the person's own.
pub(super) struct OwnText {
    pub(super) fields: Fields,
    /// The order on which it was typed, if that is known.
    opened: Option<Order>,
}

impl OwnText {
    /// All that was sent: which of it is their own is not known.
    pub(super) fn whole(fields: Fields) -> OwnText {
        OwnText { fields, opened: None }
    }

    /// Without what the order has, too.
    pub(super) fn without_same(self, now: &Order) -> OwnText {
        OwnText { fields: self.fields.without_same(now), ..self }
    }

    /// Without what these fields have, too.
    pub(super) fn without(self, there: &Fields) -> OwnText {
        OwnText { fields: self.fields.without(there), ..self }
    }

    /// The same in words. A line that is gone has its product in the order on which it was typed.
    pub(super) fn words(&self, t: Lang, now: Option<&Order>) -> Vec<(Html, String)> {
        typed(t, &self.fields, &now.into_iter().chain(&self.opened).collect::<Vec<_>>())
    }
}

/// What differs from the order on which it was typed, or, if that is not known, from the present one.
pub(super) async fn own_text(shop: &Shop, visit: &Visit, attempt: &Attempt<'_>, now: &Order) -> OwnText {
    let seen = attempt.seen.filter(|_| !attempt.fields.is_blank());
    let opened = opened(shop, visit, attempt.no, seen).await;
    OwnText { fields: attempt.fields.without_same(opened.as_ref().unwrap_or(now)), opened }
}

/// The same in words; if the order cannot be read, of all that was sent.
pub(super) async fn own_words(shop: &Shop, visit: &Visit, attempt: &Attempt<'_>) -> Vec<(Html, String)> {
    let t = visit.frame.t;
    match shop.order(&visit.member, attempt.no).await {
        Ok(view) => own_text(shop, visit, attempt, &view.order).await.words(t, Some(&view.order)),
        Err(_) => typed(t, attempt.fields, &[]),
    }
}

/// The typed fields that the rows do not decide: for hidden fields beside them.
pub(super) fn undecided(typed: &Fields, rows: &[Row]) -> Fields {
    let mut rest = typed.carried();
    for name in rows.iter().filter_map(|row| row.choice.as_ref()).map(|choice| &choice.name) {
        rest.drop(name);
        if let Some((line, _)) = line_of(name) {
            rest.drop(&removal(line));
        }
    }
    rest
}

/// Removes typed lines that are not in the order any more: nothing of them can be kept.
pub(super) fn without_gone_lines(mut typed: Fields, order: &Order) -> Fields {
    let is_gone = |line_no: &u32| line_in(order, *line_no).is_none();
    for line_no in typed.lines().filter(is_gone).collect::<Vec<_>>() {
        typed.drop(&quantity(line_no));
        typed.drop(&removal(line_no));
    }
    typed
}

#[cfg(test)]
mod tests;
