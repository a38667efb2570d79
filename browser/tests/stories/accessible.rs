//! Accessibility: axe-core finds nothing on any page, and the focused element is never covered.

use std::time::Duration;

use browser::{EDIT, Key, ORDER, Person, Story};

use super::saves;

const SHIPPING: &str = "/orders/2026-000300/shipping";
const SHIP: &str = "form[action$='/start-shipping'] button";
const NOTE: &str = "form[action$='/note/edit'] button";
const SAVE: &str = "[data-tenure-action=save]";
const LEAVE: &str = "[form=leave]";
const NAME: &str = "[name='receiver.name']";
const STREET: &str = "[name='address.line1']";
const HELD: &str = "form[data-tenure-state=held]";
const REFUSED: &str = "form[data-tenure-state=refused]";
const LOST: &str = "form[data-tenure-state=lost]";

/// More than the time to live of a lease.
const LUNCH: Duration = Duration::from_secs(301);

/// A phone and a desktop; the desktop last, for the following steps.
const SCREENS: [(&str, u32, u32); 2] = [("phone", 360, 740), ("desktop", 1280, 900)];

/// All browsers in one language, and the findings so far.
struct Walk<'a> {
    story: &'a Story,
    language: &'static str,
    found: Vec<String>,
}

impl Walk<'_> {
    async fn somebody(&self) -> Person {
        self.story.reader_of(self.language).await
    }

    /// Runs the checks on every screen, in light and dark.
    async fn sees(&mut self, person: &Person, page: &str) {
        for (screen, width, height) in SCREENS {
            person.has_a_screen_of(width, height, 1).await;
            let page = format!("{page}, {}, {screen}", self.language);
            // The dark mode differs only in colours.
            person.prefers("dark").await;
            self.found.extend(person.violations_of_colour(&format!("{page}, dark")).await);
            person.prefers("light").await;
            self.found.extend(person.violations(&page).await);
        }
    }

    /// Waits for the page, then checks it.
    async fn comes_to(&mut self, person: &Person, css: &str, page: &str) {
        person.sees(css).await;
        self.sees(person, page).await;
    }

    async fn goes_to(&mut self, person: &Person, path: &str, page: &str) {
        person.goes_to(path).await;
        self.sees(person, page).await;
    }
}

fn order() -> String {
    format!("/orders/{ORDER}")
}

/// Another person signs in in this browser.
async fn hands_over(person: &Person, login: &str) {
    person.loses_the_session().await;
    person.sign_in(login).await;
}

/// Opens the form for the whole order, and the pages of people who are refused.
async fn presses_edit(person: &Person) {
    person.goes_to(&order()).await;
    person.clicks(EDIT).await;
}

async fn leaves(person: &Person) {
    person.clicks(LEAVE).await;
    person.waits_until(&format!("location.pathname === '{}'", order())).await;
}

/// Opens the form for the address, and receives no further updates.
async fn opens_the_address_and_hears_nothing(person: &Person) {
    person.goes_to(SHIPPING).await;
    person.sees("form[data-tenure-state=free]").await;
    person.gets_heartbeats_through(false).await;
}

/// Saves a message in the background.
async fn saves_a_message(person: &Person, text: &str) {
    person.goes_to(SHIPPING).await;
    person.types("[name=message]", text).await;
    saves(person).await;
}

async fn every_page_in(language: &'static str) {
    let story = Story::begin().await;
    let mut walk = Walk { story: &story, language, found: Vec::new() };
    let reader = walk.somebody().await;
    lists_and_orders(&mut walk, &reader).await;
    forms_of_the_address(&mut walk, &reader).await;
    let olivia = walk.somebody().await;
    olivia.sign_in("olivia").await;
    whole_orders(&mut walk, &reader, &olivia).await;
    lost_forms(&mut walk, &reader, &olivia).await;
    notes(&mut walk, &reader, &olivia).await;
    conflicts(&mut walk, &reader, &olivia).await;
    assert!(walk.found.is_empty(), "{} of:\n{}", walk.found.len(), walk.found.join("\n"));
}

async fn account(walk: &mut Walk<'_>, reader: &Person) {
    walk.goes_to(reader, "/account", "account").await;
    reader.clicks("details.confirm summary").await;
    walk.comes_to(reader, "details.confirm .danger", "account about to be signed out everywhere").await;
    walk.goes_to(reader, "/account/password", "change of password").await;
    reader.types("#password-old", "guessed").await;
    reader.types("#password-new", "short").await;
    reader.types("#password-again", "short").await;
    reader.clicks("main form .main").await;
    walk.comes_to(reader, "main .summary", "change of password with a mistake").await;
}

