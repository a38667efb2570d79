//! Texts: messages of customers to the courier, notes of operators.

/// To the courier, in Korean. Most people write nothing.
pub(super) const MESSAGES_KO: &[&str] = &[
    "",
    "",
    "",
    "부재 시 경비실에 맡겨 주세요",
    "문 앞에 놓아 주세요",
    "배송 전에 전화 주세요",
    "아기가 자고 있으니 초인종은 누르지 말아 주세요",
    "공동현관 비밀번호는 전화로 알려 드릴게요",
    "무인 택배함에 넣어 주세요",
    "깨지기 쉬우니 조심히 부탁드려요 :)",
    "평일 오후 6시 이후에 받을 수 있어요",
];

/// To the courier, in English.
pub(super) const MESSAGES_EN: &[&str] = &[
    "",
    "",
    "",
    "Please leave it at the door",
    "Please hand it to the security office if I'm out",
    "Call me before delivery, please. English is fine",
    "The bell is broken: please knock",
];

/// The order's number, and what the operators wrote about it.
pub(super) const NOTES: [(&str, &str); 12] = [
    ("2026-000300", "고객이 주소를 바꿀 수도 있다고 전화함. 발송 전에 한 번 더 확인할 것. (박서연)"),
    (
        "2026-000299",
        "Wants the parcel before the weekend.\n- asked the carrier about the Friday run\n- answer expected by noon (Olivia)",
    ),
    ("2026-000298", "Customer prefers e-mail; the phone is off during work. (Olivia)"),
    ("2026-000295", "묶음 배송 요청: 같은 고객의 다른 주문과 함께 포장. (박서연)"),
    ("2026-000290", "포장재 부족으로 오후 포장 예정."),
    ("2026-000288", "Gift wrap, no receipt in the box."),
    ("2026-000271", "파손 주의 스티커 두 장 붙일 것."),
    ("2026-000262", "송장 재출력함. 이전 송장은 폐기."),
    ("2026-000240", "운송장 번호를 문자로 안내함. (박서연)"),
    ("2026-000198", "Delivered to the neighbour; customer knows and is happy with it. (Olivia)"),
    ("2026-000120", "상자 모서리 찌그러짐. 사진 받았고 내용물은 이상 없음. 5% 할인 쿠폰 보냄."),
    ("2026-000042", "단골 고객. 다음 주문에 견본 하나 넣어 드리기."),
];
