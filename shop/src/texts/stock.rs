//! The stock of the operators.

use super::texts;

texts! {
    stock_title: "Stock", "재고";
    stock_intro:
        "Pieces leave the stock when the parcel leaves the house: [Start shipping] takes all products of the order, or none.",
        "상품은 발송할 때 재고에서 빠집니다. [발송 처리]은 주문의 모든 상품을 한꺼번에 출고하며, 하나라도 모자라면 아무것도 출고하지 않습니다.";
    in_stock: "In stock", "재고 수량";
    receive: "Receive", "입고";
    receive_of(product): "Receive: {product}", "입고: {product}";
    pieces_received: "Pieces received", "입고 수량";
    receive_new: "Receive a new product", "새 상품 입고";
    stock_changed:
        "The stock of this product changed after you opened the page, so nothing was added. This is the list as it is now; send your \
         number again if it still is right.",
        "페이지를 연 뒤에 이 상품의 재고가 바뀌어 더하지 않았습니다. 현재 목록을 확인하고, 입력한 수량이 맞으면 다시 보내세요.";
    product_is_there:
        "This product is in the list already, so nothing was added. Receive the pieces there.",
        "이미 목록에 있는 상품이라 더하지 않았습니다. 목록에서 입고하세요.";
}
