//! The account page: listing sessions, ending them, changing the password.

use browser::{Key, Person, Story};

/// Types into the focused field, and continues in the next one.
async fn fills_in(person: &Person, texts: [&str; 3]) {
    for text in texts {
        person.presses(text).await;
        person.presses(Key::Tab).await;
    }
}

async fn is_signed_out(person: &Person) {
    person.goes_to("/orders").await;
    person.sees("main[data-state=sign-in]").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_browser_is_signed_out_by_keyboard_without_scripts() {
    let story = Story::begin().await;
    let (here, there) = (story.person("minji").await, story.person("minji").await);
    here.has_scripts(false).await;
    here.goes_to("/orders").await;
    here.tabs_to("header .me").await;
    here.presses(Key::Enter).await;
    here.tabs_to(".menu a[href='/account']").await;
    here.presses(Key::Enter).await;
    here.sees("main[data-state=AM-1] .sessions tr[aria-current=true]").await;
    assert_eq!(here.finds::<usize>("document.querySelectorAll('.sessions tbody tr').length").await, 2);
    here.photo("account").await;
    here.tabs_to(".sessions tr:not([aria-current]) button").await;
    here.presses(Key::Enter).await;
    here.sees(".flash").await;
    assert_eq!(here.finds::<usize>("document.querySelectorAll('.sessions tbody tr').length").await, 1);
    is_signed_out(&there).await;
    here.goes_to("/orders").await;
    here.sees("main[data-state=OL-1]").await;
    assert_eq!(here.complaints().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_out_everywhere_confirms_and_ends_every_session() {
    let story = Story::begin().await;
    let (here, there) = (story.person("minji").await, story.person("minji").await);
    here.goes_to("/account").await;
    here.tabs_to("details.confirm summary").await;
    here.presses(Key::Enter).await;
    here.sees("details.confirm[open] .danger").await;
    here.photo("account-sign-out-everywhere").await;
    here.tabs_to("details.confirm .danger").await;
    here.presses(Key::Enter).await;
    here.sees("main[data-state=sign-in]").await;
    here.photo("signed-out-everywhere").await;
    is_signed_out(&here).await;
    is_signed_out(&there).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_changed_by_keyboard_and_mistakes_are_said() {
    let story = Story::begin().await;
    let here = story.reader_of("ko").await;
    here.sign_in("minji").await;
    here.goes_to("/account/password").await;
    here.tabs_to("#password-old").await;
    fills_in(&here, ["guessed", "a quiet blue bicycle", "a quiet blue bicycle"]).await;
    here.presses(Key::Enter).await;
    here.sees("main[data-state=AM-2] .summary").await;
    here.photo("password-mistake-ko").await;
    here.tabs_to("#password-old").await;
    fills_in(&here, [shop::seed::DEMO_PASSWORD, "a quiet blue bicycle", "a quiet blue bicycle"]).await;
    here.presses(Key::Enter).await;
    here.sees("main[data-state=AM-1]").await;
    here.photo("password-changed-ko").await;
    assert_eq!(here.complaints().await.iter().filter(|line| !line.contains("422")).count(), 0);
}