async fn lists_and_orders(walk: &mut Walk<'_>, reader: &Person) {
    walk.goes_to(reader, "/sign-in", "sign-in").await;
    reader.types("#login", "park").await;
    reader.types("#password", "guessed").await;
    reader.clicks("main form .main").await;
    walk.comes_to(reader, "main .mistake", "wrong password").await;
    reader.sign_in("minji").await;
    account(walk, reader).await;
    reader.goes_to("/orders").await;
    walk.sees(reader, "orders of a customer").await;
    walk.goes_to(reader, "/orders?state=InDelivery", "orders in delivery").await;
    walk.goes_to(reader, &order(), "order of a customer").await;
    hands_over(reader, "park").await;
    walk.sees(reader, "orders").await;
    walk.goes_to(reader, &order(), "free order").await;
    reader.clicks("details.confirm summary").await;
    walk.comes_to(reader, "details.confirm .danger", "order about to be cancelled").await;
    for state in ["Shipped", "Cancelled", "PaymentWaiting"] {
        reader.goes_to(&format!("/orders?state={state}")).await;
        reader.clicks("tbody th a").await;
        walk.comes_to(reader, &format!("h1 .state.{state}"), &format!("order in state {state}")).await;
    }
    walk.goes_to(reader, "/locks", "nobody editing").await;
    walk.goes_to(reader, "/stock", "stock").await;
    reader.types("tbody [name=pieces]", "many").await;
    reader.clicks(".delivery .main").await;
    walk.comes_to(reader, ".delivery .mistake", "delivery with a mistake").await;
    walk.goes_to(reader, "/nowhere", "not found").await;
    reader.goes_to(&order()).await;
    reader.loses_the_session().await;
    reader.clicks(EDIT).await;
    walk.comes_to(reader, "main:not([data-state^=OD])", "signed-out answer").await;
    reader.sign_in("park").await;
}

async fn forms_of_the_address(walk: &mut Walk<'_>, reader: &Person) {
    reader.goes_to(SHIPPING).await;
    walk.comes_to(reader, "form[data-tenure-state=free]", "free address").await;
    reader.types(NAME, "").await;
    walk.comes_to(reader, HELD, "held address").await;
    reader.clicks(SAVE).await;
    walk.comes_to(reader, "main[data-state=OE-17]", "address with a mistake").await;
    reader.types(NAME, "Lee").await;
    reader.goes_to("/orders").await;
    walk.story.clock.advance(LUNCH);
    reader.goes_to(SHIPPING).await;
    walk.comes_to(reader, "[data-tenure-draft-restore]", "address with a draft on offer").await;
    reader.clicks("[data-tenure-draft-discard]").await;
    walk.sees(reader, "address with a dropped draft").await;
}

async fn whole_orders(walk: &mut Walk<'_>, reader: &Person, olivia: &Person) {
    reader.edits_the_order().await;
    walk.sees(reader, "form of the order").await;
    walk.goes_to(olivia, "/orders", "orders with somebody editing").await;
    walk.goes_to(olivia, &order(), "order with somebody editing").await;
    olivia.clicks(SHIP).await;
    walk.comes_to(olivia, "main [name=anyway] ~ .danger", "locked before shipping").await;
    presses_edit(olivia).await;
    walk.comes_to(olivia, "main[data-state^=LP]", "locked order").await;
    olivia.goes_to(SHIPPING).await;
    walk.comes_to(olivia, REFUSED, "refused address").await;
    walk.goes_to(olivia, "/locks", "somebody editing").await;
    olivia.clicks("details.confirm summary").await;
    olivia.clicks("details.confirm .danger").await;
    walk.comes_to(olivia, "details.confirm .mistake", "ending an editing with a mistake").await;

    hands_over(olivia, "park").await;
    walk.goes_to(olivia, "/orders", "orders with oneself editing").await;
    walk.goes_to(olivia, &order(), "order with oneself editing elsewhere").await;
    olivia.goes_to(SHIPPING).await;
    walk.comes_to(olivia, REFUSED, "address with oneself editing elsewhere").await;
    presses_edit(olivia).await;
    walk.comes_to(olivia, "main[data-state^=LP] form[action$='/edit/move-here'] button", "locked by oneself").await;

    reader.types(NAME, "").await;
    reader.types("[name=new-product]", "Something").await;
    reader.clicks(SAVE).await;
    walk.comes_to(reader, "main[data-state=OE-17]", "form of the order with mistakes").await;
    reader.gets_heartbeats_through(false).await;
    olivia.clicks("form[action$='/edit/move-here'] button").await;
    olivia.sees(HELD).await;
    reader.clicks(SAVE).await;
    walk.comes_to(reader, "main[data-state=OE-12]", "lost to oneself").await;
    leaves(olivia).await;
    hands_over(olivia, "olivia").await;
    reader.gets_heartbeats_through(true).await;
    reader.edits_the_order().await;
    reader.types(NAME, "Saved once").await;
    saves(reader).await;
    reader.goes_back().await;
    walk.comes_to(reader, "main[data-state=OE-20]", "already saved").await;
}

