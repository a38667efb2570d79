//! Text that is not saved: that of a form that is gone, which only a browser has, and that which the shop was sent and keeps.

use tenure_web::form_id::FormId;

use super::compare::{self, OwnText};
use super::fields::Fields;
use super::frame::Visit;
use super::order_url;
use super::refusal::{Attempt, What};
use super::standing::Kind;
use crate::domain::{Order, OrderNo};
use crate::texts::Html;
use crate::use_cases::{Refusal, Shop, UnsavedText};

/// The box for drafts of forms that cannot be opened any more. It is hidden until the script finds one of this person.
#[derive(Debug, Clone)]
pub(super) struct Unsaved {
    /// The names of the forms, as in `data-tenure-form`, separated by `|`: an order number may contain anything but that.
    pub(super) forms: String,
    /// The address to which the script posts what is dropped.
    pub(super) text: String,
}

impl Unsaved {
    /// The forms of these kinds, of an order that is frozen, or is not there (any more).
    pub(super) fn of(kinds: &[&str], no: &str) -> Unsaved {
        let forms: Vec<_> = kinds.iter().map(|kind| format!("{kind} {no}")).collect();
        Unsaved { forms: forms.join("|"), text: format!("{}/text", order_url(no)) }
    }
}

/// Text that such a form was sent with before and that was not saved, offered above the form.
pub(super) struct Offered {
    /// The text, and the form in which it goes on.
    pub(super) text: UnsavedText,
    /// The value of the field `beside`, if that is the form above which it is offered, whose fields have not got it: its page was left by Back.
    pub(super) beside: Option<String>,
    /// What is said about it, with its beginning.
    pub(super) said: Html,
    /// The same, once it is dropped.
    pub(super) dropped: Html,
}

/// Characters of a text that is offered.
const BEGINNING: usize = 80;

impl Offered {
    /// The latest of this kind of form, one that was dropped last; above a form that has text already, what the same form was sent with after
    /// that. `now` is the order, if it is a form of that.
    ///
    /// # Errors
    /// [`Refusal::Failed`] if the database failed.
    pub(super) async fn above(
        shop: &Shop,
        visit: &Visit,
        attempt: &Attempt<'_>,
        now: Option<&Order>,
    ) -> Result<Option<Offered>, Refusal> {
        let (no, own) = (attempt.no, attempt.fields.text_of());
        let is_of = |text: &UnsavedText| is_about(text, no, |kind| kind == attempt.what.kind());
        let texts = shop.offered(&visit.member).await?.into_iter().filter(is_of);
        let text = if attempt.fields.is_blank() {
            texts.min_by_key(|text| text.is_dropped)
        } else {
            // The ids are in the order in which the texts were kept.
            let is_later = |text: &UnsavedText| Some(text.form) == own && attempt.kept.is_some_and(|id| text.id > id);
            texts.filter(|text| !text.is_dropped && is_later(text)).max_by_key(|text| text.id)
        };
        Offered::read(shop, visit, no, text, now, (attempt.fields, attempt.kept)).await
    }

    /// The latest of any form of this order.
    ///
    /// # Errors
    /// As [`above`](Self::above).
    pub(super) async fn of(shop: &Shop, visit: &Visit, now: &Order) -> Result<Option<Offered>, Refusal> {
        let (no, texts) = (now.no(), shop.unsaved(&visit.member).await?);
        let text = texts.into_iter().find(|text| is_about(text, no, |_| true));
        Offered::read(shop, visit, no, text, Some(now), (&Fields::default(), None)).await
    }

