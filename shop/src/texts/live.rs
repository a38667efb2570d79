//! What is new on an open page, and who is here.

use super::{Html, Lang, texts};

texts! {
    live: "Live", "실시간";
    live_as_of: "As of {time}", "{time} 기준";
    live_paused: "No connection. This is how it was at {time}.", "연결이 끊겼습니다. {time} 기준 내용입니다.";
    live_signed_out:
        "You are signed out. This is how it was at {time}.",
        "로그아웃되었습니다. {time} 기준 내용입니다.";
    live_retry: "Connect now", "다시 연결";
    live_sign_in: "Sign in", "로그인";
    live_over: "The order is not there any more, or not for you to see.", "주문이 더 이상 없거나 볼 수 없게 되었습니다.";

    idle_since(name, time): "{name} has it open; no input since {time}", "{name} 님이 열어 둔 채 {time}부터 입력 없음";
    silent_since(name, time, free): "No sign of {name} since {time}; free by {free}", "{name} 님이 {time}부터 응답 없음 · 늦어도 {free}에 풀림";
    own_page_silent(time, free): "Your page with it has not answered since {time}; free by {free}", "내가 열어 둔 창이 {time}부터 응답 없음 · 늦어도 {free}에 풀림";
    own_page_gone:
        "It was closed, or its device is asleep or offline. Nobody is editing there; you can go on here.",
        "창이 닫혔거나 기기가 절전 또는 오프라인 상태입니다. 그곳에서는 아무도 수정하고 있지 않으니 여기서 이어서 수정할 수 있습니다.";
    free_now: "Free now", "지금 수정 가능";
    nobody_here: "Nobody is editing this order.", "지금 수정 중인 사람이 없습니다.";
    row_gone: "Not there any more, or not for you to see", "없어졌거나 볼 수 없는 주문";
    saved_now(who, version, what, time): "{who} saved version {version}: {what}, at {time}", "{who} {time}에 저장 · 버전 {version}: {what}";
    changed_now(version): "Saved meanwhile: version {version}", "그사이 저장됨: 버전 {version}";
    note_changed: "The note was changed meanwhile.", "그사이 메모가 바뀌었습니다.";
    show_it: "Show", "새로 보기";

    looking_one(names): "{names} is looking at this order", "{names}이 보고 있습니다";
    looking_many(names): "{names} are looking at this order", "{names}이 보고 있습니다";
    and_more(names, count): "{names} and {count} more", "{names} 외 {count}명";
    of_the_shop: "Somebody at the shop", "상점 담당자";

    free_title(no): "Order {no} is free", "주문 {no}: 이제 아무도 수정하고 있지 않습니다";
    free_what: "You can edit now.", "지금 수정할 수 있습니다.";
    free_to_save:
        "Nothing blocks the save any more: [Try again] saves what you typed, or shows what was saved meanwhile.",
        "이제 막는 것이 없습니다. [다시 시도]를 누르면 입력한 내용을 저장하거나, 그사이 저장된 내용을 보여 드립니다.";
    free_to_ship: "You can try again now.", "이제 다시 시도할 수 있습니다.";
    free_to_cancel: "The order can be cancelled now.", "지금 주문을 취소할 수 있습니다.";
    edit_now: "Edit now", "지금 수정";
    changed_while_waiting(change): "Meanwhile: {change}", "그사이: {change}";

    last_input_at(time): "last input {time}", "마지막 입력 {time}";
    no_input_since(time): "no input since {time}", "{time}부터 입력 없음";
    no_answer_since(time): "no sign since {time}", "{time}부터 응답 없음";
    lease_ended: "Ended", "끝남";
    some_ended: "Some of these are not edited any more.", "수정이 끝난 주문이 있습니다.";
    leases_new_one: "One more was opened.", "새로 1건이 열렸습니다.";
    leases_new_many(count): "{count} more were opened.", "새로 {count}건이 열렸습니다.";
}

impl Lang {
    /// Leases that the page does not show yet.
    pub(crate) fn leases_new(self, count: usize) -> Html {
        if count == 1 { self.leases_new_one().into() } else { self.leases_new_many(count) }
    }
}
