//! The list of orders, and the page of one.

use super::{Html, Lang, texts};

texts! {
    orders_title: "Orders", "주문";
    my_orders: "Your orders", "내 주문";
    filter_by_state: "Filter by state", "상태별 보기";
    all_states: "All", "전체";
    order_no: "Order", "주문 번호";
    orderer: "Customer", "주문자";
    placed: "Placed", "주문 시각";
    editing: "Editing", "편집";
    orders_one: "1 order", "주문 1건";
    orders_many(count): "{count} orders", "주문 {count}건";
    page_word: "Page", "쪽";
    of_pages(pages): "of {pages}", "/ {pages}";
    go_there: "Go", "이동";
    previous_page: "Previous page", "이전 쪽";
    search: "Search", "검색";
    search_orders: "Order number or customer", "주문 번호 또는 주문자";
    search_own: "Order number", "주문 번호";
    filter_by_editing: "Filter by editing", "편집 상태별 보기";
    filter_edited: "Being edited", "수정 중";
    filter_mine: "Being edited by me", "내가 수정 중";
    filter_drafts: "Not saved yet", "저장하지 않은 내용";
    none_found: "No order fits.", "조건에 맞는 주문이 없습니다.";
    none_found_for(search): "Nothing was found for “{search}”.", "‘{search}’ 검색 결과가 없습니다.";
    you_edit_none: "You are not editing any order.", "지금 수정하고 있는 주문이 없습니다.";
    no_drafts: "There is nothing that you typed and did not save.", "입력하고 저장하지 않은 내용이 없습니다.";
    draft_here: "Not saved yet", "저장 안 됨";
    pages: "Pages", "쪽 이동";
    no_orders: "There are no orders yet.", "아직 주문이 없습니다.";
    none_in_state(state): "No order is in the state “{state}”.", "‘{state}’ 상태인 주문이 없습니다.";
    show_all: "Show all orders", "모든 주문 보기";

    held_by(name, time): "{name} has been editing since {time}", "{name} 님이 {time}부터 수정 중";
    held_by_you(time): "You have been editing since {time}", "{time}부터 수정하고 있습니다";
    held_note_by(name, time): "{name} has had the note open since {time}", "{name} 님이 {time}부터 메모를 열어 둠";
    held_note_by_you(time): "You have had the note open since {time}", "내가 {time}부터 메모를 열어 둠";

    order_title(no): "Order {no}", "주문 {no}";
    shipping_heading: "Shipping", "배송 정보";
    lines_heading: "Products", "상품";
    what_next: "What would you like to do?", "무엇을 하시겠어요?";
    change_shipping: "Change the shipping details", "배송 정보 변경";
    edit_order: "Edit the whole order", "주문 전체 수정";
    start_shipping: "Start shipping", "발송 처리";
    short_of(product, left, needed):
        "Not enough in stock: {product} ({left} of {needed})",
        "재고 부족: {product} ({needed}개 중 {left}개)";
    cancel_order: "Cancel the order", "주문 취소";
    cancel_question: "Cancel this order for good?", "이 주문을 정말 취소할까요?";
    cancel_consequence: "A cancelled order cannot be taken up again.", "취소한 주문은 되돌릴 수 없습니다.";
    cancel_yes: "Yes, cancel the order", "네, 주문을 취소합니다";
    not_changeable_shipped:
        "The order has been shipped, so it cannot be changed any more. Ask the carrier to redirect the parcel, or \
         have it returned.",
        "이미 발송되어 더는 수정할 수 없습니다. 택배사에 배송지 변경을 요청하거나 반품을 신청하세요.";
    not_changeable_cancelled: "The order was cancelled, so it cannot be changed any more.", "취소된 주문이라 더는 수정할 수 없습니다.";
    waits_for_payment: "Shipping can start when the order is paid.", "결제가 끝나면 발송 처리할 수 있습니다.";
    others_can_read:
        "You can read the order meanwhile. If you start something below, you are asked first, or told how long it takes.",
        "그동안 주문을 볼 수 있습니다. 아래에서 작업을 시작하면 먼저 확인을 거치거나 언제 가능한지 알려 드립니다.";
    you_edit_elsewhere:
        "The edit form is open in another tab or on another device, or was closed a moment ago. What was typed \
         there stays there.",
        "다른 탭이나 다른 기기에 수정 양식이 열려 있거나 방금 닫혔습니다. 그곳에 입력한 내용은 그곳에 남습니다.";
    draft_about_order:
        "You typed this in [{form}] and did not save it: {text}. Open that form again to go on.",
        "[{form}]에 입력하고 저장하지 않은 내용이 있습니다. {text} (그 양식을 다시 열면 이어서 쓸 수 있습니다.)";
    move_here: "Move editing here", "여기로 가져오기";

    note_heading: "Internal note", "내부 메모";
    note_only_operators: "Only operators see this.", "운영자에게만 보입니다.";
    no_note: "Nothing has been written yet.", "아직 작성된 메모가 없습니다.";
    notes_before(count): "Earlier texts ({count})", "이전 메모 {count}건";
    edit_note: "Edit the note", "메모 쓰기";

    history_heading: "History", "변경 기록";
    no_history: "No change has been recorded yet.", "아직 기록된 변경이 없습니다.";
    version(number): "version {number}", "버전 {number}";
    version_title(no, number): "Order {no}, version {number}", "주문 {no}, 버전 {number}";
    note_version_title(no, number): "Note on order {no}, version {number}", "주문 {no}의 메모, 버전 {number}";
    this_is_now: "This is the present version.", "현재 버전입니다.";
    this_was_before: "This is how it was then. Nothing here changes it.", "당시의 내용입니다. 여기서는 아무것도 바뀌지 않습니다.";
    versions: "Versions", "버전 목록";
    earlier_version: "Earlier version", "이전 버전";
    later_version: "Later version", "다음 버전";
    compare_with: "Compare with", "비교할 버전";
    compare: "Compare", "비교";
    show_alone: "Show it alone", "이 버전만 보기";
    versions_are_equal: "The two versions say the same.", "두 버전의 내용이 같습니다.";
    version_gone_title(no, number): "Order {no}: version {number} cannot be shown", "주문 {no}: 버전 {number} 내용을 볼 수 없습니다";
    version_gone:
        "There is no such version, or it is too long ago: of every order and note the latest 50 versions are kept.",
        "없는 버전이거나 너무 오래된 버전입니다. 주문과 메모마다 최근 버전 50개를 보관합니다.";
}

impl Lang {
    /// How many orders there are.
    pub(crate) fn orders_count(self, count: u64) -> Html {
        if count == 1 { self.orders_one().into() } else { self.orders_many(count) }
    }
}