    /// What of it is not `there`, in the fields above which it is offered, which were drawn with another text.
    async fn read(
        shop: &Shop,
        visit: &Visit,
        no: &OrderNo,
        text: Option<UnsavedText>,
        now: Option<&Order>,
        (there, drawn_with): (&Fields, Option<FormId>),
    ) -> Result<Option<Offered>, Refusal> {
        let Some(text) = text else { return Ok(None) };
        let Some(own) = own(shop, visit, no, &text, now).await? else { return Ok(None) };
        let own = own.without(there);
        // It was sent twice, or put into the form again.
        if !there.is_blank() && own.fields.is_blank() {
            return Ok(None);
        }
        let words = own.words(visit.frame.t, now);
        let words = words.iter().map(|(label, value)| format!("{}: {value}", label.plain())).collect::<Vec<_>>();
        let (t, words) = (visit.frame.t, beginning(&words.join(", ")));
        let dropped = t.refused_dropped(words.as_str());
        let said = match text.is_dropped {
            true => dropped.clone(),
            false => t.refused_before(visit.frame.at(text.at), words.as_str()),
        };
        let beside = drawn_with.map(|id| id.to_string()).into_iter().chain([text.id.to_string()]);
        let beside = (Some(text.form) == there.text_of()).then(|| beside.collect::<Vec<_>>().join(" "));
        Ok(Some(Offered { beside, text, said, dropped }))
    }
}

/// Whether it is about this order, in such a form.
fn is_about(text: &UnsavedText, no: &OrderNo, is_meant: impl Fn(Kind) -> bool) -> bool {
    text.about == no.as_str() && What::from_code(&text.what).is_some_and(|what| is_meant(what.kind()))
}

/// What of it is the person's own, and not in the order of now; `None` if it is not kept any more.
async fn own(
    shop: &Shop,
    visit: &Visit,
    no: &OrderNo,
    text: &UnsavedText,
    now: Option<&Order>,
) -> Result<Option<OwnText>, Refusal> {
    let Some(kept) = shop.kept(&visit.member, no, text.id).await? else { return Ok(None) };
    let fields = Fields::sent(kept.fields);
    let (Some(now), Some(what)) = (now, What::from_code(&text.what)) else {
        return Ok(Some(OwnText::whole(fields)));
    };
    let seen = fields.text("version").parse().ok();
    let attempt = Attempt { what, no, seen, fields: &fields, kept: None };
    Ok(Some(compare::own_text(shop, visit, &attempt, now).await.without_same(now)))
}

/// After a save: text that was refused before counts as saved, if nothing of it is missing in what there is now. If that cannot be read or
/// noted, it is called unsaved for a day.
pub(super) async fn count_as_saved(shop: &Shop, visit: &Visit, attempt: &Attempt<'_>) {
    if let Err(error) = all_that_is_there(shop, visit, attempt).await {
        tracing::warn!(error = &error as &dyn std::error::Error, "which text is saved by now could not be noted");
    }
}

async fn all_that_is_there(shop: &Shop, visit: &Visit, attempt: &Attempt<'_>) -> Result<(), Refusal> {
    let (no, is_note) = (attempt.no, attempt.what.kind() == Kind::Note);
    let Ok(form) = attempt.fields.text("form_id").parse() else { return Ok(()) };
    let is_of = |text: &UnsavedText| is_about(text, no, |kind| (kind == Kind::Note) == is_note);
    let texts: Vec<_> = shop.unsaved(&visit.member).await?.into_iter().filter(is_of).collect();
    if texts.is_empty() {
        return Ok(());
    }
    let (order, note) = match is_note {
        true => (None, shop.noted(&visit.member, no).await?.note),
        false => (Some(shop.order(&visit.member, no).await?.order), None),
    };
    for text in texts {
        let Some(own) = own(shop, visit, no, &text, order.as_deref()).await? else { continue };
        let is_there = match &order {
            Some(order) => own.fields.says_nothing_new(order),
            None => note.as_ref().is_some_and(|note| note.text() == own.fields.text("text").trim()),
        };
        if is_there {
            shop.move_text(&visit.member, no, text.form, Some(form)).await?;
        }
    }
    Ok(())
}

/// The beginning of a text, in one line.
fn beginning(text: &str) -> String {
    let mut letters = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if letters.chars().count() > BEGINNING {
        letters = letters.chars().take(BEGINNING).chain(['…']).collect();
    }
    if letters.is_empty() { "–".to_owned() } else { letters }
}
