//! The conflict page.

use super::texts;

texts! {
    conflict_title(no): "Order {no}: two changes met", "주문 {no}: 동시에 변경되었습니다";
    conflict_title_note(no): "Note on order {no}: two changes met", "주문 {no}의 메모: 동시에 변경되었습니다";
    conflict_title_ship(no): "Shipping of order {no} was not started", "주문 {no}: 발송 처리하지 않았습니다";
    conflict_title_cancel(no): "Order {no} was not cancelled", "주문 {no}: 취소하지 않았습니다";
    done_title_ship(no): "Shipping of order {no} has started already", "주문 {no}: 이미 발송 처리되었습니다";
    done_title_cancel(no): "Order {no} is cancelled already", "주문 {no}: 이미 취소되었습니다";
    nothing_left_to_do: "There is nothing left to do.", "더 하실 일은 없습니다.";
    nothing_lost: "Nothing is lost: here are both, side by side.", "작성한 내용은 그대로 있습니다. 두 변경을 나란히 보여 드립니다.";
    nothing_lost_command:
        "Nothing was done yet: here is what changed since you looked.",
        "아직 아무것도 실행하지 않았습니다. 확인하신 뒤에 바뀐 내용은 다음과 같습니다.";
    yourself_elsewhere: "That was you, here, in another form or on another device.", "여기, 다른 양식 또는 다른 기기에서 직접 저장하신 것입니다.";
    changed_since: "The order was changed after you opened it.", "열어 두신 사이에 주문이 바뀌었습니다.";
    note_changed_since: "The note was changed after you opened it.", "열어 두신 사이에 메모가 바뀌었습니다.";
    disjoint: "The two changes are about different fields, so both can be kept.", "서로 다른 항목을 바꿨으므로 둘 다 살릴 수 있습니다.";
    both_fit:
        "Nothing is lost: the two changes are about different fields, so both can be saved.",
        "작성한 내용은 그대로 있습니다. 서로 다른 항목을 바꿨으므로 두 변경을 모두 저장할 수 있습니다.";
    overlap:
        "Both changed the same field. Choose what is to stay where nothing is chosen yet.",
        "같은 항목을 둘 다 바꿨습니다. 아직 선택되지 않은 항목에서 남길 값을 선택하세요.";
    choices_kept:
        "Meanwhile it was saved once more. What you chose before is kept; only what changed again is asked again.",
        "그사이 한 번 더 저장되었습니다. 앞서 선택한 값은 그대로이며, 다시 바뀐 항목만 다시 묻습니다.";
    also_by(names): "Before that, {names} saved as well.", "그 전에 {names}도 저장했습니다.";
    also_by_you: "Before that, you saved as well, in another tab or on another device.", "그 전에 다른 탭이나 다른 기기에서 직접 저장하신 것도 있습니다.";
    choices_one: "1 field to decide", "1개 항목에서 값을 선택해야 합니다";
    choices_many(count): "{count} fields to decide", "{count}개 항목에서 값을 선택해야 합니다";
    choices_left: "{left} of {all} still to decide", "{all}개 중 {left}개를 더 선택해야 합니다";
    choices_done: "Everything is decided.", "모두 선택했습니다.";
    both_leave_nothing:
        "The two changes together would leave no product in the order. Choose a product that is to stay.",
        "두 변경을 합치면 주문에 상품이 하나도 남지 않습니다. 남길 상품을 선택하세요.";
    line_removed:
        "Your change was to a product that was removed from the order meanwhile, so there is nothing to save. If the \
         product is still wanted, it has to be added again.",
        "변경하신 상품이 그사이 주문에서 빠져 저장할 내용이 없습니다. 그 상품이 필요하면 다시 추가해야 합니다.";
    line_replaced:
        "A line that you changed was removed meanwhile, and its product was added again. Your change of that line cannot be applied.",
        "변경하신 줄이 그사이 주문에서 빠지고 같은 상품이 다시 추가되었습니다. 그 줄의 변경은 적용할 수 없습니다.";
    line_removed_rest:
        "One of the products that you changed was removed from the order meanwhile. The rest of your change can be saved; if the product is \
         still wanted, it has to be added again.",
        "변경하신 상품 가운데 그사이 주문에서 빠진 것이 있습니다. 나머지 변경은 저장할 수 있습니다. 그 상품이 필요하면 다시 추가해야 합니다.";
    untouched: "(not changed by you)", "(내가 바꾸지 않음)";
    opened_unknown:
        "What the order looked like when you opened it is not known any more, so only its present state and your \
         text are compared.",
        "처음 열었을 때의 내용은 더 이상 남아 있지 않아, 현재 내용과 입력한 내용만 비교합니다.";
    note_opened_unknown:
        "There was no note when you opened the form, so only its present text and yours are compared.",
        "양식을 열었을 때는 메모가 없었으므로, 현재 메모와 입력한 내용만 비교합니다.";
    field: "Field", "항목";
    when_opened: "When you opened it", "열었을 때";
    now_by(name, time): "Now ({name}, {time})", "현재({name}, {time})";
    now_short: "Now", "현재";
    yours: "Yours", "내 변경";
    empty_value: "(empty)", "(비어 있음)";
    now_at(time): "At {time}", "{time} 현재";
    absent_value: "–", "–";
    no_line: "(not in the order)", "(주문에 없음)";
    only_theirs(count): "Fields that only the other side changed ({count})", "상대만 바꾼 항목({count}개)";
    only_theirs_to_choose(count):
        "Fields that only the other side changed ({count}) – theirs stay, unless you choose yours",
        "상대만 바꾼 항목({count}개) – 내 값을 고르지 않으면 바뀐 값이 유지됩니다";
    apply_mine: "Save the result", "이대로 저장";
    after_saving_both: "With both changes", "두 변경을 합치면";
    their_change: "Theirs", "상대 변경";
    save_both: "Save both changes", "두 변경 모두 저장";
    save_both_hint:
        "Saves the fields that you changed. What the other side changed stays.",
        "내가 바꾼 항목만 저장하고, 상대가 바꾼 항목은 그대로 둡니다.";
    apply_hint: "Saves the order as it is now, with the values that are chosen above.", "위에서 선택한 값으로 현재 주문을 저장합니다.";
    apply_mine_hint: "Saves the order as it is now, with your changes.", "현재 주문에 내 변경을 더해 저장합니다.";
    apply_hint_note:
        "Saves the note with the text that is chosen above. If that is yours, the other text stays among the earlier texts of the note.",
        "위에서 선택한 내용으로 메모를 저장합니다. 내 내용을 선택하면 현재 메모는 이전 메모에 남습니다.";
    edit_mine_first: "Edit mine first", "내 변경 다시 고치기";
    use_theirs: "Use theirs, drop mine", "상대방 내용 유지(내 변경 삭제)";
    use_saved: "Keep what is saved, drop this", "저장된 내용 유지(이 변경 삭제)";
    start_on_current: "Start shipping as it is now", "현재 내용으로 발송 처리";
    cancel_on_current: "Cancel the order as it is now", "현재 내용에서 주문 취소";
    leave_as_is: "Leave the order as it is", "주문 그대로 두기";
    cannot_apply: "Yours cannot be applied on top.", "이제 이 변경은 저장할 수 없습니다.";
    second_line:
        "It is in the order already. Saving adds yours as a line of its own.",
        "이미 주문에 있는 상품입니다. 저장하면 내가 추가한 수량이 별도 항목으로 들어갑니다.";
    gone_line:
        "This product is not in the order any more. If it is still wanted, it has to be added again.",
        "주문에서 빠진 상품입니다. 필요하면 다시 추가해야 합니다.";
    gone_line_back:
        "This line was removed. Its product is in the order again, on another line: edit the order to change that.",
        "이 줄은 주문에서 빠졌습니다. 같은 상품이 다른 줄에 다시 들어 있으니, 바꾸려면 주문을 수정하세요.";
    gone_title(no): "Order {no}: it is not there any more", "주문 {no}: 더 이상 없습니다";
    gone_what: "It was deleted after you had opened it, so nothing could be saved.", "열어 두신 사이에 삭제되어 저장할 수 없습니다.";
}