/// The reader loses the form: while olivia holds the order, after she has left it, after she has saved something.
async fn lost_forms(walk: &mut Walk<'_>, reader: &Person, olivia: &Person) {
    let goes_to_lunch = async |text: &str| {
        reader.types("[name=message]", text).await;
        reader.gets_heartbeats_through(false).await;
        walk.story.clock.advance(LUNCH);
        olivia.edits_the_order().await;
    };
    reader.edits_the_order().await;
    goes_to_lunch("Before lunch").await;
    reader.gets_heartbeats_through(true).await;
    reader.looks_away_and_back().await;
    reader.sees(LOST).await;
    walk.sees(reader, "lost form of the order").await;
    // The next heartbeat would find the order free, and the form would go on by itself.
    reader.gets_heartbeats_through(false).await;
    leaves(olivia).await;
    reader.clicks("[data-tenure-action=again]").await;
    reader.gets_heartbeats_through(true).await;
    reader.sees(HELD).await;
    walk.sees(reader, "form of the order with returned text").await;
    goes_to_lunch("Before tea").await;
    reader.clicks(SAVE).await;
    walk.comes_to(reader, "main[data-state=OE-9]", "lost to somebody").await;
    olivia.types("[name=message]", "Olivia was here").await;
    saves(olivia).await;
    reader.reloads().await;
    walk.comes_to(reader, "main[data-state=CP-2] .meets", "lapsed, and changed").await;
    reader.gets_heartbeats_through(true).await;
    reader.clicks("[name=edit-first]").await;
    walk.comes_to(reader, "main:has(#edit[data-tenure-state=held])", "form of the order with text after a conflict")
        .await;
    leaves(reader).await;
}

async fn notes(walk: &mut Walk<'_>, reader: &Person, olivia: &Person) {
    for (person, page) in [(reader, "note"), (olivia, "note with somebody else")] {
        person.goes_to(&order()).await;
        person.clicks(NOTE).await;
        walk.comes_to(person, "#note[data-tenure-state=held]", page).await;
    }
    for (person, text) in [(olivia, "Called at noon"), (reader, "Called at one")] {
        person.types("[name=text]", text).await;
        person.clicks(SAVE).await;
        person.sees("main:not([data-state=OE-24])").await;
    }
    walk.comes_to(reader, "main[data-state^=CP]", "conflict of a note").await;
}

