//! The style sheet, the font and the icons: part of the program, so that it runs from anywhere.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};

const STYLE: &str = include_str!("../../assets/shop.css");
/// Its name has a number: a changed font gets another one.
const FONT: &[u8] = include_bytes!("../../assets/font/shop-sans-1.woff2");
const ICONS: &str = include_str!("../../assets/icons.svg");
const PRODUCTS: &str = include_str!("../../assets/products.svg");
const FAVICON: &str = include_str!("../../assets/favicon.svg");

/// The addresses of the style sheet and of the font change with their content, so browsers may keep them.
const FOR_A_YEAR: &str = "public, max-age=31536000, immutable";
const FOR_AN_HOUR: &str = "public, max-age=3600";

type Asset<T = &'static str> = ([(HeaderName, &'static str); 2], T);

/// Where the style sheet is, with a mark that changes when it does.
pub(super) fn style_address() -> &'static str {
    static ADDRESS: LazyLock<String> = LazyLock::new(|| {
        let mut hasher = DefaultHasher::new();
        STYLE.hash(&mut hasher);
        format!("/assets/shop.css?v={:016x}", hasher.finish())
    });
    &ADDRESS
}

pub(super) async fn style() -> Asset {
    ([(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, FOR_A_YEAR)], STYLE)
}

pub(super) async fn font() -> Asset<&'static [u8]> {
    ([(CONTENT_TYPE, "font/woff2"), (CACHE_CONTROL, FOR_A_YEAR)], FONT)
}

pub(super) async fn icons() -> Asset {
    ([(CONTENT_TYPE, "image/svg+xml"), (CACHE_CONTROL, FOR_AN_HOUR)], ICONS)
}

pub(super) async fn products() -> Asset {
    ([(CONTENT_TYPE, "image/svg+xml"), (CACHE_CONTROL, FOR_AN_HOUR)], PRODUCTS)
}

pub(super) async fn favicon() -> Asset {
    ([(CONTENT_TYPE, "image/svg+xml"), (CACHE_CONTROL, FOR_AN_HOUR)], FAVICON)
}
