//! What a page shows about others, and shows anew while it is open: the pages and the answers to their questions have the same words.
//!
//! Nothing here changes by time alone: a time is that of something that happened, or that will.

use tenure::lease::{Holder, Presence};
use tenure::version::Change;
use tenure::{Owner, Version};
use tenure_web::leases::was_left_by;
use tenure_web::verdict::{Facts, Verdict, decide, free_at};

use super::face::Face;
use super::frame::Frame;
use super::icon::Icon;
use super::standing::each_person_once;
use crate::domain::OrderState;
use crate::texts::Html;
use crate::use_cases::{Known, OrderNow, OrderRow, Person, Shop};

/// Names beside each other before the rest is counted.
const NAMED: usize = 3;

/// A state, from the list of states, and its words.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) state: &'static str,
    pub(super) html: Html,
}

/// Who has it open, and whether somebody is there.
pub(super) fn holder(f: &Frame, shop: &Shop, holder: &Holder) -> Html {
    let (t, owner, is_me) = (f.t, &holder.owner, f.is_me(&holder.owner));
    match holder.presence() {
        Presence::Unreachable if is_me => {
            let free = free_at(holder, &shop.locks().policy(holder.key.kind()));
            t.own_page_silent(f.at(holder.last_active), f.at(free))
        }
        _ if is_me => t.held_by_you(f.at(holder.since)),
        Presence::Idle => t.idle_since(owner, f.at(holder.last_input)),
        Presence::Unreachable => {
            let free = free_at(holder, &shop.locks().policy(holder.key.kind()));
            t.silent_since(owner, f.at(holder.last_active), f.at(free))
        }
        _ => t.held_by(owner, f.at(holder.since)),
    }
}

/// The class of the sign of somebody who is there, or not.
pub(super) fn presence(holder: &Holder) -> &'static str {
    match holder.presence() {
        Presence::Idle => "idle",
        Presence::Unreachable => "silent",
        _ => "active",
    }
}

/// The same of one's own page: a page that does not answer is nobody who edits.
fn own_class(holder: &Holder) -> &'static str {
    if holder.presence() == Presence::Unreachable { "silent" } else { "mine" }
}

/// The verdict of a page without a form, with the holders as its viewer sees them.
pub(super) fn verdict(f: &Frame, me: &Owner, state: OrderState, holders: Vec<Holder>) -> Verdict<OrderState> {
    let holders = holders.into_iter().map(|holder| f.sees(holder)).collect();
    decide(me, Facts::of_a_look((!state.is_changeable()).then_some(state), holders))
}

/// The cell of an order in the list: who is editing it.
pub(super) fn editing(f: &Frame, shop: &Shop, me: &Owner, state: OrderState, holders: Vec<Holder>) -> Said {
    match verdict(f, me, state, holders) {
        Verdict::Elsewhere { holder: own, .. } => chip("OL-4", own_class(&own), &own.owner, holder(f, shop, &own)),
        Verdict::Taken { holder: other, .. } => {
            let of = presence(&other);
            let state = match of {
                "idle" => "OL-5",
                "silent" => "OL-6",
                _ => "OL-2",
            };
            chip(state, of, &other.owner, holder(f, shop, &other))
        }
        _ => Said { state: "OL-1", html: Html::text("") },
    }
}

fn chip(state: &'static str, class: &str, owner: &Owner, words: Html) -> Said {
    let face = Face(owner);
    let title = Html::text(words.plain());
    let html = format!(
        r#"<span class="held {class}" data-state="{state}" title="{title}">{face}<span class="words">{words}</span></span>"#
    );
    Said { state, html: Html::trusted(html) }
}