async fn conflicts(walk: &mut Walk<'_>, reader: &Person, olivia: &Person) {
    opens_the_address_and_hears_nothing(reader).await;
    saves_a_message(olivia, "Ring twice").await;
    reader.types(STREET, "Sejong-daero 9").await;
    reader.clicks(SAVE).await;
    walk.comes_to(reader, "main[data-state=CP-1] [name=both]", "conflict where both fit").await;
    reader.clicks("[name=both]").await;
    walk.comes_to(reader, ".flash", "both saved").await;

    opens_the_address_and_hears_nothing(reader).await;
    saves_a_message(olivia, "Ring three times").await;
    reader.types(STREET, "Sejong-daero 10").await;
    reader.types("[name=message]", "Knock").await;
    reader.clicks(SAVE).await;
    walk.comes_to(reader, "main[data-state=CP-2]", "conflict about one field").await;
    reader.gets_heartbeats_through(true).await;
    reader.clicks("[name=edit-first]").await;
    walk.comes_to(reader, HELD, "address with returned text").await;
    leaves(reader).await;

    reader.goes_to(SHIPPING).await;
    reader.types(STREET, "Sejong-daero 11").await;
    reader.sees(HELD).await;
    reader.goes_to("/orders").await;
    walk.story.clock.advance(LUNCH);
    saves_a_message(olivia, "Do not ring").await;
    reader.goes_to(SHIPPING).await;
    walk.comes_to(reader, "[data-tenure-draft-restore]", "address with an older draft on offer").await;
    reader.clicks("[data-tenure-draft-restore]").await;
    walk.comes_to(reader, "main:has(#shipping) .compare", "address with text on an older version").await;
    leaves(reader).await;

    saves_a_message(olivia, "Ring four times").await;
    reader.clicks(SHIP).await;
    walk.comes_to(reader, "main[data-state^=CP]", "conflict of a command").await;
    opens_the_address_and_hears_nothing(olivia).await;
    olivia.types("[name=message]", "Ring five times").await;
    reader.clicks("main .bar .main").await;
    reader.sees(".flash").await;
    olivia.clicks(SAVE).await;
    walk.comes_to(olivia, "main[data-state=CP-4]", "conflict with a rule").await;
    walk.goes_to(olivia, &format!("{}/history/2", order()), "an earlier version").await;
    walk.goes_to(olivia, &format!("{}/history/2?with=4", order()), "two versions").await;
    walk.goes_to(olivia, &format!("{}/history/99", order()), "no such version").await;
    walk.goes_to(olivia, &format!("{}/note/history/2?with=1", order()), "two texts of a note").await;
    olivia.opens_the_menu().await;
    walk.sees(olivia, "the menu of a person").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_in_english_shuts_anybody_out() {
    every_page_in("en").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_in_korean_shuts_anybody_out() {
    every_page_in("ko").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn accessibility_checker_finds_planted_barriers() {
    let story = Story::begin().await;
    let visitor = story.visitor().await;
    visitor.goes_to("/sign-in").await;
    visitor.finds::<()>("(document.querySelector('[for=login]').remove(), null)").await;
    // Dark letters, readable only on a light screen.
    visitor.finds::<()>("(document.querySelector('h1').style.color = '#1d2421', null)").await;
    visitor.prefers("light").await;
    let [label] = &visitor.violations("light").await[..] else { panic!("one field has no label") };
    assert!(label.starts_with("light: label (critical): #login: <input"), "{label}");
    visitor.prefers("dark").await;
    assert_eq!(visitor.violations("dark").await.len(), 2);
    let [colour] = &visitor.violations_of_colour("dark").await[..] else { panic!("one heading cannot be read") };
    assert!(colour.starts_with("dark: color-contrast (serious): h1: <h1"), "{colour}");
}

/// The element that has the focus for the first time, if any, and what covers some of it.
const COVERED: &str = "((e) => {
    const stops = (window.stops ??= new Set());
    if (e === document.body || stops.has(e)) return null;
    stops.add(e);
    const { left, right, top, bottom } = e.getBoundingClientRect();
    const [xs, ys] = [[left, right], [top, bottom]].map(([from, to]) => [from + 2, (from + to) / 2, to - 2]);
    const hits = xs.flatMap((x) => ys.map((y) => document.elementFromPoint(x, y)));
    // A round corner shows the element behind.
    const isIts = (hit) => hit && (hit.contains(e) || [e, ...(e.labels ?? [])].some((own) => own.contains(hit)));
    const name = (e) => e ? `${e.tagName}#${e.id}.${e.className} ${e.name ?? ''}` : 'the edge of the screen';
    return [name(e), hits.filter((hit) => !isIts(hit)).map(name)];
})(document.activeElement)";

/// Tabs through the whole page and back, and returns the elements that were covered while focused.
async fn covered(person: &Person, page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for way in ["on", "back"] {
        person.finds::<()>("(delete window.stops, null)").await;
        let mut stops = 0;
        loop {
            person.presses(if way == "on" { Key::Tab.into() } else { Key::Shift + Key::Tab }).await;
            let Some((stop, over)) = person.finds::<Option<(String, Vec<String>)>>(COVERED).await else { break };
            stops += 1;
            found.extend(over.first().map(|over| format!("{page}, tabbing {way}: {stop} is behind {over}")));
        }
        assert!(stops > 8, "{page}: Tab has stopped {stops} times only");
    }
    found
}

/// The height of the fixed parts, and the bar among them.
const STUCK: &str = "((stuck) => [stuck, stuck.filter((e) => e.matches('.bar'))].map((all) =>
    all.reduce((sum, e) => sum + e.getBoundingClientRect().height, 0)))
    ([...document.querySelectorAll('main *')].filter((e) => getComputedStyle(e).position === 'sticky' && e.offsetHeight))";

/// The fixed parts of a phone's screen are small: one row of buttons, and a quarter of the screen with the banner.
async fn keeps_small(person: &Person, page: &str) {
    let (all, bar): (f64, f64) = person.finds(STUCK).await;
    assert!(bar <= 64.0 && all <= 0.25 * 740.0, "{page}: {all} px stay on the screen, {bar} of them the bar");
}

