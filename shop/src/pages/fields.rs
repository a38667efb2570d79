//! The fields of a submitted form: names and values, in the order in which the browser sent them.

use sha2::{Digest, Sha256};
use tenure_web::form_id::FormId;
use unicode_normalization::UnicodeNormalization;

use super::compare::line_in;
use crate::domain::{Order, OrderLine, ShippingInfo};

/// The names of the fields of [`ShippingInfo`], which are the paths in the domain's refusals.
pub(crate) const SHIPPING: [&str; 6] =
    ["receiver.name", "receiver.phone", "address.postal_code", "address.line1", "address.line2", "message"];
/// The three fields of an added line. They repeat, once per line.
pub(crate) const NEW_LINE: [&str; 3] = ["new-product", "new-price", "new-quantity"];
/// The value of a quantity field that removes the line.
pub(crate) const REMOVE: &str = "remove";

/// Of a kept form: the version that the form had saved before.
pub(crate) const SAVED_BEFORE: &str = "saved-before";

/// Of a form that is edited again after a comparison: in words, what was typed about products that others have removed.
pub(crate) const GONE: &str = "gone";

/// Fields of one page that are not typed text: never carried on to the next page.
const OF_THE_PAGE: [&str; 23] = [
    "csrf",
    "lid",
    "form_id",
    "next-form",
    "nth",
    "person",
    "kept",
    "version",
    "generation",
    "anyway",
    "edit-first",
    "apply",
    "both",
    "mine",
    "more",
    "keep",
    "password",
    "what",
    "text-of",
    "beside",
    SAVED_BEFORE,
    GONE,
    "drop",
];

/// Names of other form fields. Those of lines have a number as suffix.
const OTHERS: [&str; 14] = [
    "after",
    "id",
    "kind",
    "login",
    "next",
    "password-again",
    "password-new",
    "password-old",
    "pieces",
    "product",
    "reason",
    "session",
    "text",
    "type",
];

/// Size limits for displaying an unvalidated form: of a field, of the text of a note, and of all fields.
const SHOWN_OF_A_FIELD: usize = 2 * 1024;
const SHOWN_OF_A_TEXT: usize = 16 * 1024;
const SHOWN_OF_ALL: usize = 20 * 1024;

/// Fields as they are sent.
pub(crate) type Pairs = Vec<(String, String)>;

/// The fields of a form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields(Pairs);

impl Fields {
    /// The fields that a browser sent, normalized: line breaks arrive as `\r\n`; and what looks the same, such as Hangul from a file name of
    /// macOS, is the same.
    pub(crate) fn sent(pairs: Pairs) -> Fields {
        let plain = |text: String| text.replace("\r\n", "\n").nfc().collect();
        Fields(
            pairs
                .into_iter()
                .map(|(name, value)| if is_password(&name) { (name, value) } else { (name, plain(value)) })
                .collect(),
        )
    }

    /// The fields that a form sent, without unknown ones.
    pub(crate) fn posted(pairs: Pairs) -> Fields {
        Fields::sent(pairs.into_iter().filter(|(name, _)| is_known(name)).collect())
    }

    /// The part of an unaccepted form that is displayed: no more than forms have, for any amount
    /// that was sent.
    pub(crate) fn shown_unseen(self) -> Fields {
        let most = |name: &str| if name == "text" { SHOWN_OF_A_TEXT } else { SHOWN_OF_A_FIELD };
        let fits = |(name, value): &(String, String)| value.len() <= most(name);
        let pairs: Pairs = self.0.into_iter().filter(fits).collect();
        let size: usize = pairs.iter().map(|(name, value)| name.len() + value.len()).sum();
        if size <= SHOWN_OF_ALL { Fields(pairs) } else { Fields::default() }
    }

