//! Pages about failures: what failed, why, and what to do next.

use super::texts;

texts! {
    about_order(title, no): "{title} – order {no}", "{title} – 주문 {no}";
    what_you_typed: "What you typed", "입력한 내용";
    still_here: "It is kept here, so that you can copy it.", "복사할 수 있도록 여기에 남겨 두었습니다.";
    to_orders: "To the list of orders", "주문 목록으로";
    back_to_order: "Back to the order", "주문으로 돌아가기";
    try_again: "Try again", "다시 시도";
    see_order: "See the order", "주문 보기";

    signed_out_title: "You are signed out", "로그아웃되었습니다";
    signed_out_what:
        "You were not signed in any more when this form arrived, so it was not accepted. What you typed is still here.",
        "양식이 도착했을 때 로그인이 풀려 있어서 받지 않았습니다. 입력한 내용은 그대로 있습니다.";
    signed_out_next:
        "Sign in again in a new tab, then come back here and send it again.",
        "새 탭에서 다시 로그인한 뒤, 여기로 돌아와 다시 보내세요.";
    signed_out_next_without_cookies:
        "Sign in again in a new tab, then come back here and send it again. The browser's cookies are gone, so the shop asks once more before it saves.",
        "새 탭에서 다시 로그인한 뒤, 여기로 돌아와 다시 보내세요. 브라우저의 쿠키가 지워졌으므로, 저장하기 전에 한 번 더 확인합니다.";
    signed_out_command:
        "You were not signed in any more when this arrived, so nothing was done. Sign in, then look again before you go on.",
        "요청이 도착했을 때 로그인이 풀려 있어 아무것도 처리하지 않았습니다. 로그인한 뒤 다시 확인하고 진행하세요.";
    send_again: "Send it again", "다시 보내기";
    sign_in_new_tab: "Sign in (new tab)", "로그인(새 탭)";

    not_sent_title: "Nothing was sent", "보내지 않았습니다";
    not_sent_text:
        "Only the language was switched. What you typed is still here: send it again when you are ready.",
        "언어만 바꾸었습니다. 입력한 내용은 그대로 있으니 준비되면 다시 보내세요.";
    not_sent_command:
        "Only the language was switched; nothing else was done. If you still want it, start again from the page before.",
        "언어만 바꾸었으며 다른 일은 하지 않았습니다. 계속하려면 이전 페이지에서 다시 시작하세요.";

    csrf_title: "This form is from another session", "다른 세션에서 연 양식입니다";
    csrf_what:
        "The form was opened before you signed in or out, or by another page, so it was not accepted. Nothing was \
         saved.",
        "로그인이나 로그아웃 전에 열었거나 다른 페이지에서 보낸 양식이라 받지 않았습니다. 저장된 내용은 없습니다.";
    csrf_next:
        "If you signed in again meanwhile, check what you typed and send it again.",
        "그사이 다시 로그인했다면 입력한 내용을 확인하고 다시 보내세요.";
    csrf_again:
        "What you typed is still here: check it, and save again.",
        "입력한 내용은 그대로 있습니다. 확인한 뒤 다시 저장하세요.";
    no_cookies_what:
        "Your browser sent no cookies with this form, so it was not accepted: they were deleted, or are blocked for this site. Nothing was \
         saved. Allow cookies for this site.",
        "브라우저가 쿠키를 보내지 않아 양식을 받지 않았습니다. 쿠키가 삭제되었거나 이 사이트에서 차단되어 있습니다. 저장된 내용은 없습니다. 이 사이트의 쿠키를 허용해 주세요.";
    text_stays_here: "Nothing was saved, and what you typed is still here.", "저장하지 않았으며, 입력한 내용은 그대로 있습니다.";
    csrf_reload: "Go back, reload the page, and send it again.", "뒤로 돌아가 페이지를 새로 고친 뒤 다시 보내세요.";

    incomplete_title: "This form is incomplete", "양식이 완전하지 않습니다";
    incomplete_what(field):
        "The hidden field <code>{field}</code> is missing or is not what it has to be, so nothing was saved.",
        "숨은 필드 <code>{field}</code>의 값이 없거나 올바르지 않아 저장하지 않았습니다.";
    unreadable_what:
        "The form could not be read: it is too long, or it was cut off on the way. Nothing was saved.",
        "양식이 너무 길거나 전송 중에 끊겨 읽을 수 없었습니다. 저장된 내용은 없습니다.";
    incomplete_next:
        "Load the page again and fill it in once more. If it happens again, tell us which page it was.",
        "페이지를 다시 열어 입력해 주세요. 계속되면 어느 페이지였는지 알려 주세요.";

    foreign_title: "This form belongs to another order", "다른 주문의 양식입니다";
    foreign_what(no):
        "The form was opened for another order than {no}, so nothing was saved.",
        "주문 {no}이 아닌 다른 주문에서 연 양식이라 저장하지 않았습니다.";
    foreign_next:
        "Open this order again, and fill in the form that you find there.",
        "이 주문을 다시 열고, 거기에 있는 양식에 입력해 주세요.";

    forbidden_title: "This is for others to do", "권한이 없습니다";
    forbidden_operators:
        "Only operators may see and do this. Sign in with an operator’s account, or ask an operator.",
        "운영자만 볼 수 있고 할 수 있는 일입니다. 운영자 계정으로 로그인하거나 운영자에게 부탁하세요.";
    forbidden_customers:
        "Only customers may do this. Sign in with a customer’s account.",
        "고객만 할 수 있는 일입니다. 고객 계정으로 로그인하세요.";

    not_found_title: "There is no such page", "없는 페이지입니다";
    not_found_what: "The address leads nowhere: it was mistyped, or the page has moved.", "주소가 잘못되었거나 페이지가 옮겨졌습니다.";
    no_order_title: "There is no such order", "없는 주문입니다";
    no_order_what(no):
        "There is no order {no} among those that you may see. Check the number.",
        "볼 수 있는 주문 가운데 {no}번 주문이 없습니다. 번호를 확인하세요.";
    other_account:
        "Is it the order of another account? Sign out, and sign in with that one.",
        "다른 계정의 주문인가요? 로그아웃한 뒤 그 계정으로 로그인하세요.";

    wrong_method_title: "This address is not for looking at", "직접 열 수 없는 주소입니다";
    wrong_method_what:
        "The address takes forms, or only shows a page; the other way round it does nothing. Nothing was changed.",
        "양식을 받기만 하거나 보여 주기만 하는 주소입니다. 바뀐 내용은 없습니다.";

    busy_title: "Please try again in a moment", "잠시 후 다시 시도해 주세요";
    busy_what:
        "The shop could not do it just now, because too much is going on or the database does not answer. Nothing \
         was saved, and nothing that you typed is lost.",
        "지금 요청이 몰렸거나 데이터베이스가 응답하지 않아 처리하지 못했습니다. 저장된 내용은 없지만, 입력한 내용은 그대로 남아 있습니다.";
    busy_with(who):
        "Somebody else has just taken up the same goods or the same order, and was not done within two seconds: <code>{who}</code>. \
         Nothing was changed.",
        "다른 사람이 같은 상품이나 같은 주문을 처리하고 있어 2초 안에 끝나지 않았습니다: <code>{who}</code>. 바뀐 내용은 없습니다.";
    busy_next: "Wait a few seconds, then try again.", "몇 초 뒤에 다시 시도하세요.";

    unknown_title: "We do not know whether it was saved", "저장되었는지 알 수 없습니다";
    unknown_what:
        "The connection to the database broke while it was saving. Either everything was saved or nothing.",
        "저장하는 중에 데이터베이스 연결이 끊겼습니다. 전부 저장되었거나 전혀 저장되지 않았습니다.";
    unknown_next: "Look at the order to see which.", "주문을 열어 확인하세요.";

    failed_title: "Something went wrong on our side", "문제가 생겼습니다";
    failed_what:
        "This is our mistake, not yours. It has been written down, and nothing was saved.",
        "고객님의 잘못이 아닙니다. 오류를 기록했으며, 저장된 내용은 없습니다.";
    failed_next:
        "Try again. If it happens again, tell us what you were doing and at what time.",
        "다시 시도해 주세요. 계속되면 무엇을 하던 중이었는지와 시각을 알려 주세요.";

    out_of_stock_title(no): "Order {no}: not enough in stock", "주문 {no}: 재고가 부족합니다";
    refused_title(no): "Order {no} does not allow this any more", "주문 {no}: 지금은 할 수 없는 일입니다";
    other_person_title: "Somebody else is signed in now", "지금은 다른 사람이 로그인해 있습니다";
    other_person_what:
        "This form was opened by somebody else in this browser, so nothing was saved. To save it, sign in again with \
         that account in a new tab, then come back here and send it again.",
        "이 브라우저에서 다른 사람이 연 양식이라 저장하지 않았습니다. 저장하려면 새 탭에서 그 계정으로 다시 로그인한 뒤, 여기로 돌아와 다시 보내세요.";
    not_kept_title(no): "Order {no}: this text is not kept any more", "주문 {no}: 더 이상 보관하지 않는 내용입니다";
    not_kept_what:
        "What was typed into a form that was refused is kept for a day, only the latest few, and only for who typed it. Open \
         the order and start again from there.",
        "저장되지 않은 양식의 내용은 입력한 사람에게만, 하루 동안 최근 몇 개만 보관합니다. 주문을 열어 다시 시작하세요.";
    ready_title(no): "Order {no}: you can save now", "주문 {no}: 이제 저장할 수 있습니다";
    ready_what:
        "Nothing blocks the save any more. What you typed is not saved yet.",
        "이제 막는 것이 없습니다. 입력한 내용은 아직 저장되지 않았습니다.";
    save_now: "Save now", "지금 저장";
    already_saved_title(no): "Order {no}: this form was already saved", "주문 {no}: 이미 저장된 양식입니다";
    already_saved_what:
        "What you sent was saved. To change more, open the order again.",
        "보내신 내용은 저장되었습니다. 더 바꾸려면 주문을 다시 여세요.";
    saved_since:
        "You went on from here, and saved. Below is what you had sent before that.",
        "여기서 이어서 저장했습니다. 그 전에 보낸 내용은 아래에 있습니다.";
    refused_text_kept:
        "What you typed was not saved. It is kept here, so that you can copy it.",
        "입력한 내용은 저장되지 않았습니다. 복사할 수 있도록 아래에 남겨 두었습니다.";

    there_are_mistakes: "Please check the form", "양식을 확인해 주세요";
    nothing_saved_yet:
        "This was not saved. Everything that you typed is still here.",
        "저장되지 않았습니다. 입력한 내용은 모두 그대로 있습니다.";
}
