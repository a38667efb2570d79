//! The list of orders: search, filters, sort, pages; each by its address.

use super::support::{Browser, ORDER, Page, Server};

/// The rows of the list, each from its number on.
fn rows(page: &Page) -> impl Iterator<Item = &str> {
    page.is(200).html.split("scope=\"row\"><a href=\"/orders/").skip(1)
}

fn number(row: &str) -> &str {
    row.split('"').next().unwrap()
}

/// The numbers on a page of the list, in their order.
fn numbers(page: &Page) -> Vec<&str> {
    rows(page).map(number).collect()
}

async fn listed(browser: &Browser, query: &str) -> Vec<String> {
    let page = browser.get(&format!("/orders?{query}")).await;
    numbers(&page).into_iter().map(str::to_owned).collect()
}

/// Those of the list of all that are marked as having text that was not saved, whatever the browser has.
async fn marked(browser: &Browser) -> Vec<String> {
    let page = browser.get("/orders").await;
    let marked = rows(&page).filter(|row| row.contains("class=\"draft-mark\" data-state=\"OL-14\">"));
    marked.map(|row| number(row).to_owned()).collect()
}

#[tokio::test]
async fn search_finds_numbers_and_customers_and_signs_mean_themselves() {
    let server = Server::start().await;
    let (park, minji) = (server.sign_in("park").await, server.sign_in("minji").await);
    assert_eq!(listed(&park, "q=000300").await, [ORDER]);
    let emma = park.get("/orders?q=EMMA&state=Delivered").await;
    assert!(numbers(&emma).len() > 3 && emma.html.matches("<bdi>Emma Clark</bdi>").count() == numbers(&emma).len());
    server.place("100%_a").await;
    server.place("100xya").await;
    assert_eq!(listed(&park, "q=100%25_").await, ["100%25_a"]);
    // A customer finds only their own.
    assert_eq!(listed(&minji, "q=Emma").await, Vec::<String>::new());
    let none = park.get("/orders?q=%3Cb%3E").await;
    assert_eq!(none.state(), "OL-11");
    none.says("Nothing was found for “<b>”.");
    for odd in ["q=%00", "q=%EF%BF%BE", "q=%27%3B--", &format!("q={}", "%F0%9F%98%80".repeat(400))] {
        park.get(&format!("/orders?{odd}")).await.is(200);
    }
}

#[tokio::test]
async fn filters_show_what_is_edited_what_is_mine_and_what_was_not_saved() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    park.get("/orders?only=edited").await.says("Nobody is editing an order.");
    park.edit(ORDER).await.is(200);
    let form = olivia.edit("2026-000299").await.form("/orders/2026-000299/edit/save");
    assert_eq!(listed(&park, "only=edited").await, [ORDER, "2026-000299"]);
    assert_eq!(listed(&park, "only=edited&state=Delivered").await, Vec::<String>::new());
    assert_eq!(listed(&park, "only=mine").await, [ORDER]);
    assert_eq!(listed(&server.sign_in("lee").await, "only=edited").await, ["2026-000299"], "his own");
    // What was refused is kept for her alone; the browser names its drafts.
    olivia.submit(form.with("address.postal_code", "")).await;
    assert_eq!(listed(&olivia, "only=drafts").await, ["2026-000299"]);
    assert_eq!(marked(&olivia).await, ["2026-000299"], "also among all");
    assert_eq!((listed(&park, "only=drafts").await, marked(&park).await), (Vec::<String>::new(), Vec::<String>::new()));
    assert_eq!(listed(&park, "only=drafts&draft=2026-000298&draft=nowhere").await, ["2026-000298"]);
    let lee = server.sign_in("lee").await;
    assert_eq!(listed(&lee, "only=drafts&draft=2026-000300").await, Vec::<String>::new(), "of another");
}

#[tokio::test]
async fn list_is_sorted_and_turned_without_losing_its_filters() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let oldest = listed(&park, "sort=oldest").await;
    assert_eq!(oldest[0], "2026-000001");
    assert_eq!(listed(&park, "").await[0], ORDER);
    let page = park.get("/orders?sort=total&page=2&state=Delivered").await;
    let prices: Vec<u64> = page
        .html
        .split("class=\"price num\">₩")
        .skip(1)
        .map(|cell| cell.split('<').next().unwrap().replace(',', "").parse().unwrap())
        .collect();
    assert!(prices.len() == 25 && prices.is_sorted_by(|a, b| a >= b), "{prices:?}");
    assert!(page.html.contains("/orders?state=Delivered&#38;sort=total&#38;page=3"), "{}", page.html);
    // All pages together are all orders, each once.
    let mut all = std::collections::BTreeSet::new();
    for page in 1..=12 {
        all.extend(listed(&park, &format!("sort=total&page={page}")).await);
    }
    assert_eq!(all.len(), 300);
    assert_eq!(listed(&park, "page=99999").await, listed(&park, "page=12").await);
    assert_eq!(listed(&park, "page=２").await, listed(&park, "page=2").await);
}

#[tokio::test]
async fn search_knows_small_and_capital_letters_of_every_script() {
    let server = Server::start().await;
    for (no, name) in [("E-1", "Élodie Müller"), ("R-1", "Мария [Ж*]"), ("G-1", "Ωμέγα")] {
        server.place_of(no, name).await;
    }
    let park = server.sign_in("park").await;
    for (search, no) in [
        ("élodie", "E-1"),
        ("ÉLODIE", "E-1"),
        ("müller", "E-1"),
        ("MÜLLER", "E-1"),
        ("мария", "R-1"),
        ("МАРИЯ", "R-1"),
        ("ωμ", "G-1"),
        ("ΩΜ", "G-1"),
        ("[ж*]", "R-1"),
        ("e-1", "E-1"),
    ] {
        let query = serde_urlencoded::to_string([("q", search)]).unwrap();
        assert_eq!(listed(&park, &query).await, [no], "{search}");
    }
    for nothing in ["%5B%D0%B9*%5D", "**", "%3F", "%5B%5D"] {
        assert_eq!(listed(&park, &format!("q={nothing}")).await, [""; 0].map(str::to_owned), "{nothing}");
    }
}
