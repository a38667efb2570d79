//! The frame of every page: language, the signed-in person, the form token, and the last flash message.

use std::convert::Infallible;
use std::time::SystemTime;

use askama::Template;
use axum::extract::FromRequestParts;
use axum::http::header::{ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_LANGUAGE, VARY};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{Html as HtmlBody, IntoResponse, Response};
use jiff::Timestamp;
use tenure::Owner;
use tenure::lease::Holder;
use tenure::version::Change;
use tenure_web::csrf::CsrfToken;
use tenure_web::sent::is_script;

use super::face::Face;
use super::fields::Fields;
use super::flash::Flash;
use crate::cookies;
use crate::domain::Member;
use crate::seed;
use crate::session::{SentCookies, SignedIn};
use crate::texts::{Html, Lang, Part, When};
use crate::use_cases::Shop;

/// The frame of a page, with or without a signed-in person.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// The language, which is also the table of texts.
    pub(crate) t: Lang,
    /// The state of the page, from the list of states: tests and the script use it.
    pub(crate) state: &'static str,
    /// The text of the hidden field `csrf`.
    pub(crate) csrf: String,
    /// The signed-in member.
    pub(crate) member: Option<Member>,
    /// The flash message of the redirect before this page.
    pub(crate) flash: Option<Html>,
    /// Whether the page's script sent the request, and not the browser.
    pub(crate) script: bool,
    /// When the page is rendered.
    pub(crate) now: Timestamp,
    /// The address of the page in the other language.
    pub(crate) other_language: String,
    /// The fields to send there to see the page in the other language, if the page is a response to a form.
    pub(crate) sent_again: Option<Fields>,
    /// The requested path.
    path: String,
    /// Whether this request chose the language, so that it must be remembered.
    chosen: bool,
    /// Whether the browser sent the cookie of its key.
    pub(crate) has_cookies: bool,
}

/// A request of a signed-in person.
#[derive(Debug)]
pub(crate) struct Visit {
    /// The frame of the page.
    pub(crate) frame: Frame,
    /// The signed-in member.
    pub(crate) member: Member,
}

impl Frame {
    /// Without the pending message: for responses to forms.
    pub(crate) fn bare(parts: &Parts) -> Frame {
        let uri = &parts.uri;
        let (query, cookie) =
            (query_value(uri, "lang"), cookies::read(&parts.headers, &parts.extensions, Lang::COOKIE));
        let accept = parts.headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        // The script asks in the language of its page, which may be older than the choice in the cookie.
        let script = is_script(&parts.headers);
        let (first, second) = if script { (accept, cookie) } else { (cookie, accept) };
        let t = Lang::negotiate(query, first, second);
        Frame {
            t,
            state: "",
            csrf: parts.extensions.get().map(CsrfToken::to_string).unwrap_or_default(),
            member: parts.extensions.get().cloned(),
            flash: None,
            script,
            path: local(uri.path()).to_owned(),
            now: Timestamp::now(),
            other_language: match is_safe(&parts.method) {
                true => in_language(uri, t.other()),
                false => format!("/orders?lang={}", t.other().code()),
            },
            sent_again: None,
            chosen: chosen_language(uri).is_some(),
            has_cookies: parts.extensions.get().is_none_or(|SentCookies(sent)| *sent),
        }
    }

    /// Sets the state of the page.
    pub(crate) fn state(mut self, state: &'static str) -> Frame {
        self.state = state;
        self
    }

    /// The id of the viewer, for forms: typed text belongs to them.
    pub(crate) fn person(&self) -> &str {
        self.member.as_ref().map_or("", |member| member.id().as_str())
    }

    /// The sign of a person.
    pub(crate) fn face(&self, owner: &Owner) -> String {
        Face(owner).to_string()
    }

    /// The sign of the viewer.
    pub(crate) fn my_face(&self) -> String {
        self.member.as_ref().map(|member| self.face(&member.owner())).unwrap_or_default()
    }

