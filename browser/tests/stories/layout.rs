//! Small screens and large letters.

use browser::{ORDER, Person, Story};

/// A small phone, and a laptop at 200 % zoom: width, height, real pixels to each of CSS.
const SCREENS: [(&str, u32, u32, u32); 2] = [("phone", 360, 740, 2), ("zoom", 640, 450, 2)];

async fn nothing_is_wider_than_the_screen(person: &Person, page: &str) {
    for (name, width, height, scale) in SCREENS {
        person.has_a_screen_of(width, height, scale).await;
        person.photo(&format!("{page}-{name}")).await;
        let wide: Vec<String> = person
            .finds(
                "document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')]
                    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
                    .map((e) => e.tagName + '.' + e.className + ' ' + e.getBoundingClientRect().right)",
            )
            .await;
        assert!(wide.is_empty(), "{page} scrolls sideways on a {name} of {width} pixels: {wide:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_scrolls_sideways_at_200_percent_zoom_or_on_a_small_phone() {
    let story = Story::begin().await;
    for language in ["en", "ko"] {
        let park = story.reader_of(language).await;
        park.goes_to("/sign-in").await;
        nothing_is_wider_than_the_screen(&park, &format!("{language}-sign-in")).await;
        park.sign_in("park").await;
        let order = format!("/orders/{ORDER}");
        let shipping = format!("{order}/shipping");
        for (page, path) in [("orders", "/orders"), ("order", &order), ("shipping", &shipping)] {
            park.goes_to(path).await;
            nothing_is_wider_than_the_screen(&park, &format!("{language}-{page}")).await;
        }
        park.edits_the_order().await;
        nothing_is_wider_than_the_screen(&park, &format!("{language}-edit")).await;

        let olivia = story.reader_of(language).await;
        olivia.sign_in("olivia").await;
        olivia.goes_to("/locks").await;
        nothing_is_wider_than_the_screen(&olivia, &format!("{language}-locks")).await;
        olivia.goes_to(&order).await;
        olivia.clicks("form[action$='/edit'] button").await;
        olivia.sees("main[data-state]:not([data-state=order])").await;
        nothing_is_wider_than_the_screen(&olivia, &format!("{language}-locked")).await;

        park.clicks("[form=leave]").await;
        park.waits_until(&format!("location.pathname === '{order}'")).await;
        assert_eq!(park.complaints().await, [""; 0]);
    }
}
