//! Two operators ship orders with the same last product.

use browser::{Key, Story};

#[tokio::test(flavor = "multi_thread")]
async fn operator_without_stock_is_told_receives_it_and_ships() {
    for (language, told) in [("en", "not enough of"), ("ko", "재고가 부족합니다")] {
        let story = Story::begin().await;
        let [first, second] = story.two_orders_of_the_last_piece().await;
        let park = story.person("park").await;
        let olivia = story.reader_of(language).await;
        olivia.sign_in("olivia").await;
        for (operator, order) in [(&park, &first), (&olivia, &second)] {
            operator.goes_to(&format!("/orders/{order}")).await;
        }
        park.clicks("form[action$='/start-shipping'] button").await;
        park.sees("[role=status]").await;
        // Her page still shows an order that can be shipped.
        olivia.clicks("form[action$='/start-shipping'] button").await;
        olivia.sees("main[data-state=OE-15]").await;
        assert!(olivia.reads("main").await.contains(told), "{}", olivia.reads("main").await);
        olivia.photo(&format!("{language}-out-of-stock")).await;
        olivia.clicks("main a[href='/stock']").await;
        let row = format!("tr:has(input[value='{}'])", Story::LAST_PRODUCT);
        olivia.types(&format!("{row} [name=pieces]"), "4").await;
        olivia.types("tr:nth-child(2) [name=pieces]", "many").await;
        olivia.photo(&format!("{language}-stock")).await;
        // Enter sends what stands in every row.
        olivia.presses(Key::Enter).await;
        olivia.sees("main[data-state=ST-4] .summary:focus").await;
        assert_eq!(story.left_of_the_last_product().await, 4);
        assert_eq!(olivia.value("tr:nth-child(2) [name=pieces]").await, "many");
        assert_eq!(olivia.value(&format!("{row} [name=pieces]")).await, "");
        olivia.photo(&format!("{language}-stock-refused")).await;
        olivia.types("tr:nth-child(2) [name=pieces]", "6").await;
        olivia.types("tr.new [name=product]", "Tangerines").await;
        olivia.types("tr.new [name=pieces]", "8").await;
        olivia.tabs_to(".delivery .main").await;
        olivia.presses(Key::Enter).await;
        olivia.sees("main[data-state=ST-1]").await;
        assert!(olivia.reads(".flash").await.contains("Tangerines"), "{}", olivia.reads(".flash").await);
        olivia.photo(&format!("{language}-stock-received")).await;
        olivia.goes_to(&format!("/orders/{second}")).await;
        olivia.clicks("form[action$='/start-shipping'] button").await;
        olivia.sees("main[data-state=OV-6]").await;
        assert_eq!(story.left_of_the_last_product().await, 3);
        assert_eq!(olivia.complaints().await, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_that_is_sent_again_after_back_is_received_once() {
    let story = Story::begin().await;
    story.two_orders_of_the_last_piece().await;
    let row = format!("tr:has(input[value='{}']) [name=pieces]", Story::LAST_PRODUCT);
    for park in [story.person("park").await, story.person_without_memory("park").await] {
        let before = story.left_of_the_last_product().await;
        park.goes_to("/stock").await;
        park.types(&row, "4").await;
        park.clicks(".delivery .main").await;
        park.sees(".flash").await;
        park.goes_back().await;
        park.waits_until("!document.querySelector('.flash')").await;
        park.clicks(".delivery .main").await;
        park.sees(":is(.flash, .summary)").await;
        assert_eq!(story.left_of_the_last_product().await, before + 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_numbers_are_not_lost_without_a_question() {
    let story = Story::begin().await;
    story.two_orders_of_the_last_piece().await;
    let park = story.person("park").await;
    let row = format!("tr:has(input[value='{}']) [name=pieces]", Story::LAST_PRODUCT);
    let before = story.left_of_the_last_product().await;
    park.goes_to("/stock").await;
    assert!(!park.is_asked_before(park.reloads()).await);
    park.types(&row, "4").await;
    assert!(park.is_asked_before(park.reloads()).await);
    park.types(&row, "4").await;
    assert!(!park.is_asked_before(park.clicks(".delivery .main")).await);
    park.sees(".flash").await;
    assert_eq!(story.left_of_the_last_product().await, before + 4);
    // Nor is what was refused.
    park.types(&row, "many").await;
    park.clicks(".delivery .main").await;
    park.sees("main[data-state=ST-4] .summary").await;
    park.clicks("h1").await;
    assert!(park.is_asked_before(park.reloads()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn number_typed_while_a_delivery_is_sent_is_in_the_next_page() {
    let story = Story::begin().await;
    story.two_orders_of_the_last_piece().await;
    let park = story.person("park").await;
    let row = format!("tr:has(input[value='{}']) [name=pieces]", Story::LAST_PRODUCT);
    let other = "tr:nth-child(2) [name=pieces]";
    let before = story.left_of_the_last_product().await;
    park.goes_to("/stock").await;
    park.types(&row, "4").await;
    // As on a slow line: the browser has sent it, and its answer is not there yet.
    let sent = "addEventListener('submit', () => setTimeout(() => document.querySelector(\"OTHER\").value = '33'))";
    park.finds::<()>(&format!("({}, null)", sent.replace("OTHER", other))).await;
    park.clicks(".delivery .main").await;
    park.sees(".flash").await;
    assert_eq!(story.left_of_the_last_product().await, before + 4);
    assert_eq!((park.value(&row).await.as_str(), park.value(other).await.as_str()), ("", "33"));
    park.photo("stock-typed-further").await;
    park.clicks("h1").await;
    assert!(park.is_asked_before(park.reloads()).await);
}
