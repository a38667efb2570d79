//! The front page and the demo, as a visitor sees them who knows nothing of locks.

use browser::{Person, Story};

const NEXT: &str = "#next button";
const STORY: &str = "main .start button";
const WITH: &str = ".ways [value=with]";

/// Presses the button of the next step until the story is over, and returns its verdict.
async fn to_its_end(visitor: &Person) -> String {
    while visitor.finds::<bool>("document.querySelector('.verdict') === null").await {
        let made: u32 = visitor.finds("document.querySelectorAll('.happened li').length").await;
        visitor.clicks(NEXT).await;
        visitor.waits_until(&format!("document.querySelectorAll('.happened li').length > {made}")).await;
    }
    visitor.reads(".verdict h2").await
}

/// A picture of the whole page.
async fn whole_picture(visitor: &Person, name: &str, width: u32) {
    let height: u32 = visitor.finds("document.documentElement.scrollHeight").await;
    visitor.has_a_screen_of(width, height.min(4000), 1).await;
    visitor.photo(name).await;
}

/// The README shows it: `docs/pictures`.
async fn picture_for_the_readme(visitor: &Person, name: &str) {
    visitor.emulates("Emulation.setScrollbarsHidden", serde_json::json!({ "hidden": true })).await;
    visitor.has_a_screen_of(960, 900, 1).await;
    visitor.finds::<()>("(scrollTo(0, 0), document.activeElement.blur(), null)").await;
    let end: f64 = visitor.finds("document.querySelector('.panes').getBoundingClientRect().bottom").await;
    visitor.has_a_screen_of(960, end as u32 + 16, 1).await;
    visitor.photo(name).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parcel_goes_to_the_wrong_house_without_tenure_and_to_the_right_one_with_it() {
    let story = Story::begin().await;
    let visitor = story.visitor().await;
    visitor.goes_to("/").await;
    visitor.clicks("a[href='/demo']").await;
    visitor.clicks(STORY).await;
    visitor.sees("main .pane.acts").await;
    assert_eq!(to_its_end(&visitor).await, "The parcel is at the wrong house");
    picture_for_the_readme(&visitor, "demo-without").await;
    visitor.clicks(WITH).await;
    visitor.waits_until("document.querySelectorAll('.happened li').length === 0").await;
    while visitor.finds::<bool>("document.querySelector('#typed') === null").await {
        let made: u32 = visitor.finds("document.querySelectorAll('.happened li').length").await;
        visitor.clicks(NEXT).await;
        visitor.waits_until(&format!("document.querySelectorAll('.happened li').length > {made}")).await;
    }
    visitor.types("#typed", "7 Hill Road").await;
    assert_eq!(to_its_end(&visitor).await, "The parcel is at the right house");
    assert!(visitor.reads(".place.here").await.contains("7 Hill Road"));
    picture_for_the_readme(&visitor, "demo-with").await;
    // Its steps are made without loading the page, and by nothing that the policy forbids.
    assert_eq!(visitor.complaints().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn demo_works_with_the_keyboard_and_without_scripts() {
    let story = Story::begin().await;
    let visitor = story.visitor().await;
    visitor.goes_to("/demo").await;
    visitor.tabs_to(STORY).await;
    visitor.presses(browser::Key::Enter).await;
    visitor.sees("main .pane.acts").await;
    // The focus is on the next button after each step.
    for made in 1..=4 {
        visitor.waits_until("document.activeElement.matches('#next button')").await;
        visitor.presses(browser::Key::Enter).await;
        visitor.waits_until(&format!("document.querySelectorAll('.happened li').length === {made}")).await;
    }
    assert_eq!(visitor.reads(".verdict h2").await, "The parcel is at the wrong house");
    visitor.has_scripts(false).await;
    visitor.goes_to("/demo").await;
    visitor.clicks(WITH).await;
    visitor.sees("main .pane.acts").await;
    for _ in 0..6 {
        visitor.clicks(NEXT).await;
        visitor.sees(".happened li.last").await;
    }
    assert_eq!(visitor.reads(".verdict h2").await, "The parcel is at the right house");
}

#[tokio::test(flavor = "multi_thread")]
async fn demo_shuts_nobody_out() {
    let story = Story::begin().await;
    let mut found = Vec::new();
    for language in ["en", "ko"] {
        for (screen, width, height) in [("phone", 360, 740), ("desktop", 1280, 900)] {
            let visitor = story.reader_of(language).await;
            for page in ["front", "stories", "begun", "without", "with", "lunch 3", "tab 4", "sleep 7", "last 3"] {
                visitor.has_a_screen_of(width, height, 1).await;
                match page {
                    "front" => visitor.goes_to("/").await,
                    "stories" => visitor.goes_to("/demo").await,
                    "begun" => {
                        visitor.clicks(STORY).await;
                        visitor.sees("main .pane.acts").await;
                        visitor.clicks(NEXT).await;
                        visitor.sees(".happened li.last").await;
                    }
                    page if page.contains(' ') => {
                        let (story, steps) = page.split_once(' ').expect("a story and its steps");
                        visitor.clicks(&format!(".more [value={story}]")).await;
                        visitor.waits_until("document.querySelectorAll('.happened li').length === 0").await;
                        visitor.clicks(WITH).await;
                        visitor
                            .waits_until("document.querySelector('.ways [value=with]').ariaPressed === 'true'")
                            .await;
                        for _ in 0..steps.parse().expect("a number") {
                            let is_over: bool = visitor.finds("document.querySelector('.verdict') !== null").await;
                            let made: u32 = visitor.finds("document.querySelectorAll('.happened li').length").await;
                            if !is_over {
                                visitor.clicks(NEXT).await;
                                visitor
                                    .waits_until(&format!("document.querySelectorAll('.happened li').length > {made}"))
                                    .await;
                            }
                        }
                    }
                    way => {
                        visitor.clicks(&format!(".ways [value={way}]")).await;
                        visitor.waits_until("document.querySelectorAll('.happened li').length === 0").await;
                        to_its_end(&visitor).await;
                        visitor
                            .finds::<()>("(document.querySelectorAll('details').forEach((e) => (e.open = true)), null)")
                            .await;
                    }
                }
                let name = format!("demo-{page}-{language}-{screen}").replace(' ', "-");
                for scheme in ["dark", "light"] {
                    visitor.prefers(scheme).await;
                    found.extend(visitor.violations(&format!("{name}, {scheme}")).await);
                    let wide: bool = visitor.finds("document.documentElement.scrollWidth > innerWidth").await;
                    found.extend(wide.then(|| format!("{name} is wider than the screen")));
                    whole_picture(&visitor, &format!("{name}-{scheme}"), width).await;
                    visitor.has_a_screen_of(width, height, 1).await;
                }
            }
        }
    }
    assert!(found.is_empty(), "{} of:\n{}", found.len(), found.join("\n"));
}
