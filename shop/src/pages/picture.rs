//! Drawings of products, by a word in their names. A product without such a word is a parcel.

use std::fmt;

use askama::filters::HtmlSafe;

/// A drawing of `assets/products.svg`. The name of the product stands beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Picture(&'static str);

/// Words in names of products, and what is drawn for them. The first that fits counts.
const WORDS: [(&str, &str); 41] = [
    ("감귤", "fruit"),
    ("키보드", "keyboard"),
    ("coffee", "coffee"),
    ("콜드브루", "coffee"),
    ("기름", "bottle"),
    ("세제", "bottle"),
    ("수건", "towel"),
    ("의자", "chair"),
    ("밥공기", "bowl"),
    ("흰쌀밥", "bowl"),
    ("입문서", "book"),
    ("그림책", "book"),
    ("programming", "book"),
    ("tumbler", "tumbler"),
    ("옥수수", "corn"),
    ("스탠드", "lamp"),
    ("충전기", "charger"),
    ("tea,", "tea"),
    ("찻잔", "tea"),
    ("이불", "quilt"),
    ("선물", "gift"),
    ("러닝화", "shoe"),
    ("headphones", "headphones"),
    ("초콜릿", "chocolate"),
    ("모종", "plant"),
    ("우비", "coat"),
    ("모니터", "monitor"),
    ("도시락김", "snack"),
    ("과자", "snack"),
    ("고양이", "snack"),
    ("mat ", "mat"),
    ("가습기", "device"),
    ("청소기", "device"),
    ("만년필", "pen"),
    ("backpack", "backpack"),
    ("캔들", "candle"),
    ("soap", "soap"),
    ("게임", "game"),
    ("휴대폰", "phone"),
    ("watercolor", "paint"),
    ("양말", "socks"),
];

/// The drawing of a product.
pub(crate) fn of(product: &str) -> Picture {
    let product = product.to_lowercase();
    let fits = WORDS.iter().find(|(word, _)| product.contains(word));
    Picture(fits.map_or("parcel", |(_, drawing)| drawing))
}

impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0;
        write!(
            f,
            r##"<svg class="picture" aria-hidden="true" focusable="false"><use href="/assets/products.svg#{name}"/></svg>"##
        )
    }
}

impl HtmlSafe for Picture {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_product_of_the_demo_is_drawn_and_every_drawing_is_there() {
        let drawings = include_str!("../../assets/products.svg");
        for product in crate::seed::stock() {
            let (product, Picture(name)) = (product.name(), of(product.name()));
            assert!(name != "parcel", "{product}");
            assert!(drawings.contains(&format!(r#"<symbol id="{name}""#)), "{name}");
        }
        assert_eq!(of("something else"), Picture("parcel"));
        assert!(drawings.contains(r#"<symbol id="parcel""#));
    }
}