    /// An instant, formatted for this page.
    pub(crate) fn at(&self, at: impl IntoTimestamp) -> When {
        When::new(self.t, at.into_timestamp(), self.now)
    }

    /// The head of a column with what is so now: as of when, because the page stays.
    pub(crate) fn now_heading(&self) -> Html {
        self.t.now_at(self.at(self.now))
    }

    /// When the page was rendered.
    pub(crate) fn as_of(&self) -> Html {
        self.t.as_of(self.at(self.now).with_zone())
    }

    /// Whether the viewer is an operator.
    pub(crate) fn is_operator(&self) -> bool {
        self.member.as_ref().is_some_and(Member::is_operator)
    }

    /// Who made a change; what the demo came with has no author.
    pub(crate) fn author(&self, change: &Change) -> Option<Html> {
        let by = change.by.as_ref()?;
        Some(if self.is_of_the_demo(change) { self.t.demo_data().into() } else { by.html() })
    }

    /// Whether the demo came with it.
    pub(crate) fn is_of_the_demo(&self, change: &Change) -> bool {
        change.by.as_ref().is_some_and(|by| by.id == seed::AUTHOR)
    }

    /// Whether that is the viewer.
    pub(crate) fn is_me(&self, owner: &Owner) -> bool {
        self.member.as_ref().is_some_and(|member| member.id().as_str() == owner.id)
    }

    /// The holder of an order as the viewer sees them. One rule for who works on an order and who looks at it: customers see the staff as
    /// one, operators see names. Who has changed an order is named to everybody who may see it.
    pub(crate) fn sees(&self, mut holder: Holder) -> Holder {
        if !self.is_operator() && !self.is_me(&holder.owner) {
            holder.owner = self.staff();
        }
        holder
    }

    /// Anybody of the shop, for customers.
    pub(crate) fn staff(&self) -> Owner {
        Owner::new("", self.t.of_the_shop())
    }

    /// The latest of these changes: author, command and time.
    pub(crate) fn latest(&self, changes: &[Change]) -> Html {
        let did = |change: &Change| {
            let is_me = change.by.as_ref().is_some_and(|by| self.is_me(by));
            self.t.did(change, is_me, self.at(change.at))
        };
        changes.first().map_or_else(|| self.t.changed_since().into(), did)
    }

    /// The number of the order in the address, if there is one.
    pub(crate) fn order(&self) -> Option<String> {
        let no = self.path.strip_prefix("/orders/")?.split('/').next()?;
        let decoded: Vec<(String, String)> =
            serde_urlencoded::from_str(&format!("no={}", no.replace('+', "%2B"))).ok()?;
        decoded.into_iter().next().map(|(_, no)| no).filter(|no| !no.is_empty())
    }

    /// The frame of a response to this form: the language switch sends the same form again, which then does nothing.
    pub(crate) fn answering(self, sent: &Fields) -> Frame {
        let other_language = format!("{}?lang={}", self.path, self.t.other().code());
        Frame { other_language, sent_again: Some(sent.again()), ..self }
    }

    /// The frame of a response that has a form to fill in: a language switch would drop what is typed into it.
    pub(crate) fn without_switch(self) -> Frame {
        Frame { other_language: String::new(), sent_again: None, ..self }
    }

    /// Whether this request chose the language.
    pub(crate) fn has_chosen(&self) -> bool {
        self.chosen
    }

    /// The requested path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether the page is in that part of the shop.
    pub(crate) fn is_in(&self, part: &str) -> bool {
        self.path.starts_with(part)
    }

