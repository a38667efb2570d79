//! The order in a form: the inputs of its shipping details and of its lines.

use super::fields::{Fields, NEW_LINE, SHIPPING, quantity};
use super::input::{Input, Kind, Mistake};
use super::read::{new_line_id, new_lines};
use crate::domain::{Order, OrderLine};
use crate::texts::{Html, Lang, field_label};

/// How a form is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style<'a> {
    /// In which language.
    pub(crate) t: Lang,
    /// What is wrong with what was typed.
    pub(crate) mistakes: &'a [Mistake],
    /// Whether it is the person's own order. Then the browser may offer what it knows of them; operators write down
    /// where others live.
    pub(crate) own: bool,
    /// Whether the form is only there to be read and copied.
    pub(crate) readonly: bool,
}

/// The inputs that say where an order goes, and what the order says (`base`), where that is not what was typed.
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

/// The lines of the order, with the quantities that were typed. A line that the form did not know yet has its own.
pub(crate) fn line_inputs(style: Style<'_>, order: &Order, typed: &Fields) -> Vec<LineInput> {
    let input = |line: &OrderLine| {
        let (name, removed) = (quantity(line.line_no()), typed.removes(line.line_no()));
        let own = line.quantity().to_string();
        // A line that goes has the word for it in its field; the number it had is what comes back when it stays.
        let value = typed.get(&name).filter(|_| !removed).unwrap_or(&own);
        let label = style.t.line_quantity(line.product());
        let quantity =
            Input::new(&name, label, value, Kind::Number, style.mistakes).readonly(style.readonly).base(&own);
        let (product, price) = (line.product().to_owned(), style.t.money(line.price()));
        LineInput { line_no: line.line_no(), product, price, quantity, removed }
    };
    order.lines().iter().map(input).collect()
}

/// The inputs of the lines that are added: those that were typed, and an empty one if another is wanted. Customers are
/// not offered any: a price is nothing that they could know.
pub(crate) fn new_line_inputs(style: Style<'_>, typed: &Fields) -> Vec<[Input; 3]> {
    let mut rows = new_lines(typed);
    if !style.readonly && !style.own && (rows.is_empty() || typed.has("more")) {
        rows.push([""; 3]);
    }
    let labels = [style.t.product(), style.t.price_in_won(), style.t.quantity()];
    let kinds = [Kind::Text, Kind::Number, Kind::Number];
    let input = |row: usize, values: [&str; 3], at: usize| {
        let id = new_line_id(at, row);
        let input = Input::with_id(id, NEW_LINE[at], labels[at], values[at], kinds[at], style.mistakes);
        input.readonly(style.readonly).base("")
    };
    let inputs = |(row, values)| [0, 1, 2].map(|at| input(row, values, at));
    rows.into_iter().enumerate().map(inputs).collect()
}
