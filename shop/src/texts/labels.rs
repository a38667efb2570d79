//! Words for what the domain and the library name in their own way: states, commands, fields, values and refusals.

use std::borrow::Borrow;

use tenure::value::Value;
use tenure::{Change, Owner};

use super::markup::{Html, Part};
use super::{Lang, When, texts};
use crate::domain::{Invalid, Money, OrderError, OrderLine, OrderState, Problem, Role};

texts! {
    payment_waiting: "Waiting for payment", "결제 대기";
    preparing: "Preparing", "상품 준비 중";
    shipped: "Shipped", "발송 완료";
    in_delivery: "In delivery", "배송 중";
    delivered: "Delivered", "배송 완료";
    cancelled: "Cancelled", "취소됨";

    you: "You", "내가";
    somebody: "Somebody", "누군가";
    person(name): "{name}", "{name} 님이";

    command_place: "Order placed", "주문 접수";
    command_shipping: "Shipping details changed", "배송 정보 변경";
    command_lines: "Products changed", "상품 변경";
    command_start_shipping: "Shipping started", "배송 시작";
    command_cancel: "Order cancelled", "주문 취소";
    command_edit: "Order edited", "주문 수정";
    command_note: "Note written", "메모 작성";
    command_unknown: "Changed", "변경";

    did_change_shipping(who, time): "{who} changed the shipping details at {time}.", "{time}에 {who} 배송 정보를 바꿨습니다.";
    did_change_lines(who, time): "{who} changed the products at {time}.", "{time}에 {who} 상품을 바꿨습니다.";
    did_start_shipping(who, time): "{who} started shipping at {time}.", "{time}에 {who} 배송을 시작했습니다.";
    did_cancel(who, time): "{who} cancelled the order at {time}.", "{time}에 {who} 주문을 취소했습니다.";
    did_edit(who, time): "{who} edited the order at {time}.", "{time}에 {who} 주문을 수정했습니다.";
    did_write_note(who, time): "{who} changed the note at {time}.", "{time}에 {who} 메모를 바꿨습니다.";
    did_change(who, time): "{who} changed it at {time}.", "{time}에 {who} 변경했습니다.";

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
    won(amount): "₩{amount}", "{amount}원";

    labelled(label, text): "{label}: {text}", "{label}: {text}";
    wrong_empty: "Please fill this in.", "입력해 주세요.";
    wrong_too_long(max): "Please shorten it to {max} characters.", "최대 {max}자입니다. 줄여 주세요.";
    wrong_control:
        "There is a character in it that cannot be seen. Please type it instead of pasting it.",
        "보이지 않는 문자가 들어 있습니다. 붙여 넣지 말고 직접 입력해 주세요.";
    wrong_phone: "Please write 7 to 15 digits, as in 010-0000-1234.", "010-0000-1234처럼 숫자 7~15자리로 입력해 주세요.";
    wrong_postal_code: "Please write it as in 06236, SW1A 1AA or 94103.", "06236, SW1A 1AA, 94103처럼 입력해 주세요.";
    wrong_negative: "Please write 0 or more.", "0 이상이어야 합니다.";
    wrong_quantity(max): "Please write a whole number from 1 to {max}.", "1부터 {max}까지의 정수를 입력해 주세요.";
    wrong_price: "Please write whole won, 0 or more.", "0 이상의 원 단위 정수를 입력해 주세요.";

    refused_shipped(state):
        "The parcel has left the house (state: {state}), so the order cannot be changed, cancelled or shipped again. Ask \
         the carrier to redirect the parcel, or have it returned.",
        "이미 발송된 주문(상태: {state})이라 수정, 취소, 배송 시작을 할 수 없습니다. 택배사에 배송지 변경을 요청하거나 \
         반품을 신청하세요.";
    refused_cancelled:
        "The order was cancelled, so nothing about it can change. Place a new order instead.",
        "취소된 주문이라 더는 바꿀 수 없습니다. 새로 주문해 주세요.";
    refused_not_paid:
        "The order is not paid yet, so it cannot be shipped. Confirm the payment first.",
        "아직 결제되지 않아 배송을 시작할 수 없습니다. 먼저 결제를 확인하세요.";
    refused_out_of_turn(state, needed):
        "The state of the order is “{state}”, and this step is for orders in the state “{needed}”. Look at the order again.",
        "주문 상태가 ‘{state}’인데, 이 단계는 ‘{needed}’ 상태에서만 할 수 있습니다. 주문을 다시 확인하세요.";
    refused_no_lines:
        "The order would have no products left. Keep at least one, or cancel the order.",
        "주문에 상품이 하나도 남지 않습니다. 하나는 남기거나 주문을 취소하세요.";
    refused_duplicate_line(line):
        "Line {line} is in the order already. Load the form again and add the product once more.",
        "{line}번 상품이 이미 주문에 있습니다. 양식을 다시 열어 상품을 추가하세요.";
    refused_no_such_line(line):
        "Line {line} is not in the order any more. Look at the order again to see what it has.",
        "{line}번 상품이 주문에 없습니다. 주문을 다시 확인하세요.";
    refused_quantity(line, max):
        "Line {line}: order 1 to {max} pieces.",
        "{line}번 상품: 1개부터 {max}개까지 주문할 수 있습니다.";
    refused_total:
        "The total would be too large. Lower a quantity, or split the order.",
        "합계 금액이 너무 큽니다. 수량을 줄이거나 주문을 나누세요.";
}