/// The cell of an order in the list now, for a page that shows it at this version.
pub(super) fn row(
    f: &Frame,
    shop: &Shop,
    me: &Owner,
    shown: Version,
    now: Option<OrderNow>,
    change: Option<Change>,
) -> Said {
    let t = f.t;
    let Some(OrderNow { known, holders, freed }) = now else {
        return flat("OL-9", "gone", "cross", t.row_gone().into());
    };
    let (said, is_old) = (editing(f, shop, me, known.state, holders), shown != known.version);
    let said = match said.state {
        "OL-1" if is_old => flat("OL-8", "changed", "info", saved(f, &known, change)),
        "OL-1" if freed => flat("OL-7", "free", "check", t.free_now().into()),
        _ => said,
    };
    // Beside the words, which may be longer than the cell; also where somebody edits it again, because the rest of the row is older.
    let show = |html: Html| Html::trusted(format!(r#"<span class="news">{html}{}</span>"#, show_again(f)));
    if is_old { Said { html: show(said.html), ..said } } else { said }
}

fn flat(state: &'static str, class: &str, icon: &'static str, words: Html) -> Said {
    let (icon, title) = (Icon(icon), Html::text(words.plain()));
    let html = format!(
        r#"<span class="held {class}" data-state="{state}" title="{title}">{icon}<span class="words">{words}</span></span>"#
    );
    Said { state, html: Html::trusted(html) }
}

/// Who made this version, by which command, and when.
pub(super) fn saved(f: &Frame, known: &Known, change: Option<Change>) -> Html {
    let t = f.t;
    let Some(change) = change else { return t.changed_now(known.version) };
    let who = match &change.by {
        Some(by) if f.is_me(by) => t.you().into(),
        Some(by) => t.person(by),
        None => t.somebody().into(),
    };
    t.saved_now(who, change.version, t.command(change.command.as_deref()), f.at(change.at))
}

/// A link that loads the page again.
pub(super) fn show_again(f: &Frame) -> Html {
    Html::trusted(format!(r#"<a href="">{}</a>"#, Html::text(f.t.show_it())))
}

/// The line of an order's page about its editor. `state` is that of the page.
pub(super) fn line(f: &Frame, shop: &Shop, verdict: &Verdict<OrderState>, freed: bool) -> Said {
    let t = f.t;
    let of = |holder: &Holder, class: &str, more: &str| {
        let words = self::holder(f, shop, holder);
        let more = Html::text(more);
        Html::trusted(format!(
            r#"<span class="held {class}">{}<span class="words"><strong>{words}</strong> <span class="more">{more}</span></span></span>"#,
            Face(&holder.owner)
        ))
    };
    let quiet = |words: &str, icon: &'static str, class: &str| {
        Html::trusted(format!(
            r#"<span class="held {class}">{}<span class="words">{}</span></span>"#,
            Icon(icon),
            Html::text(words)
        ))
    };
    match verdict {
        Verdict::Elsewhere { holder, .. } => {
            let class = own_class(holder);
            let more = if class == "silent" { t.own_page_gone() } else { t.you_edit_elsewhere() };
            Said { state: "OV-3", html: of(holder, &format!("{class} elsewhere"), more) }
        }
        Verdict::Taken { holder, .. } => {
            Said { state: "OV-2", html: of(holder, presence(holder), t.others_can_read()) }
        }
        Verdict::Frozen(OrderState::Cancelled) => {
            Said { state: "OV-6", html: quiet(t.not_changeable_cancelled(), "info", "nobody") }
        }
        Verdict::Frozen(_) => Said { state: "OV-6", html: quiet(t.not_changeable_shipped(), "info", "nobody") },
        _ if freed => Said { state: "OV-1", html: quiet(t.free_now(), "check", "free") },
        _ => Said { state: "OV-1", html: quiet(t.nobody_here(), "check", "nobody") },
    }
}

/// That the order was saved since the page was loaded; nothing if it was not.
pub(super) fn changed(f: &Frame, known: &Known, shown: Option<Version>, change: Option<Change>) -> Html {
    if shown.is_none_or(|shown| shown == known.version) {
        return Html::text("");
    }
    Html::trusted(format!("<p><span>{}</span> {}</p>", saved(f, known, change), show_again(f)))
}

/// Who else looks at the page: their signs, and their names for all. Customers see that somebody of the shop does.
pub(super) fn people(f: &Frame, state: &str, others: &[Person], holders: &[Holder]) -> Html {
    let t = f.t;
    let staff = f.staff();
    let mut seen: Vec<&Owner> = Vec::new();
    // Who edits it is said already.
    let edits = |person: &&Person| holders.iter().any(|holder| holder.owner.id == person.owner.id);
    for person in others.iter().filter(|person| !edits(person)) {
        let owner = if person.is_staff && !f.is_operator() { &staff } else { &person.owner };
        if seen.iter().all(|known| known.id != owner.id) {
            seen.push(owner);
        }
    }
    if seen.is_empty() {
        return Html::text("");
    }
    let shown = &seen[..seen.len().min(NAMED)];
    let faces: String = shown.iter().map(|owner| Face(owner).to_string()).collect();
    let names = t.names(&shown.iter().map(|owner| owner.name.clone()).collect::<Vec<_>>());
    let names = if seen.len() > NAMED { t.and_more(names, seen.len() - NAMED) } else { names };
    let words = if seen.len() == 1 { t.looking_one(names) } else { t.looking_many(names) };
    Html::trusted(format!(
        r#"<span class="people" data-state="{state}">{faces}<span class="words">{words}</span></span>"#
    ))
}

/// The cell of an order that was just read for the list.
pub(super) fn cell(f: &Frame, shop: &Shop, row: &OrderRow) -> Html {
    let Some(me) = f.member.as_ref().map(crate::domain::Member::owner) else { return Html::text("") };
    editing(f, shop, &me, row.state, row.editing.clone().into_iter().collect()).html
}

/// Who has the note open, each person once. Who left it knows that, also while its lease still has a moment.
pub(super) fn note_editors(f: &Frame, holders: &[Holder]) -> Html {
    let t = f.t;
    let line = |holder: &Holder| {
        let (words, class) = match f.is_me(&holder.owner) {
            true => (t.held_note_by_you(f.at(holder.since)), "mine"),
            false => (t.held_note_by(&holder.owner, f.at(holder.since)), presence(holder)),
        };
        format!(r#"<p class="held {class}">{}<span class="words">{words}</span></p>"#, Face(&holder.owner))
    };
    let has_left = |holder: &Holder| f.member.as_ref().is_some_and(|me| was_left_by(holder, me.id().as_str()));
    let open = holders.iter().filter(|holder| !has_left(holder));
    Html::trusted(each_person_once(open).into_iter().map(line).collect())
}

/// That the note was saved since the page was loaded.
pub(super) fn note_changed(f: &Frame) -> Html {
    let (icon, words) = (Icon("info"), Html::text(f.t.note_changed()));
    Html::trusted(format!(r#"<p class="held changed">{icon}<span class="words">{words}</span> {}</p>"#, show_again(f)))
}

/// The cells of a lease in the console: who, with whether somebody is there; and when it is free. `None`: it has ended.
pub(super) fn lease(f: &Frame, shop: &Shop, holder: Option<&Holder>) -> [Html; 2] {
    let Some(holder) = holder else {
        return [flat("AC-5", "gone", "unlock", f.t.lease_ended().into()).html, Html::text("–")];
    };
    let words = match holder.presence() {
        Presence::Active => f.t.last_input_at(f.at(holder.last_input)),
        Presence::Idle => f.t.no_input_since(f.at(holder.last_input)),
        _ => f.t.no_answer_since(f.at(holder.last_active)),
    };
    let name = Html::text(&holder.owner.name);
    let you = if f.is_me(&holder.owner) { format!(" {}", Html::text(f.t.this_is_you())) } else { String::new() };
    let who = format!(
        r#"<span class="held {}">{}<span class="words"><bdi>{name}</bdi>{you} <span class="more">{words}</span></span></span>"#,
        presence(holder),
        Face(&holder.owner)
    );
    let free = free_at(holder, &shop.locks().policy(holder.key.kind()));
    [Html::trusted(who), Html::trusted(f.at(free).to_string())]
}

/// How many leases there are, or how many of those on the page, if it is not all.
pub(super) fn count(f: &Frame, is_part: bool, count: usize) -> Html {
    if is_part { f.t.locks_on_this_page(count) } else { f.t.locks_count(count) }
}

/// That more was opened than the console, or the list of what is edited, shows.
pub(super) fn more_opened(f: &Frame, count: usize) -> Html {
    match count {
        0 => Html::text(""),
        count => other_by_now(f, f.t.leases_new(count)),
    }
}

/// That nothing of this type is held; of any type, if none is named.
pub(super) fn none_held(f: &Frame, kind: &str) -> Html {
    let (none, more) = match kind {
        "Order" => (f.t.nobody_edits_an_order(), f.t.nobody_edits_an_order_more()),
        "Note" => (f.t.nobody_edits_a_note(), f.t.nobody_edits_a_note_more()),
        _ => (f.t.nobody_is_editing(), f.t.nobody_is_editing_more()),
    };
    Html::trusted(format!("<p><strong>{}</strong></p><p>{}</p>", Html::text(none), Html::text(more)))
}

/// That the list of what is edited shows some that are not any more.
pub(super) fn some_ended(f: &Frame) -> Html {
    other_by_now(f, f.t.some_ended().into())
}

fn other_by_now(f: &Frame, words: Html) -> Html {
    Html::trusted(format!("<p><span>{words}</span> {}</p>", show_again(f)))
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;
    use crate::domain::{Member, MemberId, Role};

    fn frame(role: Role) -> Frame {
        let (mut parts, ()) = Request::new(()).into_parts();
        let id = MemberId::new("park").expect("an id");
        parts.extensions.insert(Member::new(id, "박서연", role, "hash").expect("a member"));
        Frame::bare(&parts)
    }

    fn persons(count: usize, is_staff: bool) -> Vec<Person> {
        (0..count).map(|at| Person { owner: Owner::new(format!("m{at}"), format!("M{at}")), is_staff }).collect()
    }

    #[test]
    fn fifty_viewers_are_three_names_and_a_number() {
        let said = people(&frame(Role::Operator), "OV-4", &persons(50, true), &[]);
        assert_eq!(said.to_string().matches("class=\"face").count(), NAMED);
        assert!(said.plain().ends_with("M0, M1, M2 and 47 more are looking at this order"), "{}", said.plain());
        assert_eq!(people(&frame(Role::Operator), "OV-4", &[], &[]).plain(), "");
    }

    #[test]
    fn customers_see_the_staff_as_one() {
        let said = people(&frame(Role::Customer), "OV-4", &persons(50, true), &[]);
        assert!(said.plain().ends_with("Somebody at the shop is looking at this order"), "{}", said.plain());
        assert!(!said.to_string().contains("M0"), "{said}");
    }
}
