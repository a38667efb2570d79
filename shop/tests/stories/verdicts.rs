//! The verdict on an open form agrees with the result of its save.

use tenure_web::verdict::Saving;

use super::support::{Browser, Form, ORDER, Server, TTL};

const SHIPPING: &str = "/orders/2026-000300/shipping";
const SAVE: &str = "/orders/2026-000300/edit/save";
const START: &str = "/orders/2026-000300/start-shipping";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Meanwhile {
    Nothing,
    HerLeaseRanOut,
    SomebodySaved,
    HerLeaseRanOutAndSomebodySaved,
    SomebodyTookIt,
    SheTookItElsewhere,
    ItWasShipped,
    ItWasCancelled,
    ItWasBroken,
    SheSavedIt,
}

use Meanwhile::*;

const ALL: [Meanwhile; 10] = [
    Nothing,
    HerLeaseRanOut,
    SomebodySaved,
    HerLeaseRanOutAndSomebodySaved,
    SomebodyTookIt,
    SheTookItElsewhere,
    ItWasShipped,
    ItWasCancelled,
    ItWasBroken,
    SheSavedIt,
];

struct People {
    server: Server,
    minji: Browser,
    park: Browser,
}

impl People {
    async fn saves_a_message(&self, browser: &Browser, text: &str) {
        browser.submit(browser.get(SHIPPING).await.form(SHIPPING).with("message", text)).await.is(200);
    }

    /// An event between opening the form and saving it. An event that needs a free order happens after an expiry.
    async fn happens(&self, meanwhile: Meanwhile, form: &Form, holds: bool) {
        let is_in_the_way = matches!(meanwhile, SomebodySaved | SomebodyTookIt | SheTookItElsewhere | ItWasCancelled);
        let lapses = matches!(meanwhile, HerLeaseRanOut | HerLeaseRanOutAndSomebodySaved);
        if holds && (is_in_the_way || lapses) {
            self.server.clock.advance(TTL);
        }
        match meanwhile {
            Nothing | HerLeaseRanOut => {}
            SomebodySaved | HerLeaseRanOutAndSomebodySaved => self.saves_a_message(&self.park, "불량 확인").await,
            SomebodyTookIt => drop(self.park.edit(ORDER).await.is(200)),
            SheTookItElsewhere => drop(self.minji.edit(ORDER).await.is(200)),
            ItWasShipped => {
                let start = self.park.open(ORDER).await.form(START);
                let page = self.park.submit(start).await;
                if page.status.as_u16() == 423 {
                    self.park.submit(page.form(START)).await.is(200);
                }
            }
            ItWasCancelled => {
                let cancel = self.park.open(ORDER).await.form("/orders/2026-000300/cancel");
                self.park.submit(cancel).await.is(200);
            }
            ItWasBroken if holds => {
                let end = self.park.get("/locks").await.form("/locks/break").with("reason", "지금 포장합니다");
                self.park.submit(end).await.is(200);
            }
            ItWasBroken => {}
            SheSavedIt => drop(self.minji.submit(form.clone().with("message", "first")).await.is(200)),
        }
    }
}

/// The verdict on the form, by its name.
fn promised(mode: &str) -> Saving {
    match mode {
        "held" | "free" => Saving::Goes,
        "moved" => Saving::Compares,
        _ => Saving::Refused,
    }
}

#[tokio::test]
async fn the_verdict_on_a_form_agrees_with_the_result_of_its_save() {
    let mut told_and_met = Vec::new();
    for (kind, takes) in [("shipping", false), ("shipping", true), ("edit", true)] {
        for meanwhile in ALL {
            let server = Server::start().await;
            let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
            let people = People { server, minji, park };
            let form = match kind {
                "edit" => people.minji.edit(ORDER).await.is(200).form(SAVE),
                _ => people.minji.get(SHIPPING).await.is(200).form(SHIPPING),
            };
            let form = form.with("address.line1", "세종대로 9");
            if kind == "shipping" && takes {
                assert_eq!(people.minji.beat(kind, &form, "take").await.1["mode"], "held");
            }
            people.happens(meanwhile, &form, takes).await;
            let (status, told) = people.minji.beat(kind, &form, "look").await;
            assert_eq!(status, 200, "{meanwhile:?}");
            let before = people.server.order(ORDER).await.1;
            let (_, sent) = people.minji.send_by_script(&form).await;
            let saved = people.server.order(ORDER).await.1 > before;
            let page = people.minji.get(sent["next"].as_str().unwrap()).await;
            let met = match (saved, page.status.as_u16(), page.state().starts_with("CP-4")) {
                (true, 200, _) => Saving::Goes,
                // A rule of the order is no comparison: nothing can be saved any more.
                (false, 409, false) if page.state().starts_with("CP") => Saving::Compares,
                (false, ..) => Saving::Refused,
                (true, ..) => panic!("{kind} {meanwhile:?}: saved, and then {}", page.html),
            };
            let mode = told["mode"].as_str().unwrap().to_owned();
            told_and_met.push((kind, takes, meanwhile, mode, met));
        }
    }
    for (kind, takes, meanwhile, mode, met) in &told_and_met {
        // Other text in a saved form goes on top of that save; the verdict says that the form was saved.
        let of_its_own = *meanwhile == SheSavedIt && mode == "saved";
        assert!(of_its_own || promised(mode) == *met, "{kind} {takes} {meanwhile:?}: told {mode}, met {met:?}");
    }
    assert_eq!(told_and_met.len(), 30);
}