#[tokio::test(flavor = "multi_thread")]
async fn focused_element_is_never_covered() {
    let story = Story::begin().await;
    let mut found = Vec::new();
    for language in ["en", "ko"] {
        let park = story.reader_of(language).await;
        park.sign_in("park").await;
        for (screen, width, height) in [("laptop", 1280, 800), ("phone", 360, 740)] {
            park.has_a_screen_of(width, height, 1).await;
            park.edits_the_order().await;
            found.extend(covered(&park, &format!("edit form, {language}, {screen}")).await);
            leaves(&park).await;
            park.goes_to(SHIPPING).await;
            park.types(NAME, "Lee").await;
            park.sees(HELD).await;
            // Tab begins at the top again.
            park.reloads().await;
            park.sees(HELD).await;
            found.extend(covered(&park, &format!("shipping form, {language}, {screen}")).await);
            leaves(&park).await;
        }
    }
    assert!(found.is_empty(), "{} of:\n{}", found.len(), found.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn fixed_parts_leave_three_quarters_of_a_phone_screen() {
    let story = Story::begin().await;
    for language in ["en", "ko"] {
        let (park, olivia) = (story.reader_of(language).await, story.reader_of(language).await);
        park.has_a_screen_of(360, 740, 1).await;
        park.has_a_quick_heart().await;
        park.sign_in("park").await;
        olivia.sign_in("olivia").await;
        park.edits_the_order().await;
        keeps_small(&park, "edit form").await;
        assert!(!stays(&park).await, "a banner without news is scrolled away");
        let failing = "(window.send = fetch, window.fetch = (url, options) => /beat/.test(url) ? send(url, options)
            : Promise.resolve(new Response('', { status: 500 })), null)";
        park.finds::<()>(failing).await;
        park.clicks(SAVE).await;
        park.sees("main:has(form[data-tenure-state=held]) [data-tenure-urgent]").await;
        keeps_small(&park, "edit form that was not saved").await;
        assert!(stays(&park).await, "the outcome of a button is visible");
        park.finds::<()>("(window.fetch = send, null)").await;
        olivia.goes_to("/locks").await;
        olivia.clicks("details.confirm summary").await;
        olivia.types("details.confirm [name=reason]", "The parcel goes out now").await;
        olivia.clicks("details.confirm .danger").await;
        park.sees(LOST).await;
        park.photo(&format!("{language}-lost-phone")).await;
        keeps_small(&park, "lost edit form").await;
        assert!(stays(&park).await, "the loss of the order is visible at any scroll position");
        park.clicks("[data-tenure-action=again]").await;
        park.sees(HELD).await;
        leaves(&park).await;
        park.goes_to(SHIPPING).await;
        keeps_small(&park, "shipping form").await;
        park.goes_to(&order()).await;
        park.clicks(NOTE).await;
        park.sees("#note[data-tenure-state=held]").await;
        keeps_small(&park, "note form").await;
        leaves(&park).await;
    }
}

/// Whether the banner is on the screen at the end of the page.
async fn stays(person: &Person) -> bool {
    person.finds("(scrollTo(0, document.body.scrollHeight), document.querySelector('.banner.lease').getBoundingClientRect().top >= 0)").await
}

#[tokio::test(flavor = "multi_thread")]
async fn loss_is_seen_at_200_percent_zoom_and_the_page_stays_where_it_is() {
    let story = Story::begin().await;
    let (park, olivia) = (story.person("park").await, story.person("olivia").await);
    park.has_a_screen_of(600, 430, 2).await;
    park.edits_the_order().await;
    park.types("[name=message]", "Ring").await;
    let before: f64 = park.finds("scrollY").await;
    assert!(before > 200.0, "the message is far below");
    olivia.goes_to("/locks").await;
    olivia.clicks("details.confirm summary").await;
    olivia.types("details.confirm [name=reason]", "The parcel goes out now").await;
    olivia.clicks("details.confirm .danger").await;
    park.waits_until(
        "document.querySelector('[data-tenure-state=lost] [data-tenure-status]')?.textContent.includes('The parcel')",
    )
    .await;
    park.photo("lost-zoomed").await;
    assert!((park.finds::<f64>("scrollY").await - before).abs() < 100.0, "the person types on where they are");
    let is_seen = "['[data-tenure-banner]', '[name=message]'].every((css) =>
        ((box) => box.top >= 0 && box.bottom <= innerHeight)(document.querySelector(css).getBoundingClientRect()))";
    assert!(park.finds::<bool>(is_seen).await, "both what is said and what is typed");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_no_form_promises_a_reservation() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.has_scripts(false).await;
    park.goes_to(SHIPPING).await;
    park.photo("shipping-without-scripts").await;
    let page = park.reads("main").await;
    assert!(
        page.contains("Nothing is reserved while you type") && !page.contains("the order is reserved for you"),
        "{page}"
    );
}