    /// As if the person had typed this delivery address.
    pub(crate) fn of_shipping(info: &ShippingInfo) -> Fields {
        let (receiver, address) = (info.receiver(), info.address());
        let values =
            [&receiver.name, &receiver.phone, &address.postal_code, &address.line1, &address.line2, info.message()];
        Fields(SHIPPING.into_iter().zip(values).map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// Without what the order says as well: the text that is the person's own.
    pub(crate) fn without_same(&self, order: &Order) -> Fields {
        let same = Fields::of_shipping(order.shipping()).with_lines(order.lines());
        let is_removed = |name: &str| line_of_quantity(name).is_some_and(|line_no| self.removes(line_no));
        let differs = |(name, value): &&(String, String)| same.get(name) != Some(value.trim()) || is_removed(name);
        Fields(self.0.iter().filter(differs).cloned().collect())
    }

    /// Without the fields that these have with the same value.
    pub(crate) fn without(&self, there: &Fields) -> Fields {
        Fields(self.0.iter().filter(|pair| !there.0.contains(pair)).cloned().collect())
    }

    /// Whether nothing was typed that the order does not say as well.
    pub(crate) fn says_nothing_new(&self, order: &Order) -> bool {
        let rest = self.without_same(order).carried();
        rest.iter().all(|(name, value)| NEW_LINE.contains(&name) && value.trim().is_empty())
    }

    /// As if the person had typed the quantities of these lines as well.
    pub(crate) fn with_lines(mut self, lines: &[OrderLine]) -> Fields {
        self.0.extend(lines.iter().map(|line| (quantity(line.line_no()), line.quantity().to_string())));
        self
    }

    /// The first value of a field, if it was sent.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a field, or an empty text if it was not sent.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// Whether a field was sent, with any value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// All values of a repeated field.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Every field.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Sets a field to one value, where it was or at the end.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value.to_owned(),
            None => self.0.push((name.to_owned(), value.to_owned())),
        }
    }

    /// Removes a field.
    pub(crate) fn drop(&mut self, name: &str) {
        self.0.retain(|(key, _)| key != name);
    }

    /// Replaces the rows of added lines.
    pub(crate) fn replace_rows(&mut self, rows: &[[String; 3]]) {
        self.0.retain(|(name, _)| !NEW_LINE.contains(&name.as_str()));
        let named = |row: &[String; 3]| std::array::from_fn::<_, 3, _>(|at| (NEW_LINE[at].to_owned(), row[at].clone()));
        self.0.extend(rows.iter().flat_map(named));
    }

    /// The typed fields, without those of the page: for hidden fields of the next page.
    pub(crate) fn carried(&self) -> Fields {
        Fields(self.0.iter().filter(|(name, _)| !is_of_the_page(name)).cloned().collect())
    }

    /// Everything except the fields that the next page adds itself: for hidden fields of a page that sends the same form again.
    pub(crate) fn again(&self) -> Fields {
        let kept = self.0.iter().filter(|(name, _)| name != "csrf" && !is_password(name));
        Fields(kept.cloned().collect())
    }

    /// The fields of the page, to send the form again together with its kept text.
    pub(crate) fn of_the_page(&self) -> Fields {
        let of_page = ["lid", "form_id", "version", "both", "mine", "anyway"];
        Fields(self.0.iter().filter(|(name, _)| of_page.contains(&name.as_str())).cloned().collect())
    }

    /// These fields, completed by the kept ones of the form.
    pub(crate) fn over(mut self, kept: Pairs) -> Fields {
        let kept = Fields(kept);
        let of_page = ["version", "text-of", GONE].map(|name| Some((name.to_owned(), kept.get(name)?.to_owned())));
        let decided = |name: &str| {
            let line = name.strip_prefix("remove-").and_then(|line| line.parse().ok());
            self.has(name) || line.is_some_and(|line| self.has(&quantity(line)))
        };
        // What a comparison leaves to its person is on the order of now: a line that they removed has its number of now, if they keep it.
        let is_on_now = self.has("apply");
        let on_now = |(name, value): (String, String)| match line_of_quantity(&name) {
            Some(line_no) if is_on_now && kept.removes(line_no) => (name, REMOVE.to_owned()),
            _ => (name, value),
        };
        let rest: Pairs = kept
            .carried()
            .0
            .into_iter()
            .chain(of_page.into_iter().flatten())
            .filter(|(name, _)| !decided(name))
            .map(on_now)
            .collect();
        self.0.extend(rest);
        self
    }

