//! The account page: sessions, and the password. Also the texts about rate limits.

use super::texts;

texts! {
    account_title: "Your account", "내 계정";
    account_name: "Name", "이름";
    account_role: "Role", "역할";
    sessions_title: "Where you are signed in", "로그인된 곳";
    sessions_intro:
        "Each browser in which you are signed in. A session ends after two hours without use, and after twelve hours in \
         any case.",
        "현재 로그인되어 있는 브라우저입니다. 두 시간 동안 사용하지 않거나 로그인한 지 열두 시간이 지나면 자동으로 로그아웃됩니다.";
    session_browser: "Browser", "브라우저";
    session_since: "Signed in", "로그인";
    session_active: "Last active", "마지막 활동";
    this_browser: "This browser", "이 브라우저";
    end_session: "Sign out", "로그아웃";
    end_all_sessions: "Sign out everywhere", "모든 곳에서 로그아웃";
    end_all_consequence:
        "You are signed out in every browser, in this one too, and others can edit what you had open. Forms that are open elsewhere \
         keep their text, and can be saved after signing in again; what is not sent here is erased.",
        "이 브라우저를 포함한 모든 브라우저에서 로그아웃되며, 수정하던 주문은 다른 사람이 수정할 수 있습니다. 다른 곳에 열려 있던 양식의 내용은 남아 있어 다시 로그인하면 저장할 수 있고, 여기에 입력하고 보내지 않은 내용은 지워집니다.";
    end_all_yes: "Yes, sign out everywhere", "네, 모든 곳에서 로그아웃합니다";
    end_all_when:
        "Do you not know one of them? End it, then change your password.",
        "모르는 브라우저가 있나요? 로그아웃한 뒤 비밀번호를 바꾸세요.";
    browser_on(browser, system): "{browser} on {system}", "{system}의 {browser}";
    unknown_browser: "A browser that does not say which", "알 수 없는 브라우저";

    password_title: "Change your password", "비밀번호 변경";
    password_intro:
        "After the change you are signed out everywhere else, and stay signed in here.",
        "변경하면 다른 모든 곳에서 로그아웃되고, 여기에서는 로그인이 유지됩니다.";
    password_old: "Present password", "현재 비밀번호";
    password_new: "New password", "새 비밀번호";
    password_again: "New password, once more", "새 비밀번호 확인";
    password_hint:
        "At least 12 characters. A short sentence is a good password.",
        "12자 이상 입력하세요. 짧은 문장이 좋은 비밀번호입니다.";
    password_change: "Change the password", "비밀번호 변경";
    back_to_account: "Back to your account", "내 계정으로 돌아가기";
    old_password_missing: "Type your present password.", "현재 비밀번호를 입력하세요.";
    wrong_old_password: "This is not your present password.", "현재 비밀번호가 아닙니다.";
    same_password: "This is your present password. Choose another one.", "현재 비밀번호와 같습니다. 다른 비밀번호를 입력하세요.";
    passwords_differ:
        "The two new passwords are not the same. Type both again.",
        "새 비밀번호 두 개가 서로 다릅니다. 둘 다 다시 입력하세요.";
    password_too_short(min): "Too short: at least {min} characters.", "너무 짧습니다. {min}자 이상 입력하세요.";
    password_is_name:
        "This is little more than your name. Choose something that nobody would try first.",
        "이름과 거의 같습니다. 쉽게 짐작할 수 없는 비밀번호를 입력하세요.";
    password_guessable:
        "This is one of the first that somebody would try. Choose another one.",
        "쉽게 짐작할 수 있는 비밀번호입니다. 다른 비밀번호를 입력하세요.";
    password_mistake: "The password was not changed", "비밀번호를 변경하지 않았습니다";

    flash_signed_out_everywhere:
        "You are signed out in every browser. Whatever was typed in this one and not sent has been erased, \
         except in forms that are still open in other tabs.",
        "모든 브라우저에서 로그아웃했습니다. 이 브라우저에 입력하고 보내지 않은 내용은 지웠습니다. 다른 탭에 열려 있는 양식에는 남아 있습니다.";
    flash_session_ended: "That browser is signed out.", "해당 브라우저에서 로그아웃했습니다.";
    flash_password_changed:
        "Your password is changed. You are signed out everywhere else.",
        "비밀번호를 변경했습니다. 다른 모든 곳에서 로그아웃되었습니다.";

    too_many_guesses(time):
        "Too many tries. The next one is possible in {time}.",
        "시도가 너무 많습니다. {time} 뒤에 다시 시도할 수 있습니다.";
    sign_in_busy:
        "Many people are signing in just now. Please try again in a few seconds.",
        "지금 로그인 요청이 몰려 있습니다. 몇 초 뒤에 다시 시도하세요.";
    try_again_in(time): "Try again in {time}.", "{time} 뒤에 다시 시도하세요.";

    too_many_locks_title: "Too many forms in a short time", "짧은 시간에 양식을 너무 많이 열었습니다";
    too_many_locks_what:
        "You have opened more forms for editing than one person can fill in. Nothing was opened this time.",
        "한 사람이 작성할 수 있는 것보다 많은 양식을 열었습니다. 이번에는 열지 않았습니다.";
    too_many_open_title: "Too many forms are open", "열려 있는 양식이 너무 많습니다";
    too_many_open_what(most):
        "You have {most} forms open for editing, and one person may have no more.",
        "수정하려고 연 양식이 {most}개입니다. 한 사람이 더 열 수 없습니다.";
    too_many_open_next: "Close some of them, or wait until they have lapsed, then try again.", "일부를 닫거나 자동으로 해제될 때까지 기다린 뒤 다시 시도하세요.";
    unusable_account_title: "This account cannot edit anything", "이 계정으로는 수정할 수 없습니다";
    unusable_account_what:
        "The name of your account is one that cannot be shown to others. Ask an operator to change it.",
        "계정 이름을 다른 사람에게 표시할 수 없습니다. 운영자에게 변경을 요청하세요.";

    too_long_title: "This form is too long", "양식이 너무 깁니다";
    too_long_what:
        "More was sent than any form here has, so it was not read. Nothing was saved.",
        "이곳의 어떤 양식보다 많은 내용이 전송되어 읽지 않았습니다. 저장된 내용은 없습니다.";
    too_long_next:
        "Go back: what you typed is still in the form. Shorten it, and send it again. A note has room for 4,000 characters, a message \
         to the courier for 500.",
        "뒤로 돌아가면 입력한 내용이 양식에 남아 있습니다. 내용을 줄인 뒤 다시 보내세요. 메모는 4,000자, 배송 메시지는 500자까지 쓸 수 있습니다.";
    too_long_next_here:
        "What you typed is still here. Shorten it, and save again. A note has room for 4,000 characters, a message to the courier for 500.",
        "입력한 내용은 그대로 있습니다. 내용을 줄인 뒤 다시 저장하세요. 메모는 4,000자, 배송 메시지는 500자까지 쓸 수 있습니다.";
    too_slow_title: "The form did not arrive in time", "양식이 제때 도착하지 않았습니다";
    too_slow_what:
        "The connection was too slow or broke off. Nothing was saved.",
        "연결이 너무 느리거나 끊겼습니다. 저장된 내용은 없습니다.";
    too_slow_next: "Go back and send it again.", "뒤로 돌아가 다시 보내세요.";
    misdirected_title: "This is not the address of the shop", "스토어의 주소가 아닙니다";
    misdirected_what:
        "The shop does not answer by the name in the address, so that no other site can pass for it.",
        "다른 사이트가 스토어인 것처럼 보이지 않도록, 이 이름의 주소에는 응답하지 않습니다.";
    misdirected_next:
        "Open the shop by its own address. Its operator can add a name with --host.",
        "스토어의 주소로 여세요. 운영하는 사람은 --host로 이름을 추가할 수 있습니다.";
}