impl Lang {
    /// A state of an order.
    pub(crate) fn order_state(self, state: impl Borrow<OrderState>) -> &'static str {
        match state.borrow() {
            OrderState::PaymentWaiting => self.payment_waiting(),
            OrderState::Preparing => self.preparing(),
            OrderState::Shipped => self.shipped(),
            OrderState::InDelivery => self.in_delivery(),
            OrderState::Delivered => self.delivered(),
            OrderState::Cancelled => self.cancelled(),
        }
    }

    /// A role.
    pub(crate) fn role(self, role: impl Borrow<Role>) -> &'static str {
        match role.borrow() {
            Role::Customer => self.customer(),
            Role::Operator => self.operator(),
        }
    }

    /// An amount of money, with the sign of the currency.
    pub(crate) fn money(self, amount: impl Borrow<Money>) -> Html {
        self.won(*amount.borrow())
    }

    /// What a change was for, in a list.
    pub(crate) fn command(self, command: Option<&str>) -> &'static str {
        match command {
            Some("place order") => self.command_place(),
            Some("change shipping info") => self.command_shipping(),
            Some("change lines") => self.command_lines(),
            Some("start shipping") => self.command_start_shipping(),
            Some("cancel") => self.command_cancel(),
            Some("edit order") => self.command_edit(),
            Some("write note") => self.command_note(),
            _ => self.command_unknown(),
        }
    }

    /// Who did what, and when, in a sentence.
    pub(crate) fn did(self, change: &Change, is_me: bool, time: When) -> Html {
        let who = match &change.by {
            _ if is_me => self.you().into(),
            Some(owner) => self.person(owner),
            None => self.somebody().into(),
        };
        match change.command.as_deref() {
            Some("change shipping info") => self.did_change_shipping(who, time),
            Some("change lines") => self.did_change_lines(who, time),
            Some("start shipping") => self.did_start_shipping(who, time),
            Some("cancel") => self.did_cancel(who, time),
            Some("edit order") => self.did_edit(who, time),
            Some("write note") => self.did_write_note(who, time),
            _ => self.did_change(who, time),
        }
    }

    /// What is wrong with a value that was typed.
    pub(crate) fn wrong(self, problem: Problem) -> Html {
        match problem {
            Problem::Empty => self.wrong_empty().into(),
            Problem::TooLong { max } => self.wrong_too_long(max),
            Problem::ControlCharacter => self.wrong_control().into(),
            Problem::NotAPhoneNumber => self.wrong_phone().into(),
            Problem::NotAPostalCode => self.wrong_postal_code().into(),
            Problem::Negative => self.wrong_negative().into(),
        }
    }

    /// Why an order refuses, and what to do.
    pub(crate) fn refusal(self, error: &OrderError) -> Html {
        match *error {
            OrderError::AlreadyShipped { state } => self.refused_shipped(self.order_state(state)),
            OrderError::AlreadyCancelled => self.refused_cancelled().into(),
            OrderError::NotPaid => self.refused_not_paid().into(),
            OrderError::OutOfTurn { needed, state } => {
                self.refused_out_of_turn(self.order_state(state), self.order_state(needed))
            }
            OrderError::NoLines => self.refused_no_lines().into(),
            OrderError::DuplicateLine { line_no } => self.refused_duplicate_line(line_no),
            OrderError::NoSuchLine { line_no } => self.refused_no_such_line(line_no),
            OrderError::QuantityOutOfRange { line_no, .. } => {
                self.refused_quantity(line_no, OrderLine::MAX_QUANTITY)
            }
            OrderError::TotalTooLarge => self.refused_total().into(),
            OrderError::Invalid(Invalid { field, problem }) => {
                self.labelled(field_label(self, field), self.wrong(problem))
            }
        }
    }
}

