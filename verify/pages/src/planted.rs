//! Wrong builds of the pages, each with one mistake, to see that the checks find it. No release contains this crate.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderValue, Method};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use shop::domain::{Order, OrderNo};
use shop::{Settings, Shop};
use tenure::Repository;
use tokio::net::TcpListener;

use super::Result;

/// How long after its answer a save is made.
const LATER: Duration = Duration::from_millis(300);

/// The mistake of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Bug {
    /// A save is answered before it is committed.
    AnswerBeforeCommit,
    /// A save ignores the version in the form.
    VersionIgnored,
    /// The script keeps no drafts.
    NoDrafts,
    /// The script puts a draft into a form of any version.
    DraftOnAnyVersion,
    /// The script offers a draft to anybody.
    DraftOfAnybody,
    /// The script deletes the draft of a refused form, and the page does not show the text.
    RefusalForgetsText,
    /// The script takes only what differs from the aggregate for typed: text that is taken back on a refused page is no draft.
    TakenBackForgotten,
    /// The script asks nothing about text that was sent when its page was left.
    SentNotAsked,
    /// The choices of a comparison lead nowhere.
    ChoiceLeadsNowhere,
}

impl Bug {
    /// Its name, as on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Bug::AnswerBeforeCommit => "answer-before-commit",
            Bug::VersionIgnored => "version-ignored",
            Bug::NoDrafts => "no-drafts",
            Bug::DraftOnAnyVersion => "draft-on-any-version",
            Bug::DraftOfAnybody => "draft-of-anybody",
            Bug::RefusalForgetsText => "refusal-forgets-text",
            Bug::TakenBackForgotten => "taken-back-forgotten",
            Bug::SentNotAsked => "sent-not-asked",
            Bug::ChoiceLeadsNowhere => "choice-leads-nowhere",
        }
    }

    /// What is different in a script.
    fn script(self) -> Option<[&'static str; 3]> {
        match self {
            Bug::NoDrafts => Some(["text.js", "onKeep?.(Boolean(put(draftOf(text))));", "remove({ key });"]),
            Bug::DraftOnAnyVersion => Some(["text.js", "isOfNow(draft) && agrees", "agrees"]),
            Bug::DraftOfAnybody => Some(["text.js", "draft.person === person && draft.form", "draft.form"]),
            Bug::RefusalForgetsText => Some([
                "save.js",
                "if (!answer.done) text.refused(true);",
                "if (!answer.done) { text.rebase(values(form)); answer.next = how.url; }",
            ]),
            Bug::TakenBackForgotten => Some(["text.js", "[before, drawn].some", "[before].some"]),
            Bug::SentNotAsked => {
                Some(["text.js", "if (!(sent || sentText) || !question) return false;", "return false;"])
            }
            Bug::ChoiceLeadsNowhere => Some([
                "save.js",
                "if (event.target !== element || ",
                "if (element.id === 'conflict') event.preventDefault();\nif (event.target !== element || ",
            ]),
            Bug::AnswerBeforeCommit | Bug::VersionIgnored => None,
        }
    }
}

/// Serves the shop with this mistake.
pub(super) async fn serve(listener: TcpListener, shop: Shop, bug: Bug) -> Result<()> {
    let app = shop::app(shop.clone(), Settings::default());
    let wrong: Router = app.layer(from_fn_with_state((shop, bug), around));
    Ok(axum::serve(listener, wrong).await?)
}

async fn around(State((shop, bug)): State<(Shop, Bug)>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let order = path
        .strip_prefix("/orders/")
        .and_then(|rest| rest.strip_suffix("/shipping").or_else(|| rest.strip_suffix("/edit/save")).map(str::to_owned));
    let order = order.filter(|_| request.method() == Method::POST);
    match (bug, bug.script(), order) {
        (_, Some([script, right, wrong]), _) if path.ends_with(script) => {
            replaced(next.run(request).await, right, wrong).await
        }
        (Bug::AnswerBeforeCommit, _, Some(order)) => {
            tokio::spawn(async move {
                tokio::time::sleep(LATER).await;
                next.run(request).await
            });
            saved(&order)
        }
        (Bug::VersionIgnored, _, Some(order)) => match on_the_current_version(&shop, &order, request).await {
            Ok(request) => next.run(request).await,
            Err(error) => panic!("the version of the form cannot be replaced: {error}"),
        },
        _ => next.run(request).await,
    }
}

/// The answer to a form that was saved, with the message for the next page.
fn saved(order: &str) -> Response {
    let answer = format!(r#"{{"next":"/orders/{order}","done":true}}"#);
    let mut response = ([(CONTENT_TYPE, "application/json")], answer).into_response();
    let message = HeaderValue::from_static("shop-flash=said=%22Saved%22; Path=/; Max-Age=60");
    response.headers_mut().insert(SET_COOKIE, message);
    response
}

async fn replaced(response: Response, right: &str, wrong: &str) -> Response {
    let (mut parts, body) = response.into_parts();
    let text = text_of(body).await.expect("a script is short");
    assert!(text.contains(right), "the script has changed: {right}");
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(text.replace(right, wrong)))
}

async fn on_the_current_version(shop: &Shop, order: &str, request: Request) -> Result<Request> {
    let (mut parts, body) = request.into_parts();
    let mut fields: Vec<(String, String)> = serde_urlencoded::from_str(&text_of(body).await?)?;
    let loaded = Repository::<Order>::new(shop.database()).get(&OrderNo::new(order)?).await?;
    let current = loaded.ok_or("the order is there")?.token().to_string();
    for (_, value) in fields.iter_mut().filter(|(name, _)| name == "version") {
        value.clone_from(&current);
    }
    parts.headers.remove(CONTENT_LENGTH);
    Ok(Request::from_parts(parts, Body::from(serde_urlencoded::to_string(fields)?)))
}

async fn text_of(body: Body) -> Result<String> {
    let bytes: Bytes = to_bytes(body, 1024 * 1024).await?;
    Ok(String::from_utf8(bytes.to_vec())?)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_wrong_build_of_a_script_finds_its_place_once() {
        let scripts = [
            ("text.js", include_str!("../../../web/assets/text.js")),
            ("save.js", include_str!("../../../web/assets/save.js")),
        ];
        for bug in Bug::value_variants() {
            let Some([name, right, _]) = bug.script() else { continue };
            let (_, script) = scripts.iter().find(|(script, _)| *script == name).expect("a script of the kit");
            assert_eq!(script.matches(right).count(), 1, "{}: {right}", bug.name());
        }
    }
}