    /// The address of the style sheet.
    pub(crate) fn style(&self) -> &'static str {
        super::assets::style_address()
    }

    /// Responds with a page. Pages show data that only this person may see, so nothing may cache them.
    pub(crate) fn answer(&self, status: StatusCode, page: &impl Template) -> Response {
        let mut response = match page.render() {
            Ok(html) => (status, HtmlBody(html)).into_response(),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "a page could not be drawn");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_LANGUAGE, HeaderValue::from_static(self.t.code()));
        headers.insert(VARY, HeaderValue::from_static("Accept-Language, Cookie"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.flash.is_some() {
            Flash::forget(&mut response);
        }
        response
    }
}

impl FromRequestParts<Shop> for Frame {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Shop) -> Result<Frame, Infallible> {
        let mut frame = Frame::bare(parts);
        if is_safe(&parts.method) {
            frame.flash = Flash::waiting(parts).map(|flash| flash.text(frame.t));
        }
        Ok(frame)
    }
}

impl FromRequestParts<Shop> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shop: &Shop) -> Result<Visit, Response> {
        let SignedIn(member) = SignedIn::from_request_parts(parts, shop).await?;
        match Frame::from_request_parts(parts, shop).await {
            Ok(frame) => Ok(Visit { frame, member }),
            Err(never) => match never {},
        }
    }
}

/// Templates pass values by reference.
impl<T: IntoTimestamp + Copy> IntoTimestamp for &T {
    fn into_timestamp(self) -> Timestamp {
        (*self).into_timestamp()
    }
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// The two kinds of time that reach the pages: the library's and the domain's.
pub(crate) trait IntoTimestamp {
    /// Converts to the displayable kind.
    fn into_timestamp(self) -> Timestamp;
}

impl IntoTimestamp for Timestamp {
    fn into_timestamp(self) -> Timestamp {
        self
    }
}

impl IntoTimestamp for SystemTime {
    fn into_timestamp(self) -> Timestamp {
        Timestamp::try_from(self).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

/// The language that an address chooses.
pub(crate) fn chosen_language(uri: &Uri) -> Option<Lang> {
    query_value(uri, "lang").and_then(|code| code.parse().ok())
}

fn query_value<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    let pairs = uri.query()?.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The same address with another language in the query.
fn in_language(uri: &Uri, lang: Lang) -> String {
    let pairs = uri.query().unwrap_or_default().split('&');
    let mut kept: Vec<_> = pairs.filter(|pair| !pair.is_empty() && !pair.starts_with("lang=")).collect();
    let chosen = format!("lang={}", lang.code());
    kept.push(&chosen);
    format!("{}?{}", local(uri.path()), kept.join("&"))
}

/// The path as one of this shop: browsers would read two leading slashes as another host.
fn local(path: &str) -> &str {
    let rest = path.trim_start_matches(['/', '\\']);
    match path.len() - rest.len() {
        0 | 1 => path,
        // The last slash is one byte, whichever it is.
        many => path.get(many - 1..).filter(|path| path.starts_with('/')).unwrap_or("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_switch_keeps_the_rest_of_the_address() {
        let switched = |address: &'static str| in_language(&Uri::from_static(address), Lang::Ko);
        assert_eq!(switched("/orders"), "/orders?lang=ko");
        assert_eq!(switched("/orders?state=Shipped&lang=en&page=2"), "/orders?state=Shipped&page=2&lang=ko");
    }

    #[test]
    fn the_language_switch_leads_to_no_other_host() {
        let switched = |address: &str| in_language(&address.parse().expect("an address"), Lang::Ko);
        assert_eq!(switched("//evil.example/x"), "/evil.example/x?lang=ko");
        assert_eq!(switched("///evil.example/x?a=b"), "/evil.example/x?a=b&lang=ko");
        assert_eq!((local("/\\evil.example"), local("/\\/evil.example"), local("/")), ("/", "/evil.example", "/"));
    }

    #[test]
    fn the_query_is_found_by_name() {
        assert_eq!(query_value(&Uri::from_static("/?xlang=en&lang=ko"), "lang"), Some("ko"));
        assert_eq!(query_value(&Uri::from_static("/"), "lang"), None);
    }
}
