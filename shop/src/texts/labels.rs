//! Labels of the fields of forms and conflicts, and formatted values.

use std::borrow::Borrow;

use tenure::aggregate::value::Value;

use super::{Html, Lang, texts};
use crate::domain::{Money, OrderState};

texts! {
    receiver: "Receiver", "받는 사람";
    phone: "Phone", "전화번호";
    postal_code: "Postal code", "우편번호";
    address_line1: "Address", "주소";
    address_line2: "Building, floor, room", "상세 주소";
    message: "Message to the courier", "배송 메시지";
    state: "State", "상태";
    total: "Total", "합계";
    note_text: "Note", "메모";
    product: "Product", "상품";
    price: "Price", "단가";
    quantity: "Quantity", "수량";
    amount: "Amount", "금액";
    new_product: "New product", "추가할 상품";
    new_price: "Price of the new product", "추가할 상품의 단가";
    new_quantity: "Quantity of the new product", "추가할 상품의 수량";
    reason: "Reason", "사유";
    line_field(line, field): "Line {line}: {field}", "{line}번 상품 {field}";
    line_quantity(product): "Quantity of {product}", "{product} 수량";
    line_added(product): "New line: {product}", "추가된 상품: {product}";
    line_added_by_me(product): "Your new line: {product}", "내가 추가한 상품: {product}";
    pieces_at(count, price): "{count} at {price}", "{price} × {count}개";
    won(amount): "₩{amount}", "{amount}원";
}

impl Lang {
    /// An amount of money, with the sign of the currency.
    pub(crate) fn money(self, amount: impl Borrow<Money>) -> Html {
        self.won(*amount.borrow())
    }
}

/// The label of a field, by the path in a conflict (`shipping.address.line1`, `lines[2].quantity`) or by its name in
/// a form (`address.line1`, `quantity-2`). An unknown path is shown as it is.
pub(crate) fn field_label(t: Lang, path: &str) -> Html {
    if let Some((line, field)) = line_of(path) {
        return t.line_field(line, field_label(t, field));
    }
    let label = match path.strip_prefix("shipping.").unwrap_or(path) {
        "receiver.name" => t.receiver(),
        "receiver.phone" => t.phone(),
        "address.postal_code" => t.postal_code(),
        "address.line1" => t.address_line1(),
        "address.line2" => t.address_line2(),
        "message" => t.message(),
        "state" => t.state(),
        "total" => t.total(),
        "text" => t.note_text(),
        "product" | "lines.product" => t.product(),
        "price" | "lines.price" => t.price(),
        "quantity" => t.quantity(),
        "new-product" => t.new_product(),
        "new-price" => t.new_price(),
        "new-quantity" => t.new_quantity(),
        "pieces" => t.pieces_received(),
        "reason" => t.reason(),
        "login" | "member_id" => t.login(),
        other => return Html::text(other),
    };
    label.into()
}

/// The line number in a path or a field name, and the field within the line.
pub(crate) fn line_of(path: &str) -> Option<(u32, &str)> {
    if let Some(rest) = path.strip_prefix("lines[") {
        let (line, field) = rest.split_once("].")?;
        return Some((line.parse().ok()?, field));
    }
    Some((path.strip_prefix("quantity-")?.parse().ok()?, "quantity"))
}

/// A formatted value of a conflict.
pub(crate) fn shown(t: Lang, path: &str, value: &Value) -> String {
    let field = line_of(path).map_or(path, |(_, field)| field);
    match (field, value) {
        ("total" | "price", Value::Integer(amount)) => t.money(Money::won(*amount)).to_string(),
        ("state", Value::Text(code)) => match OrderState::from_code(code) {
            Some(state) => t.order_state(state).to_owned(),
            None => code.clone(),
        },
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(t: Lang, path: &str) -> String {
        field_label(t, path).to_string()
    }

    #[test]
    fn paths_and_field_names_use_the_same_words() {
        for t in [Lang::En, Lang::Ko] {
            assert_eq!(label(t, "shipping.address.line1"), label(t, "address.line1"));
            assert_eq!(label(t, "lines[2].quantity"), label(t, "quantity-2"));
        }
        assert_eq!(label(Lang::En, "shipping.receiver.name"), "Receiver");
        assert_eq!(label(Lang::Ko, "shipping.address.postal_code"), "우편번호");
        assert_eq!(label(Lang::En, "lines[2].quantity"), "Line 2: Quantity");
        assert_eq!(label(Lang::Ko, "lines[12].price"), "12번 상품 단가");
    }

    #[test]
    fn unknown_path_is_shown_and_escaped() {
        assert_eq!(label(Lang::En, "gift.wrap"), "gift.wrap");
        assert_eq!(label(Lang::En, "lines[x].quantity"), "lines[x].quantity");
        assert_eq!(label(Lang::En, "<b>"), "&lt;b&gt;");
    }

    #[test]
    fn values_are_shown_as_people_read_them() {
        assert_eq!(shown(Lang::En, "total", &Value::Integer(12_300)), "₩12,300");
        assert_eq!(shown(Lang::Ko, "lines[1].price", &Value::Integer(12_300)), "12,300원");
        assert_eq!(shown(Lang::Ko, "state", &Value::Text("Shipped".into())), "발송 완료");
        assert_eq!(shown(Lang::Ko, "state", &Value::Text("Lost".into())), "Lost");
        assert_eq!(shown(Lang::En, "lines[1].quantity", &Value::Integer(2)), "2");
    }
}
