//! Two operators ship orders with the same last product.

use browser::Story;

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
        olivia.clicks(&format!("{row} summary")).await;
        olivia.types(&format!("{row} [name=pieces]"), "4").await;
        olivia.photo(&format!("{language}-stock")).await;
        olivia.clicks(&format!("{row} form button")).await;
        olivia.sees("[role=status]").await;
        olivia.goes_to(&format!("/orders/{second}")).await;
        olivia.clicks("form[action$='/start-shipping'] button").await;
        olivia.sees("main[data-state=OV-6]").await;
        assert_eq!(story.left_of_the_last_product().await, 3);
        assert_eq!(olivia.complaints().await, Vec::<String>::new());
    }
}
