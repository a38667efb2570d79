//! The reasons that a typed value or a request is refused, and the remedies.

use super::labels::field_label;
use super::{Html, Lang, texts};
use crate::domain::{Invalid, OrderError, OrderLine, Problem};

texts! {
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
        "The parcel has left the house (state: {state}), so the order cannot be changed, cancelled or shipped \
         again. Ask the carrier to redirect the parcel, or have it returned.",
        "이미 발송된 주문(상태: {state})이라 수정, 취소, 발송 처리를 할 수 없습니다. 택배사에 배송지 변경을 요청하거나 반품을 신청하세요.";
    refused_cancelled:
        "The order was cancelled, so nothing about it can change. If it is still wanted, it takes a new order.",
        "취소된 주문이라 더는 바꿀 수 없습니다. 필요하면 새로 주문해야 합니다.";
    refused_not_paid:
        "The order is not paid yet, so it cannot be shipped. Confirm the payment first.",
        "아직 결제되지 않아 발송 처리할 수 없습니다. 먼저 결제를 확인하세요.";
    refused_out_of_turn(state, needed):
        "The state of the order is “{state}”, and this step is for orders in the state “{needed}”. Look at the \
         order again.",
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
    refused_quantity(line, max): "Line {line}: order 1 to {max} pieces.", "{line}번 상품: 1개부터 {max}개까지 주문할 수 있습니다.";
    wrong_pieces(max): "Please write a whole number from 1 to {max}.", "1부터 {max}까지의 정수를 입력해 주세요.";
    refused_out_of_stock(product, left, needed):
        "There is not enough of “{product}” in stock: the order needs {needed}, in stock: {left}. Nothing was taken out, and the \
         order is as it was. Receive more pieces, or change the order.",
        "‘{product}’의 재고가 부족합니다. 이 주문에는 {needed}개가 필요하지만 {left}개 남아 있습니다. 재고와 주문은 그대로입니다. 상품을 입고하거나 주문을 수정하세요.";
    refused_total:
        "The total would be too large. Lower a quantity, or split the order.",
        "합계 금액이 너무 큽니다. 수량을 줄이거나 주문을 나누세요.";
}

impl Lang {
    /// The problem with a typed value.
    pub(crate) fn wrong(self, problem: Problem) -> Html {
        match problem {
            Problem::Empty => self.wrong_empty().into(),
            Problem::TooLong { max } => self.wrong_too_long(max),
            Problem::ControlCharacter => self.wrong_control().into(),
            Problem::NotAPhoneNumber => self.wrong_phone().into(),
            Problem::NotAPostalCode => self.wrong_postal_code().into(),
            Problem::Negative => self.wrong_negative().into(),
            Problem::OutOfRange { max } => self.wrong_pieces(max),
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
            OrderError::QuantityOutOfRange { line_no, .. } => self.refused_quantity(line_no, OrderLine::MAX_QUANTITY),
            OrderError::TotalTooLarge => self.refused_total().into(),
            OrderError::OutOfStock { ref product, left, needed } => self.refused_out_of_stock(product, left, needed),
            OrderError::Invalid(Invalid { field, problem }) => {
                self.labelled(field_label(self, field), self.wrong(problem))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::OrderState;

    #[test]
    fn every_refusal_gives_advice_in_both_languages() {
        let shipped = OrderError::AlreadyShipped { state: OrderState::InDelivery };
        assert!(Lang::En.refusal(&shipped).to_string().contains("In delivery"));
        assert!(Lang::Ko.refusal(&shipped).to_string().contains("배송 중"));
    }
}