    /// The fields to keep: without the secrets, and without where the text was before.
    pub(crate) fn to_keep(&self) -> Pairs {
        let is_left_out = |name: &str| {
            ["csrf", "lid", "kept", "text-of", "beside", SAVED_BEFORE].contains(&name) || is_password(name)
        };
        self.0.iter().filter(|(name, _)| !is_left_out(name)).cloned().collect()
    }

    /// The form whose text it is: this one, if it does not name another.
    pub(crate) fn text_of(&self) -> Option<FormId> {
        self.text(if self.has("text-of") { "text-of" } else { "form_id" }).parse().ok()
    }

    /// The last text of the form that its fields have not got, and the text after which the form was sent with that: the one with which the page was drawn.
    pub(crate) fn beside(&self) -> Option<(Option<FormId>, FormId)> {
        let (after, last) = self.text("beside").rsplit_once(' ').unwrap_or(("", self.text("beside")));
        Some((after.parse().ok(), last.parse().ok()?))
    }

    /// A digest of typed and chosen values: equal for a form that is sent again, on any version.
    pub(crate) fn digest(&self) -> String {
        let chosen = self.0.iter().filter(|(name, _)| ["both", "mine", "anyway"].contains(&name.as_str()));
        let sent: Vec<_> = self.carried().0.into_iter().chain(chosen.cloned()).collect();
        let text = serde_json::to_string(&sent).unwrap_or_default();
        Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether there is no typed text that the next page has to carry.
    pub(crate) fn is_blank(&self) -> bool {
        self.carried().0.is_empty()
    }

    /// The line numbers that have a quantity field.
    pub(crate) fn lines(&self) -> impl Iterator<Item = u32> {
        self.0.iter().filter_map(|(name, _)| line_of_quantity(name))
    }

    /// Whether a line is removed.
    pub(crate) fn removes(&self, line_no: u32) -> bool {
        self.has(&removal(line_no)) || self.get(&quantity(line_no)) == Some(REMOVE)
    }

    /// Whether a line is kept that this order does not have.
    pub(crate) fn keeps_more_than(&self, order: &Order) -> bool {
        self.lines().any(|line_no| !self.removes(line_no) && line_in(order, line_no).is_none())
    }

    /// Whether lines are added or removed.
    pub(crate) fn changes_rows(&self) -> bool {
        self.lines().any(|line_no| self.removes(line_no))
            || NEW_LINE.iter().any(|name| self.all(name).any(|value| !value.trim().is_empty()))
    }
}

fn is_password(name: &str) -> bool {
    name.starts_with("password")
}

fn is_of_the_page(name: &str) -> bool {
    OF_THE_PAGE.contains(&name) || is_password(name)
}

/// Whether a form has such a field.
fn is_known(name: &str) -> bool {
    let of_line = ["quantity-", "remove-"].iter().find_map(|prefix| name.strip_prefix(prefix));
    let is_listed = [&SHIPPING[..], &NEW_LINE, &OTHERS, &OF_THE_PAGE].iter().any(|names| names.contains(&name));
    is_listed || of_line.is_some_and(|line| line.parse::<u32>().is_ok())
}

/// The name of a line's quantity field.
pub(crate) fn quantity(line_no: u32) -> String {
    format!("quantity-{line_no}")
}

/// The line whose quantity field has this name.
fn line_of_quantity(name: &str) -> Option<u32> {
    name.strip_prefix("quantity-")?.parse().ok()
}

/// The name of a line's check box for removal.
pub(crate) fn removal(line_no: u32) -> String {
    format!("remove-{line_no}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        Fields::sent(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
    }

    #[test]
    fn a_repeated_field_keeps_its_order_and_a_missing_one_is_empty() {
        let typed = fields(&[("new-product", "tea"), ("message", "a\r\nb"), ("new-product", "cup")]);
        assert_eq!(typed.all("new-product").collect::<Vec<_>>(), ["tea", "cup"]);
        assert_eq!((typed.text("message"), typed.text("nothing")), ("a\nb", ""));
        assert!(!typed.has("nothing"));
    }

    #[test]
    fn composed_and_decomposed_text_is_the_same_but_not_in_a_password() {
        let sent = |name| [("\u{1112}\u{1161}\u{11ab}", ""), ("\u{d55c}", "")].map(|(text, _)| fields(&[(name, text)]));
        let [decomposed, composed] = sent("text");
        assert_eq!(decomposed, composed);
        let [decomposed, composed] = sent("password");
        assert_ne!(decomposed, composed);
    }

    #[test]
    fn only_typed_fields_are_carried_to_the_next_page() {
        let typed = fields(&[("csrf", "x"), ("lid", "y"), ("version", "7"), ("message", "hi"), ("password", "p")]);
        assert_eq!(typed.carried(), fields(&[("message", "hi")]));
        assert!(fields(&[("csrf", "x")]).is_blank());
    }

    #[test]
    fn line_is_removed_by_check_box_or_word() {
        let typed = fields(&[
            ("quantity-1", "2"),
            ("quantity-3", REMOVE),
            ("quantity-x", "1"),
            ("quantity-4", "1"),
            ("remove-4", "on"),
        ]);
        assert_eq!(typed.lines().collect::<Vec<_>>(), [1, 3, 4]);
        assert_eq!([1, 3, 4].map(|line| typed.removes(line)), [false, true, true]);
    }

    #[test]
    fn resent_fields_overwrite_kept_ones() {
        let kept = fields(&[
            ("version", "v1"),
            ("message", "hi"),
            ("quantity-1", "2"),
            ("quantity-2", "1"),
            ("remove-2", "on"),
        ]);
        let sent = fields(&[("version", "v2"), ("quantity-2", "5"), ("kept", "7")]).over(kept.to_keep());
        assert_eq!((sent.text("version"), sent.text("message"), sent.text("quantity-1")), ("v2", "hi", "2"));
        assert_eq!((sent.text("quantity-2"), sent.removes(2)), ("5", false));
        assert_eq!(fields(&[("kept", "7")]).over(kept.to_keep()).text("version"), "v1");
    }

    #[test]
    fn neither_tokens_nor_lock_ids_nor_passwords_are_kept() {
        let sent = fields(&[
            ("csrf", "x"),
            ("lid", "y"),
            ("password", "p"),
            ("password-new", "q"),
            ("form_id", "f"),
            ("message", "hi"),
        ]);
        assert_eq!(Fields(sent.to_keep()), fields(&[("form_id", "f"), ("message", "hi")]));
    }

    #[test]
    fn unknown_fields_are_ignored_and_hidden_ones_not_shown() {
        let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        let sent = Fields::posted(pairs(&[("message", "hi"), ("x", "y"), ("quantity-x", "1"), ("quantity-2", "1")]));
        assert_eq!(sent, fields(&[("message", "hi"), ("quantity-2", "1")]));
        let (long, note) = ("x".repeat(3_000), "가".repeat(4_000));
        let shown = fields(&[("message", &long), ("phone", "1"), ("text", &note)]).shown_unseen();
        assert_eq!(shown, fields(&[("phone", "1"), ("text", &note)]));
        let many: Vec<_> = (0..3_000).map(|line| (quantity(line), "1".to_owned())).collect();
        assert_eq!(Fields::sent(many).shown_unseen(), Fields::default());
    }

    #[test]
    fn a_field_can_be_replaced() {
        let mut typed = fields(&[("a", "1"), ("b", "2")]);
        typed.set("a", "3");
        typed.set("c", "4");
        typed.drop("b");
        assert_eq!(typed, fields(&[("a", "3"), ("c", "4")]));
    }
}
