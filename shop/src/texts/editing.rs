//! Editing: the forms, their lease, and the pages if another person holds it or it is gone.

use super::texts;

texts! {
    change_shipping_title(no): "Change the shipping details of order {no}", "주문 {no}의 배송 정보 변경";
    change_shipping_hint:
        "Nothing is reserved while you type. If somebody changes the order meanwhile, you will see both changes \
         side by side.",
        "입력하는 동안 주문을 잠그지 않습니다. 그사이 다른 사람이 바꾸면 두 변경을 나란히 보여 드립니다.";
    reserved_when_changed:
        "As soon as you change something, the order is reserved for you. Looking reserves nothing.",
        "내용을 바꾸기 시작하면 그때부터 나만 수정할 수 있습니다. 보기만 할 때는 잠그지 않습니다.";
    hint_phone: "For example 010-0000-1234 or +44 20 7946 0000", "예: 010-0000-1234, +44 20 7946 0000";
    optional: "(optional)", "(선택)";
    save: "Save", "저장";
    do_not_save: "Back without saving", "저장하지 않고 돌아가기";

    edit_title(no): "Edit order {no}", "주문 {no} 수정";
    you_edit:
        "You are editing the order. Others can read it.",
        "주문을 수정하고 있습니다. 다른 사람은 볼 수만 있습니다.";
    save_before(time, left):
        "Save before {time} ({left}), or press [Keep editing].",
        "{time} 전에 저장하거나 [계속 수정]을 누르세요(남은 시간 {left}).";
    keep_editing: "Keep editing", "계속 수정";
    save_and_finish: "Save and finish", "저장하고 끝내기";
    leave: "Leave without saving", "저장하지 않고 나가기";
    remove: "Remove", "빼기";
    removed_line(product): "Remove {product}", "{product} 빼기";
    add_products: "Add a product", "상품 추가";
    price_in_won: "Price in won", "단가(원)";
    add_another: "Add one more", "하나 더 추가";
    your_text_is_back_without(gone):
        "The text that you typed is back in the form, except for what is not in the order any more: {gone}. If it is still wanted, it has to be added \
         again. Check it and save.",
        "입력하셨던 내용을 양식에 다시 채웠습니다. 주문에서 빠진 상품의 내용은 채우지 못했습니다. ({gone}) 그 상품이 필요하면 다시 추가해야 합니다. \
         확인하고 저장해 주세요.";
    your_text_is_back:
        "The text that you typed is back in the form. Check it and save.",
        "입력하셨던 내용을 양식에 다시 채웠습니다. 확인하고 저장해 주세요.";
    moved_since:
        "The order was changed after you typed this. Here is what differs.",
        "입력하신 뒤에 주문이 바뀌었습니다. 다른 점은 아래와 같습니다.";
    moved_choice:
        "Before it is saved, you see what meets.",
        "저장되기 전에 겹치는 내용을 보여 드립니다.";

    edit_again: "Edit again", "다시 수정";

    locked_title(no): "Somebody is editing order {no}", "주문 {no}: 다른 사람이 수정 중입니다";
    locked_title_self(no): "You are editing order {no} elsewhere", "주문 {no}: 다른 곳에서 수정 중입니다";
    locked_title_silent(no): "Your page with order {no} does not answer", "주문 {no}: 열어 둔 창이 응답하지 않습니다";
    held_self_silent(time):
        "You began to edit at {time}, on a page that does not answer any more. You can go on here.",
        "{time}에 수정을 시작한 창이 더는 응답하지 않습니다. 여기서 이어서 수정할 수 있습니다.";
    held_other(name, time): "{name} has been editing since {time}.", "{name} 님이 {time}부터 수정하고 있습니다.";
    held_self(time):
        "You have been editing since {time}, in another tab or on another device, or on a page that was left or closed a moment ago.",
        "{time}부터 다른 탭이나 다른 기기에서 수정하고 있거나, 조금 전에 수정 양식에서 나왔거나 그 창이 닫혔습니다.";
    last_typed(time, free):
        "Last input: {time}. Without another, the order is free at {free}.",
        "마지막 입력은 {time}입니다. 더 입력이 없으면 {free}에 다른 사람이 수정할 수 있습니다.";
    last_heard(time, free):
        "Last input: {time}. The form does not answer: it was closed, or its device is asleep or offline. The order is free at {free}.",
        "마지막 입력은 {time}입니다. 창이 닫혔거나 기기가 절전 또는 오프라인 상태입니다. {free}에 다른 사람이 수정할 수 있습니다.";
    locked_nothing_lost:
        "Nothing was saved. What you typed is kept on this page; [Try again] sends it again.",
        "저장하지 않았습니다. 입력한 내용은 이 페이지에 남아 있으며, [다시 시도]를 누르면 다시 보냅니다.";
    move_consequence:
        "Moving ends the editing there. If that page is still open, what was typed there stays there, to be copied; it is not saved, and does \
         not come along by itself.",
        "가져오면 그쪽의 편집이 끝납니다. 그 창이 아직 열려 있으면 입력한 내용은 그곳에 남아 복사할 수 있지만, 저장되거나 자동으로 옮겨지지는 않습니다.";
    raced_title(no): "Order {no}: somebody was quicker", "주문 {no}: 다른 사람이 먼저 시작했습니다";
    raced_what:
        "Somebody began to edit the order at the same moment. Try again in a moment.",
        "같은 순간에 다른 사람이 수정을 시작했습니다. 잠시 후 다시 시도하세요.";
    order_as_of(time): "The order as of {time}", "{time} 현재 주문 내용";

    ship_locked_title(no): "Shipping of order {no} was not started: somebody is editing it", "주문 {no}: 수정 중이라 발송 처리하지 않았습니다";
    cancel_locked_title(no): "Order {no} was not cancelled: somebody is editing it", "주문 {no}: 수정 중이라 취소하지 않았습니다";
    ship_locked_what(name, time):
        "{name} has been editing this order since {time}. If shipping starts now, those changes will be refused.",
        "{name} 님이 {time}부터 이 주문을 수정하고 있습니다. 지금 발송 처리되면 그 수정은 저장되지 않습니다.";
    ship_locked_self(time):
        "You have been editing this order since {time}, in another tab or on another device. If shipping starts now, those changes \
         will be refused.",
        "{time}부터 다른 탭이나 다른 기기에서 이 주문을 수정하고 있습니다. 지금 발송 처리되면 그 수정은 저장되지 않습니다.";
    cancel_locked_what(name, time):
        "{name} has been editing this order since {time}. If you cancel it now, those changes will be refused.",
        "{name} 님이 {time}부터 이 주문을 수정하고 있습니다. 지금 취소하면 그 수정은 저장되지 않습니다.";
    cancel_locked_self(time):
        "You have been editing this order since {time}, in another tab or on another device. If you cancel it now, those changes will be \
         refused.",
        "{time}부터 다른 탭이나 다른 기기에서 이 주문을 수정하고 있습니다. 지금 취소하면 그 수정은 저장되지 않습니다.";
    cancel_anyway(name): "Cancel anyway – the changes of {name} will be refused", "그래도 주문 취소 – {name} 님의 수정은 저장되지 않음";
    cancel_anyway_self: "Cancel anyway – my changes there will be refused", "그래도 주문 취소 – 다른 곳의 내 수정은 저장되지 않음";
    look_again: "Look again", "다시 확인";
    ship_anyway(name): "Start anyway – the changes of {name} will be refused", "그래도 발송 처리 – {name} 님의 수정은 저장되지 않음";
    ship_anyway_self: "Start anyway – my changes there will be refused", "그래도 발송 처리 – 다른 곳의 내 수정은 저장되지 않음";

    lost_title_lapsed(no): "Order {no}: your editing had ended before you saved", "주문 {no}: 저장하기 전에 편집이 끝났습니다";
    lost_title_taken(no): "Order {no}: somebody else is editing now", "주문 {no}: 지금은 다른 사람이 수정 중입니다";
    lost_title_broken(no): "Order {no}: your editing was ended", "주문 {no}: 편집이 종료되었습니다";
    lost_title_moved(no): "Order {no}: you continued in another form", "주문 {no}: 다른 양식에서 이어서 수정했습니다";
    lost_title_finished(no): "Order {no}: this form was already finished", "주문 {no}: 이미 끝난 양식입니다";
    lost_title_unknown(no): "Order {no}: this form cannot be saved", "주문 {no}: 저장할 수 없는 양식입니다";
    lost_nothing_lost:
        "Nothing was saved, and nothing that you typed is lost: it is all below.",
        "저장하지 않았지만 입력한 내용은 아래에 모두 남아 있습니다.";
    lost_lapsed(time):
        "Your time to edit ended at {time}.",
        "{time}에 편집 시간이 끝났습니다.";
    lost_idle(time):
        "At {time} your editing ended, because nothing had been typed for 15 minutes.",
        "15분 동안 입력이 없어 {time}에 편집이 끝났습니다.";
    lost_unchanged:
        "Nobody had changed the order when this page was loaded. You can go on where you were.",
        "이 페이지를 열 때까지 주문을 바꾼 사람은 없었습니다. 이어서 수정할 수 있습니다.";
    lost_anew:
        "The form can be opened again, with the order as it is now.",
        "양식을 다시 열면 지금의 주문 내용이 보입니다.";
    lost_changed(who): "{who} Compare before you go on.", "{who} 비교한 뒤 계속하세요.";
    lost_held(name, time):
        "{name} has been editing since {time}. You can go on when that is over.",
        "{name} 님이 {time}부터 수정하고 있습니다. 끝난 뒤에 이어서 수정할 수 있습니다.";
    lost_broken(name, time, reason):
        "{name} ended your editing at {time}: “{reason}”. If you have questions, ask {name}.",
        "{time}에 {name} 님이 편집을 종료했습니다(“{reason}”). 궁금한 점은 {name} 님에게 문의하세요.";
    lost_moved(time):
        "At {time} you moved the editing of this order to another form, here, in another tab or on another device.",
        "{time}에 이 주문의 편집을 이 탭, 다른 탭 또는 다른 기기의 다른 양식으로 옮겼습니다.";
    lost_ended_self(time): "You ended this editing at {time}.", "{time}에 이 편집을 직접 종료했습니다.";
    lost_finished(time): "You saved this form, left it or signed out at {time}.", "{time}에 이 양식을 저장했거나 닫았거나 로그아웃했습니다.";
    lost_same_as_now:
        "What you typed is what the order says now, so there is nothing left to do.",
        "입력한 내용이 현재 주문과 같으므로 더 할 일은 없습니다.";
    lost_unknown:
        "The form does not belong to a reservation of yours, or it is very old.",
        "내 편집과 연결되지 않은 양식이거나 너무 오래된 양식입니다.";
    your_text: "What you typed", "입력한 내용";
    not_editable_now:
        "You can read and copy it. To change it, use the button above.",
        "읽고 복사할 수 있습니다. 고치려면 위의 버튼을 누르세요.";

    note_title(no): "Note on order {no}", "주문 {no}의 메모";
    note_unseen: "Others do not see that you have this note open.", "다른 사람에게는 이 메모를 열어 두신 것이 보이지 않습니다.";
    note_alone: "Nobody else has this note open.", "이 메모를 연 다른 사람은 없습니다.";
    note_other(name, time):
        "{name} also has this open, since {time}. Both of you can save; if your changes meet, you will be told.",
        "{name}도 {time}부터 이 메모를 열어 두었습니다. 둘 다 저장할 수 있으며, 변경이 겹치면 알려 드립니다.";
    note_other_self(time):
        "You also have this open in another tab since {time}, or on a page that was closed a moment ago.",
        "{time}부터 다른 탭에서도 이 메모를 열어 두었거나, 그 창이 조금 전에 닫혔습니다.";
    note_too_long(length, over, max):
        "It has {length} characters, and a note has room for {max}. Shorten it by {over}, then save again.",
        "{length}자를 입력했습니다. 메모는 {max}자까지 저장할 수 있으니 {over}자를 줄인 뒤 다시 저장하세요.";
    count_of: "{count} of {max} characters", "{max}자 중 {count}자";
    count_over: "Too long by {over}: shorten the text before you save.", "{over}자가 넘습니다. 줄인 뒤 저장하세요.";
    note_hint: "Up to 4,000 characters.", "최대 4,000자까지 쓸 수 있습니다.";
}
