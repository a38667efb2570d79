//! The inputs of an order's form: its shipping details and its lines.

use super::fields::{Fields, NEW_LINE, REMOVE, SHIPPING, quantity};
use super::input::{Input, Kind, Mistake};
use super::read::{is_line, new_line_id, new_lines, new_rows};
use crate::domain::{Order, OrderLine, ShippingInfo};
use crate::texts::{Html, Lang, field_label};

/// How a form is rendered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style<'a> {
    /// The language.
    pub(crate) t: Lang,
    /// The mistakes in the typed text.
    pub(crate) mistakes: &'a [Mistake],
    /// Whether it is the person's own order. Then the browser may autofill; operators enter
    /// addresses of others.
    pub(crate) own: bool,
    /// Whether the form is read-only, for copying.
    pub(crate) readonly: bool,
}

/// The inputs of the delivery address; `base` is the order that the text was typed on.
pub(crate) fn shipping_inputs(style: Style<'_>, typed: &Fields, base: &Fields) -> Vec<Input> {
    let t = style.t;
    let about = |name| match name {
        "receiver.name" => (Kind::Text, "", "", "shipping name"),
        "receiver.phone" => (Kind::Phone, t.hint_phone(), "", "shipping tel"),
        "address.postal_code" => (Kind::Code, "", "", "shipping postal-code"),
        "address.line1" => (Kind::Text, "", "", "shipping address-line1"),
        "address.line2" => (Kind::Text, "", t.optional(), "shipping address-line2"),
        _ => (Kind::Lines, "", t.optional(), "off"),
    };
    let input = |name: &'static str| {
        let (kind, hint, optional, autocomplete) = about(name);
        let autocomplete = if style.own { autocomplete } else { "off" };
        let input = Input::new(name, field_label(t, name), typed.text(name), kind, style.mistakes);
        let input = input.hint(if style.readonly { "" } else { hint }).optional(optional);
        let input = if name == "message" { input.counted(t, ShippingInfo::MESSAGE_MAX) } else { input };
        input.autocomplete(autocomplete).readonly(style.readonly).base(base.text(name))
    };
    SHIPPING.into_iter().map(input).collect()
}

/// A line of an order in a form.
pub(crate) struct LineInput {
    pub(crate) line_no: u32,
    pub(crate) product: String,
    pub(crate) price: Html,
    pub(crate) quantity: Input,
    pub(crate) removed: bool,
}

/// The lines of the order, with the typed quantities. A line of which nothing was typed shows its quantity in the version that the text was
/// typed on, so that the change of another person is not taken for typed; its own, if it was not in that version. `base` is as for
/// [`shipping_inputs`].
pub(crate) fn line_inputs<'a>(style: Style<'_>, order: &Order, typed: &'a Fields, base: &'a Fields) -> Vec<LineInput> {
    let input = |line: &OrderLine| {
        let (name, removed) = (quantity(line.line_no()), typed.removes(line.line_no()));
        let own = line.quantity().to_string();
        // The field of a removed line may contain the word for it; the line's number returns when it stays.
        let number = |fields: &'a Fields| fields.get(&name).filter(|text| *text != REMOVE);
        let base = number(base).unwrap_or(&own);
        let value = number(typed).unwrap_or(base);
        let label = style.t.line_quantity(line.product());
        let quantity =
            Input::new(&name, label, value, Kind::Number, style.mistakes).readonly(style.readonly).base(base);
        let (product, price) = (line.product().to_owned(), style.t.money(line.price()));
        LineInput { line_no: line.line_no(), product, price, quantity, removed }
    };
    order.lines().iter().map(input).collect()
}

/// The inputs of added lines: the typed ones, and an empty one if another is wanted, where the page begins then. Customers get
/// none, because they do not set prices.
pub(crate) fn new_line_inputs(style: Style<'_>, typed: &Fields) -> Vec<[Input; 3]> {
    // An empty row stays in a form: the text of a draft has as many rows.
    let mut rows = if style.readonly { new_lines(typed) } else { new_rows(typed).collect() };
    let needs_one = rows.last().is_none_or(|last| typed.has("more") && is_line(last));
    if !style.readonly && !style.own && needs_one {
        rows.push([""; 3]);
    }
    let labels = [style.t.product(), style.t.price_in_won(), style.t.quantity()];
    let kinds = [Kind::Text, Kind::Number, Kind::Number];
    let input = |row: usize, values: [&str; 3], at: usize| {
        let id = new_line_id(at, row);
        let input = Input::with_id(id, NEW_LINE[at], labels[at], values[at], kinds[at], style.mistakes);
        let is_wanted = typed.has("more") && at == 0 && values == [""; 3];
        input.readonly(style.readonly).base("").focused(is_wanted)
    };
    let inputs = |(row, values)| [0, 1, 2].map(|at| input(row, values, at));
    rows.into_iter().enumerate().map(inputs).collect()
}
