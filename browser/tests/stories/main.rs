//! Editing orders in a real browser. `cargo xtask test --only browser` installs the requirements.

mod accessible;
mod account;
mod demo;
mod drafts;
mod dropping;
mod elsewhere;
mod first_edit;
mod idle;
mod keyboard;
mod layout;
mod leaving;
mod live;
mod looks;
mod losing;
mod merging;
mod offered;
mod saving;
mod signing_out;
mod staying;
mod stock;
mod tabs;
mod travelling;
mod typing;
mod unheard;
mod unsaved;
mod watching;
mod words;

use browser::{ORDER, Person};

/// Saves the open form, and sees the order.
async fn saves(person: &Person) {
    person.clicks("[data-tenure-action=save]").await;
    person.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
}

/// Drops the text that was sent before and not saved: the server offers it.
async fn drops_what_was_sent(person: &Person) {
    person.clicks("[data-tenure-sent-discard]").await;
    person.waits_until("document.querySelector('[data-tenure-sent-text]').textContent.includes('dropped')").await;
}

/// Puts the text into the form that was sent before and not saved: the server offers it.
async fn puts_back_what_was_sent(person: &Person) {
    let before: f64 = person.finds("performance.timeOrigin").await;
    person.clicks("[data-tenure-sent] button").await;
    let is_there = "document.querySelector('form[data-tenure-state]') && location.search.includes('kept')";
    person.waits_until(&format!("performance.timeOrigin > {before} && {is_there}")).await;
}
