//! The lock console of the operators. Here, and only here, a lock is called a lock.

use super::{Html, Lang, texts};
use crate::domain::Problem;

texts! {
    locks_title: "Being edited now", "편집 중인 주문";
    locks_intro:
        "Everything that somebody has open for editing. A lock frees itself when its form is closed, or when nobody \
         types into it any more.",
        "누군가 수정하려고 열어 둔 항목입니다. 양식을 닫거나 입력이 없으면 잠금은 저절로 풀립니다.";
    filter_by_type: "Filter by type", "종류별 보기";
    type_all: "All", "전체";
    type_order: "Orders", "주문";
    type_note: "Notes", "메모";
    of_order(no): "Order {no}", "주문 {no}";
    of_note(no): "Note on order {no}", "주문 {no} 메모";
    what_is_locked: "What", "대상";
    holder: "Who", "편집하는 사람";
    since: "Since", "시작";
    frees_itself_at: "Free at", "자동 해제";
    actions: "Actions", "작업";
    nobody_is_editing: "Nobody is editing.", "편집 중인 사람이 없습니다.";
    nobody_is_editing_more:
        "As soon as somebody opens an order or a note for editing, it stands here.",
        "누군가 주문이나 메모를 수정하려고 열면 여기에 표시됩니다.";
    nobody_edits_an_order: "Nobody is editing an order.", "주문을 편집 중인 사람이 없습니다.";
    nobody_edits_an_order_more:
        "As soon as somebody opens an order for editing, it stands here.",
        "누군가 주문을 수정하려고 열면 여기에 표시됩니다.";
    nobody_edits_a_note: "Nobody has a note open.", "메모를 연 사람이 없습니다.";
    nobody_edits_a_note_more:
        "As soon as somebody opens a note for editing, it stands here.",
        "누군가 메모를 수정하려고 열면 여기에 표시됩니다.";
    locks_one: "1 lock", "1건";
    locks_many(count): "{count} locks", "{count}건";
    locks_on_this_page(count): "{count} on this page", "이 쪽에 {count}건";
    first_page: "First page", "첫 쪽";
    next_page: "Next page", "다음 쪽";
    keeps_nobody_away: "Keeps nobody away", "다른 사람도 쓸 수 있음";
    end_lease: "End this lock", "이 잠금 해제";
    end_this(what): "End the lock on: {what}", "잠금 해제: {what}";
    end_consequence(name):
        "{name} will not be able to save as it is, and will be told your name and the reason. What was typed stays in that \
         form, and {name} can begin again with it while nobody else edits. This cannot be undone.",
        "{name} 님은 그대로는 저장할 수 없게 되며, 해제한 사람과 사유를 전달받습니다. 입력한 내용은 그 양식에 남고, 다른 사람이 수정하지 않는 동안 그 내용으로 다시 시작할 수 있습니다. 되돌릴 수 없습니다.";
    reason_label: "Reason (the holder will read it)", "사유(편집하던 사람에게 전달됩니다)";
    reason_missing: "Give a reason: the holder is going to read it.", "사유를 입력하세요. 편집하던 사람이 읽게 됩니다.";
    holder_changed:
        "That lock had ended, or had another holder, before you pressed the button. Nothing was ended now. This is the list as it is.",
        "버튼을 누르기 전에 그 잠금이 이미 풀렸거나 편집하는 사람이 바뀌었습니다. 이번에는 아무것도 해제하지 않았습니다. 현재 목록은 다음과 같습니다.";
    refresh: "Refresh", "새로 고침";
    this_is_you: "(you)", "(나)";
}

impl Lang {
    /// Why the reason for ending a lock is invalid.
    pub(crate) fn wrong_reason(self, problem: Problem) -> Html {
        if problem == Problem::Empty { self.reason_missing().into() } else { self.wrong(problem) }
    }

    /// How many locks there are.
    pub(crate) fn locks_count(self, count: usize) -> Html {
        if count == 1 { self.locks_one().into() } else { self.locks_many(count) }
    }
}
