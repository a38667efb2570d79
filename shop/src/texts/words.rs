//! Texts for states, roles and changes.

use std::borrow::Borrow;

use tenure::{Owner, version::Change};

use super::markup::{Html, Part};
use super::{Lang, When, texts};
use crate::domain::{OrderState, Role};

texts! {
    payment_waiting: "Waiting for payment", "결제 대기";
    preparing: "Preparing", "상품 준비 중";
    shipped: "Shipped", "발송 완료";
    in_delivery: "In delivery", "배송 중";
    delivered: "Delivered", "배송 완료";
    cancelled: "Cancelled", "취소됨";

    you: "You", "내가";
    me: "you", "나";
    somebody: "Somebody", "누군가";
    person(name): "{name}", "{name} 님이";
    named(name): "{name}", "{name} 님";

    demo_data: "Demo data", "데모 데이터";

    command_place: "Order placed", "주문 접수";
    command_shipping: "Shipping details changed", "배송 정보 변경";
    command_lines: "Products changed", "상품 변경";
    command_start_shipping: "Shipping started", "발송 처리";
    command_cancel: "Order cancelled", "주문 취소";
    command_edit: "Order edited", "주문 수정";
    command_note: "Note written", "메모 작성";
    command_unknown: "Changed", "변경";

    did_change_shipping(who, time): "{who} changed the shipping details at {time}.", "{time}에 {who} 배송 정보를 바꿨습니다.";
    did_change_lines(who, time): "{who} changed the products at {time}.", "{time}에 {who} 상품을 바꿨습니다.";
    did_start_shipping(who, time): "{who} started shipping at {time}.", "{time}에 {who} 발송 처리했습니다.";
    did_cancel(who, time): "{who} cancelled the order at {time}.", "{time}에 {who} 주문을 취소했습니다.";
    did_edit(who, time): "{who} edited the order at {time}.", "{time}에 {who} 주문을 수정했습니다.";
    did_write_note(who, time): "{who} changed the note at {time}.", "{time}에 {who} 메모를 바꿨습니다.";
    did_change(who, time): "{who} changed it at {time}.", "{time}에 {who} 변경했습니다.";
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

    /// The command of a change, in a list.
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

    /// The author, the change and the time, in a sentence.
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

    /// Several people, within a sentence.
    pub(crate) fn names(self, names: &[String]) -> Html {
        let named = |name: &String| self.named(Owner::new("", name)).to_string();
        Html::trusted(names.iter().map(named).collect::<Vec<_>>().join(", "))
    }

    /// The author or holder, within a sentence: a name, or the reader.
    pub(crate) fn who(self, owner: &Owner, is_me: bool) -> Html {
        if is_me { self.me().into() } else { owner.html() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use jiff::Timestamp;
    use tenure::Version;

    use super::*;

    #[test]
    fn change_is_described_with_author_field_and_time() {
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
        let time = time.replace("10:32</time>", "오전 10:32</time>");
        assert_eq!(told(Lang::Ko, false), format!("{time}에 <bdi>박서연</bdi> 님이 발송 처리했습니다."));
        assert_eq!(told(Lang::Ko, true), format!("{time}에 내가 발송 처리했습니다."));
    }
}
