//! The stock of the operators.

use super::{Html, Lang, texts};

texts! {
    stock_title: "Stock", "재고";
    stock_intro:
        "Type how many pieces of each product arrived, and receive them together. Pieces leave the stock when the parcel leaves the \
         house: [Start shipping] takes all products of the order, or none.",
        "도착한 상품마다 수량을 입력하고 한꺼번에 입고하세요. 상품은 발송할 때 재고에서 빠집니다. [발송 처리]는 주문의 모든 상품을 한꺼번에 \
         출고하며, 하나라도 모자라면 아무것도 출고하지 않습니다.";
    in_stock: "In stock", "재고 수량";
    receive: "Receive", "입고";
    pieces_received: "Pieces received", "입고 수량";
    pieces_of(product): "Pieces received: {product}", "입고 수량: {product}";
    new_product_here: "New product", "새 상품";
    received_of(product, pieces): "{pieces} of {product}", "{product} {pieces}개";
    nothing_received: "Nothing was received", "아무것도 입고하지 않았습니다";
    some_not_received: "Some products were not received", "입고하지 못한 상품이 있습니다";
    not_received_is_here:
        "What was not received is still in the list: correct it, and send it again.",
        "입고하지 못한 내용은 목록에 그대로 있습니다. 고쳐서 다시 보내세요.";
    no_pieces:
        "Type how many pieces arrived next to at least one product.",
        "도착한 상품 옆에 수량을 입력하세요.";
    stock_changed:
        "The stock changed after you opened the page, so nothing was added. Send the number again if it still is right.",
        "페이지를 연 뒤에 재고가 바뀌어 더하지 않았습니다. 수량이 맞으면 다시 보내세요.";
    product_is_there:
        "This product is in the list already, so nothing was added. Receive the pieces there.",
        "이미 목록에 있는 상품이라 더하지 않았습니다. 목록에서 입고하세요.";
    product_is_gone:
        "This product is not in the list any more, so nothing was added. Send it again to receive it as a new one.",
        "목록에 더는 없는 상품이라 더하지 않았습니다. 새 상품으로 입고하려면 다시 보내세요.";
}

impl Lang {
    /// What was received: products, and how many pieces of each.
    pub(crate) fn delivery(self, received: &[(String, u32)]) -> Html {
        let parts = received.iter().map(|(product, pieces)| self.received_of(product, *pieces).to_string());
        Html::trusted(parts.collect::<Vec<_>>().join(", "))
    }
}
