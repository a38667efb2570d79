//! The frame of every page, the messages after a redirect, and signing in.

use super::texts;

texts! {
    shop_name: "Tenure Shop", "테뉴어 스토어";
    skip_to_content: "Skip to the content", "본문으로 건너뛰기";
    main_menu: "Main menu", "주 메뉴";
    nav_orders: "Orders", "주문";
    nav_stock: "Stock", "재고";
    nav_locks: "Being edited", "편집 중인 주문";
    switch_language: "Switch the language to", "언어 바꾸기:";
    sign_in: "Sign in", "로그인";
    sign_out: "Sign out", "로그아웃";
    customer: "Customer", "고객";
    operator: "Operator", "운영자";
    all_times: "All times are Korean time (KST, UTC+9).", "모든 시각은 한국 표준시(KST)입니다.";
    as_of(time): "As of {time}", "{time} 기준";

    login: "Sign-in name", "아이디";
    password: "Password", "비밀번호";
    sign_in_to_go_on: "Sign in to see and change orders.", "로그인하면 주문을 보고 수정할 수 있습니다.";
    demo_accounts: "Accounts for trying out", "체험용 계정";
    demo_hint:
        "Everything here is invented. To see two people meet on one order, sign in with a second account in a \
         private window or in another browser.",
        "이곳의 모든 내용은 가상입니다. 두 사람이 한 주문에서 만나는 모습을 보려면 시크릿 창이나 다른 브라우저에서 두 번째 계정으로 로그인하세요.";
    demo_password(password): "Every password is <code>{password}</code>.", "비밀번호는 모두 <code>{password}</code>입니다.";
    use_account(login): "Use {login}", "{login} 계정 쓰기";
    wrong_password:
        "This sign-in name and password do not belong together. Check both and try again.",
        "아이디 또는 비밀번호가 맞지 않습니다. 확인하고 다시 입력하세요.";

    flash_saved: "Saved.", "저장했습니다.";
    flash_saved_both(names):
        "Saved, with your changes and those of {names}.",
        "저장했습니다. 내 변경과 {names}의 변경이 함께 들어 있습니다.";
    flash_saved_both_own:
        "Saved, together with the changes that you made elsewhere.",
        "저장했습니다. 다른 곳에서 내가 바꾼 내용도 함께 들어 있습니다.";
    flash_unchanged: "Nothing was different, so nothing was saved.", "바뀐 내용이 없어 저장하지 않았습니다.";
    flash_saved_elsewhere:
        "The same was saved elsewhere meanwhile, so there was nothing left to save.",
        "그사이 다른 곳에서 같은 내용이 저장되어 더 저장할 것이 없습니다.";
    flash_shipping: "Shipping has started.", "발송 처리했습니다.";
    flash_cancelled: "The order is cancelled.", "주문을 취소했습니다.";
    flash_left_saved:
        "It had been saved before you left the form.", "나오기 전에 이미 저장되었습니다.";
    flash_left:
        "You left the form without saving.", "저장하지 않고 나왔습니다.";
    flash_note_saved: "Note saved.", "메모를 저장했습니다.";
    flash_ended(order, name):
        "The lock on order {order} has been ended. {name} will be told who ended it and why.",
        "주문 {order}의 잠금을 해제했습니다. 누가 왜 해제했는지 {name} 님에게 알립니다.";
    flash_press_edit:
        "To edit the order, press [Edit the whole order]: opening the page alone reserves nothing.",
        "주문을 수정하려면 [주문 전체 수정]을 누르세요. 페이지를 여는 것만으로는 편집이 시작되지 않습니다.";
    flash_received(delivery): "Received: {delivery}.", "입고했습니다: {delivery}";
    flash_received_more(delivery, more): "Received: {delivery}, and {more} more.", "입고했습니다: {delivery} 외 {more}가지";
    flash_signed_out:
        "You are signed out. What you had typed in this browser and not sent has been erased, \
         except in forms that are still open in other tabs.",
        "로그아웃했습니다. 이 브라우저에 입력하고 보내지 않은 내용은 지웠습니다. 다른 탭에 열려 있는 양식에는 남아 있습니다.";
    js_erases:
        "You have typed something that is not saved. Signing out erases it from this browser, \
         except in forms that are open in other tabs.",
        "입력하고 저장하지 않은 내용이 있습니다. 로그아웃하면 다른 탭에 열려 있는 양식을 빼고 이 브라우저에서 지워집니다.";
}
