//! A browser with full control of every byte: visible cookies, no redirects, raw bodies.

use std::collections::BTreeMap;

use reqwest::header::{COOKIE, HeaderMap, LOCATION, SET_COOKIE};
use reqwest::{Client, Method, redirect};
use shop::seed::DEMO_PASSWORD;

use super::support::{Form, Page};

#[derive(Clone)]
pub struct Visitor {
    client: Client,
    /// The address of the shop.
    pub base: String,
    /// Its cookies.
    pub cookies: BTreeMap<String, String>,
}

pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

impl Visitor {
    pub fn new(base: &str) -> Visitor {
        let client = Client::builder().redirect(redirect::Policy::none()).build().unwrap();
        Visitor { client, base: base.to_owned(), cookies: BTreeMap::new() }
    }

    /// A visitor signed in as this member.
    pub async fn signed_in(base: &str, login: &str) -> Visitor {
        let mut visitor = Visitor::new(base);
        let form = visitor.page("/sign-in").await.form("/sign-in");
        let answer = visitor.send(form.with("login", login).with("password", DEMO_PASSWORD)).await;
        assert_eq!((answer.status, answer.location()), (303, "/orders"), "{}", answer.body);
        visitor
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        self.request(Method::GET, path, None, &[]).await
    }

    /// The page at this address, with parsed forms.
    pub async fn page(&mut self, path: &str) -> Page {
        self.get(path).await.page(path)
    }

    /// Sends a form, and follows to the next page.
    pub async fn follow(&mut self, form: Form) -> Page {
        let answer = self.send(form).await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        self.page(answer.location()).await
    }

    pub async fn send(&mut self, form: Form) -> Answer {
        let body = encoded(&form.fields);
        self.post(&form.action, &body).await
    }

    /// Sends these exact fields.
    pub async fn post(&mut self, path: &str, body: &str) -> Answer {
        self.request(Method::POST, path, Some(body), &[]).await
    }

    /// Sends a form if there is a body, otherwise gets a page; `None` without a response.
    pub async fn ask(&mut self, path: &str, body: Option<&str>) -> Option<Answer> {
        let method = if body.is_some() { Method::POST } else { Method::GET };
        self.try_request(method, path, body, &[]).await.ok()
    }

    pub async fn request(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&str>,
        headers: &[(&str, &str)],
    ) -> Answer {
        self.try_request(method, path, body, headers).await.unwrap()
    }

    async fn try_request(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&str>,
        headers: &[(&str, &str)],
    ) -> reqwest::Result<Answer> {
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request = request.header(COOKIE, cookies.join("; "));
        }
        if let Some(body) = body {
            if !headers.iter().any(|(name, _)| *name == "content-type") {
                request = request.header("content-type", "application/x-www-form-urlencoded");
            }
            request = request.body(body.to_owned());
        }
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let response = request.send().await?;
        for cookie in response.headers().get_all(SET_COOKIE) {
            let cookie = cookie.to_str().unwrap();
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            match cookie.to_ascii_lowercase().contains("max-age=0") || value.is_empty() {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Answer { status, headers, body: String::from_utf8_lossy(&response.bytes().await?).into_owned() })
    }
}

impl Answer {
    /// As a page with parsed forms.
    pub fn page(self, path: &str) -> Page {
        Page { status: self.status.try_into().unwrap(), path: path.to_owned(), headers: self.headers, html: self.body }
    }

    /// The target of the redirect, if any.
    pub fn location(&self) -> &str {
        self.headers.get(LOCATION).map_or("", |location| location.to_str().unwrap())
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// Fields as a browser sends them.
pub fn encoded(fields: &[(String, String)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}