/// The name of somebody in the middle of a sentence.
impl Lang {
    /// Who holds something: a name, or the reader.
    pub(crate) fn who(self, owner: &Owner, is_me: bool) -> Html {
        if is_me { self.you().into() } else { owner.html() }
    }
}

/// What a field is called, by the path in a conflict (`shipping.address.line1`, `lines[2].quantity`) or by its name in a
/// form (`address.line1`, `quantity-2`). A path that nobody thought of is shown as it is.
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
        "reason" => t.reason(),
        "login" | "member_id" => t.login(),
        other => return Html::text(other),
    };
    label.into()
}

/// The number of the line that a path or a field is about, and the field within the line.
pub(crate) fn line_of(path: &str) -> Option<(u32, &str)> {
    if let Some(rest) = path.strip_prefix("lines[") {
        let (line, field) = rest.split_once("].")?;
        return Some((line.parse().ok()?, field));
    }
    Some((path.strip_prefix("quantity-")?.parse().ok()?, "quantity"))
}

/// A value of a conflict as people read it.
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
    use std::time::SystemTime;

    use jiff::Timestamp;
    use tenure::Version;

    use super::*;

    fn label(t: Lang, path: &str) -> String {
        field_label(t, path).to_string()
    }

    #[test]
    fn paths_and_field_names_are_told_in_the_same_words() {
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
    fn a_path_that_nobody_thought_of_is_shown_and_escaped() {
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

    #[test]
    fn a_change_is_told_with_who_what_and_when() {
        let at = Timestamp::new(1_762_047_130, 0).expect("a time");
        let change = Change {
            version: Version::FIRST,
            by: Some(Owner::new("park", "박서연")),
            at: SystemTime::from(at),
            command: Some("start shipping".into()),
        };
        let told = |t, is_me| Lang::did(t, &change, is_me, When::new(t, at, at)).to_string();
        let time = r#"<time datetime="2025-11-02T01:32:10Z" title="2025-11-02 10:32:10 KST">10:32</time>"#;
        assert_eq!(told(Lang::En, false), format!("<bdi>박서연</bdi> started shipping at {time}."));
        assert_eq!(told(Lang::Ko, false), format!("{time}에 <bdi>박서연</bdi> 님이 배송을 시작했습니다."));
        assert_eq!(told(Lang::Ko, true), format!("{time}에 내가 배송을 시작했습니다."));
    }

    #[test]
    fn every_refusal_says_what_to_do_in_both_languages() {
        let shipped = OrderError::AlreadyShipped { state: OrderState::InDelivery };
        assert!(Lang::En.refusal(&shipped).to_string().contains("In delivery"));
        assert!(Lang::Ko.refusal(&shipped).to_string().contains("배송 중"));
    }
}
