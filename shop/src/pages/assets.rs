//! The style sheet and the icons: part of the program, so that it runs from anywhere.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};

const STYLE: &str = include_str!("../../assets/shop.css");
const ICONS: &str = include_str!("../../assets/icons.svg");
const DEMO_STYLE: &str = include_str!("../../assets/demo.css");
const DEMO_SCRIPT: &str = include_str!("../../assets/demo.js");
const FAVICON: &str = include_str!("../../assets/favicon.svg");

/// The address of the style sheet changes with its content, so browsers may keep it.
const FOR_A_YEAR: &str = "public, max-age=31536000, immutable";
const FOR_AN_HOUR: &str = "public, max-age=3600";

type Asset = ([(HeaderName, &'static str); 2], &'static str);

/// Where the style sheet is, with a mark that changes when it does.
pub(super) fn style_address() -> &'static str {
    static ADDRESS: LazyLock<String> = LazyLock::new(|| marked("/assets/shop.css", STYLE));
    &ADDRESS
}

/// The same for the style sheet and the script of the front page and the demo.
pub(super) fn demo_addresses() -> &'static [String; 2] {
    static ADDRESSES: LazyLock<[String; 2]> =
        LazyLock::new(|| [marked("/assets/demo.css", DEMO_STYLE), marked("/assets/demo.js", DEMO_SCRIPT)]);
    &ADDRESSES
}

fn marked(address: &str, content: &str) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("{address}?v={:016x}", hasher.finish())
}

pub(super) async fn style() -> Asset {
    ([(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, FOR_A_YEAR)], STYLE)
}

pub(super) async fn demo_style() -> Asset {
    ([(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, FOR_A_YEAR)], DEMO_STYLE)
}

pub(super) async fn demo_script() -> Asset {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8"), (CACHE_CONTROL, FOR_A_YEAR)], DEMO_SCRIPT)
}

pub(super) async fn icons() -> Asset {
    ([(CONTENT_TYPE, "image/svg+xml"), (CACHE_CONTROL, FOR_AN_HOUR)], ICONS)
}

pub(super) async fn favicon() -> Asset {
    ([(CONTENT_TYPE, "image/svg+xml"), (CACHE_CONTROL, FOR_AN_HOUR)], FAVICON)
}
