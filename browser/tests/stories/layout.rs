//! Small screens and large letters.

use browser::{EDIT, ORDER, Person, Story};

/// A small phone, a laptop at 200 % zoom, and a phone whose letters are twice as large: width, height, real pixels to each of CSS, letters
/// in per cent.
const SCREENS: [(&str, u32, u32, u32, u32); 3] =
    [("phone", 360, 740, 2, 100), ("zoom", 640, 450, 2, 100), ("large-letters", 360, 740, 2, 200)];

/// The elements that are wider than the screen, on each of them.
pub(crate) async fn wide(person: &Person, page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (name, width, height, scale, letters) in SCREENS {
        person.has_a_screen_of(width, height, scale).await;
        person.finds::<()>(&format!("(document.documentElement.style.fontSize = '{letters}%', null)")).await;
        person.photo(&format!("{page}-{name}")).await;
        let wide: Vec<String> = person
            .finds(
                "document.documentElement.scrollWidth <= document.documentElement.clientWidth ? [] : [...document.querySelectorAll('body *')]
                    .filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth)
                    .map((e) => `${e.tagName}.${e.className} ends at ${e.getBoundingClientRect().right}`)",
            )
            .await;
        found.extend(wide.first().map(|first| format!("{page} on a {name}: {first}, and {} more", wide.len() - 1)));
    }
    person.finds::<()>("(document.documentElement.style.fontSize = '', null)").await;
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn why_an_order_cannot_be_changed_is_said_in_full_on_a_phone() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.goes_to(&format!("/orders/{ORDER}")).await;
    park.clicks("form[action='/orders/2026-000300/start-shipping'] button").await;
    park.sees(".flash").await;
    for language in ["en", "ko"] {
        let person = story.reader_of(language).await;
        person.sign_in("minji").await;
        person.has_a_screen_of(320, 640, 2).await;
        person.goes_to(&format!("/orders/{ORDER}")).await;
        person.photo(&format!("{language}-shipped-phone")).await;
        let cut = "((words) => words.scrollHeight - words.clientHeight)(document.querySelector('.line .words'))";
        assert!(person.finds::<i32>(cut).await <= 1, "{language}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_scrolls_sideways_when_zoomed_or_on_a_phone() {
    let story = Story::begin().await;
    let mut found = Vec::new();
    for language in ["en", "ko"] {
        let named = |page: &str| format!("{language}-{page}");
        let park = story.reader_of(language).await;
        park.goes_to("/sign-in").await;
        found.extend(wide(&park, &named("sign-in")).await);
        park.sign_in("park").await;
        for (page, path) in [("account", "/account"), ("password", "/account/password")] {
            park.goes_to(path).await;
            found.extend(wide(&park, &named(page)).await);
        }
        let order = format!("/orders/{ORDER}");
        let shipping = format!("{order}/shipping");
        for (page, path) in [("orders", "/orders"), ("order", &order), ("shipping", &shipping)] {
            park.goes_to(path).await;
            found.extend(wide(&park, &named(page)).await);
        }
        park.edits_the_order().await;
        found.extend(wide(&park, &named("edit")).await);

        let olivia = story.reader_of(language).await;
        olivia.sign_in("olivia").await;
        olivia.goes_to("/locks").await;
        found.extend(wide(&olivia, &named("locks")).await);
        olivia.goes_to("/stock").await;
        found.extend(wide(&olivia, &named("stock")).await);
        olivia.goes_to(&order).await;
        olivia.clicks(EDIT).await;
        olivia.waits_until("location.pathname.includes('/edit/')").await;
        found.extend(wide(&olivia, &named("locked")).await);

        park.clicks("[form=leave]").await;
        park.waits_until(&format!("location.pathname === '{order}'")).await;
        assert_eq!(park.complaints().await, [""; 0]);
    }
    assert!(found.is_empty(), "pages that scroll sideways: {found:#?}");
}
