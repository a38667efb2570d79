//! The state of an open form: shown on the rendered page, and by each heartbeat.

use super::texts;

texts! {
    standing_saved:
        "This form is finished: it was saved, or nothing was left to save.",
        "이 양식은 끝났습니다. 이미 저장했거나 더 저장할 내용이 없었습니다.";
    standing_saved_again:
        "This form was already saved. If you typed more after that, go on with [Edit again].",
        "이미 저장된 양식입니다. 그 뒤에 더 입력했다면 [다시 수정]을 눌러 이어 가세요.";
    standing_frozen(why):
        "{why} Anything typed here stays, and can be copied.",
        "{why} 여기에 입력하는 내용은 그대로 남으며 복사할 수 있습니다.";
    standing_gone:
        "The order is not there any more, or not for you to see. Anything typed here stays, and can be copied.",
        "주문이 더 이상 없거나 볼 수 없게 되었습니다. 여기에 입력하는 내용은 그대로 남으며 복사할 수 있습니다.";
    standing_other_person:
        "This form was opened by somebody else, and another person is signed in in this browser now, so it cannot be saved. To go on, sign in \
         again with that account in a new tab, then come back here: what is typed stays.",
        "다른 사람이 연 양식인데 지금은 이 브라우저에 다른 계정으로 로그인되어 있어 저장할 수 없습니다. 계속하려면 새 탭에서 그 계정으로 다시 로그인한 뒤 여기로 돌아오세요. \
         입력한 내용은 그대로 남습니다.";
    standing_resumed:
        "Your time to edit had run out, but nobody changed the order meanwhile. You can go on.",
        "편집 시간이 끝났었지만 그사이 주문을 바꾼 사람은 없습니다. 계속 수정하세요.";
    standing_lapsed_free:
        "The order is not reserved for you now. Nobody has changed it: go on typing, and it is yours.",
        "지금은 주문이 잠겨 있지 않지만, 그사이 주문을 바꾼 사람은 없습니다. 계속 입력하면 이어서 수정할 수 있습니다.";
    standing_outdated(who):
        "{who} You can go on: when you save, you will see both changes side by side.",
        "{who} 계속 입력해도 됩니다. 저장할 때 두 변경을 나란히 보여 드립니다.";
    note_outdated(who): "{who} When you save, you see both texts side by side.", "{who} 저장할 때 두 글을 나란히 보여 드립니다.";
    standing_elsewhere(time):
        "You have been editing since {time}, in another tab or on another device, or on a page that was closed a moment ago. Moving ends the \
         editing there. If that page is still open, what was typed there stays there, to be copied; it is not saved, and does not come \
         along by itself.",
        "{time}부터 다른 탭이나 다른 기기에서 수정하고 있거나, 그 창이 조금 전에 닫혔습니다. 가져오면 그쪽의 편집이 끝납니다. 그 창이 아직 열려 있으면 입력한 내용은 그곳에 남아 복사할 수 있지만, 저장되거나 자동으로 옮겨지지는 않습니다.";
    standing_silent(time, seen):
        "You began to edit at {time}, on a page that has not answered since {seen}. You can go on here; what was typed \
         there and not saved stays there.",
        "{time}에 수정을 시작한 창이 {seen}부터 응답하지 않습니다. 여기서 이어서 수정하세요. 그곳에 입력하고 저장하지 않은 내용은 그곳에 남습니다.";
    standing_moved(time):
        "You went on in another tab or on another device at {time}. Anything typed here stays, and can be copied.",
        "{time}에 다른 탭이나 다른 기기에서 이어서 수정했습니다. 여기에 입력하는 내용은 그대로 남습니다.";
    standing_held(name, time):
        "{name} has been editing since {time}. You can type; saving waits until the order is free.",
        "{name} 님이 {time}부터 수정하고 있습니다. 입력할 수 있지만, 주문이 풀린 뒤에 저장할 수 있습니다.";
    standing_taken(ended, name, time):
        "{ended} {name} has been editing since {time}. Anything typed here stays.",
        "{ended} {time}부터 {name} 님이 수정하고 있습니다. 여기에 입력하는 내용은 그대로 남습니다.";
    standing_ended(ended): "{ended} Anything typed here stays.", "{ended} 여기에 입력하는 내용은 그대로 남습니다.";
    standing_lapsed_changed(ended, who):
        "{ended} {who} Compare before you go on; anything typed here stays.",
        "{ended} {who} 비교한 뒤 계속하세요. 여기에 입력하는 내용은 그대로 남습니다.";
    standing_lapsed(ended):
        "{ended} Nobody has changed it since. Anything typed here stays.",
        "{ended} 그사이 바꾼 사람은 없습니다. 여기에 입력하는 내용은 그대로 남습니다.";

    compared_held(name, time):
        "{name} has been editing since {time}. As soon as that is over, you can save here.",
        "{time}부터 {name} 님이 수정하고 있습니다. 끝나면 여기에서 저장할 수 있습니다.";
    compared_elsewhere(time):
        "You have been editing since {time}, in another tab or on another device. As soon as that is over, you can save here.",
        "{time}부터 다른 탭이나 다른 기기에서 수정하고 있습니다. 그쪽을 끝내면 여기에서 저장할 수 있습니다.";
    compared_outdated(older):
        "{older} When you save, you are asked about what has changed again.",
        "{older} 저장하면 다시 바뀐 부분을 묻습니다.";
    compared_older(who): "{who} What this page shows as “now” is older.", "{who} 이 화면의 ‘현재’ 내용은 그 이전의 것입니다.";
    ended_since(ended, since): "{ended} {since}", "{ended} {since}";
    compared_ended(ended):
        "{ended} To go on with your change, press [Edit mine first].",
        "{ended} 변경을 이어서 하려면 [내 변경 다시 고치기]를 누르세요.";

    js_offline:
        "No connection. Until {time} nobody else can edit the order, and what you type is kept in this browser.",
        "연결이 끊겼습니다. {time}까지는 다른 사람이 수정할 수 없고, 입력한 내용은 이 브라우저에 남아 있습니다.";
    js_unreached:
        "The shop cannot be reached. What you type is kept in this browser. Others may write in the note meanwhile: then you will see both \
         texts when you save.",
        "서버에 연결되지 않습니다. 입력한 내용은 이 브라우저에 남아 있습니다. 그사이 다른 사람이 메모를 바꾸면 저장할 때 두 글을 나란히 보여 드립니다.";
    js_expired:
        "Your time may have run out. Nothing that you typed is lost; this page asks as soon as it can.",
        "편집 시간이 끝났을 수 있습니다. 입력한 내용은 그대로 있으며, 연결되는 대로 확인합니다.";
    js_signed_out:
        "You are signed out. Sign in again in another tab, then go on here. What you type stays; others may edit the order meanwhile.",
        "로그인이 풀렸습니다. 다른 탭에서 다시 로그인한 뒤 계속하세요. 입력한 내용은 그대로 있지만, 그사이 다른 사람이 주문을 수정할 수 있습니다.";
    js_note_signed_out:
        "You are signed out. Sign in again in another tab, then go on here. What you type stays; others may write in the note meanwhile: \
         then you will see both texts when you save.",
        "로그인이 풀렸습니다. 다른 탭에서 다시 로그인한 뒤 계속하세요. 입력한 내용은 그대로 있습니다. 그사이 다른 사람이 메모를 바꾸면 저장할 때 두 글을 나란히 보여 드립니다.";
    js_unkept:
        "This browser keeps no copy of what you type: its storage is full or blocked. Save before you leave this page.",
        "브라우저의 저장 공간이 가득 찼거나 막혀 있어 입력한 내용을 따로 보관하지 못합니다. 이 페이지를 떠나기 전에 저장하세요.";
    js_free:
        "The order could not be reserved for you just now. You can go on: if somebody changes it meanwhile, you will \
         see both changes when you save.",
        "지금은 주문을 잠그지 못했습니다. 계속 입력해도 됩니다. 그사이 다른 사람이 바꾸면 저장할 때 두 변경을 나란히 보여 드립니다.";
    js_free_signed_out:
        "You are signed out, so the order is not reserved for you. Sign in again in another tab. What you type stays \
         here.",
        "로그인이 풀려 주문을 잠그지 못했습니다. 다른 탭에서 다시 로그인하세요. 입력한 내용은 그대로 있습니다.";
    js_idle:
        "Are you still there? Editing ends at {time}. Any key continues.",
        "계속 수정하고 계신가요? {time}에 편집이 끝납니다. 아무 키나 누르면 계속됩니다.";
    js_saving: "Saving …", "저장하는 중…";
    js_adding: "Adding a line …", "줄을 추가하는 중…";
    js_opening: "Opening the form …", "양식을 여는 중…";
    js_unknown:
        "We do not know yet whether it was saved. What you typed is kept here, this page asks again by itself, and nothing is saved twice.",
        "저장되었는지 아직 알 수 없습니다. 입력한 내용은 그대로 있으며, 이 페이지가 다시 확인합니다. 두 번 저장되지 않습니다.";
    js_unsent:
        "No connection yet. What you typed is kept here, and is sent when the connection is back.",
        "연결이 끊겨 아직 보내지 못했습니다. 입력한 내용은 그대로 있으며, 연결되면 다시 보냅니다.";
    js_busy:
        "The shop is busy. What you typed is kept here, and is sent again in a moment.",
        "요청이 몰려 아직 처리하지 못했습니다. 입력한 내용은 그대로 있으며, 잠시 후 다시 보냅니다.";
    hour_cycle: "h23", "h12";
    js_more:
        "Saved. What you typed after that is not saved yet.",
        "저장했습니다. 그 뒤에 입력한 내용은 아직 저장하지 않았습니다.";
    js_failed:
        "Something went wrong on our side, and nothing was saved. What you typed is still here; try again.",
        "문제가 생겨 저장하지 못했습니다. 입력한 내용은 그대로 있습니다. 다시 시도해 주세요.";
    js_stopped:
        "Stopped. It may have been saved; if you change it and save again, nothing is saved twice.",
        "중단했습니다. 이미 저장되었을 수도 있습니다. 고쳐서 다시 저장해도 두 번 저장되지 않습니다.";
    js_unleft:
        "No connection, so this form is still open. What you typed is still here.",
        "연결이 끊겨 양식이 그대로 열려 있습니다. 입력한 내용도 그대로 있습니다.";
    check_saved: "Check", "확인";
    stop_saving: "Go on editing", "계속 수정";
    sign_in_here: "Sign in (new tab)", "로그인(새 탭)";

    draft_found: "You typed this at {time} and did not save it: {text}", "{time}에 입력하고 저장하지 않은 내용이 있습니다. {text}";
    draft_older:
        "You typed this at {time}, on another version than the form has now, and did not save it: {text}. If something was saved since then, you see \
         that before yours is saved.",
        "{time}에 지금 양식과 다른 버전에서 입력하고 저장하지 않은 내용이 있습니다. {text} (그 뒤에 저장된 내용이 있으면 저장 전에 보여 드립니다.)";
    draft_back: "What you typed at {time} is back in the form. Check it and save.", "{time}에 입력한 내용을 다시 채웠습니다. 확인하고 저장해 주세요.";
    draft_replaced:
        "That text is in the form now. The text that it replaced, typed at {time}, is kept: {text}",
        "다시 채웠습니다. 그 자리에 있던 내용({time} 입력)은 보관되어 있습니다. {text}";
    draft_dropped: "You dropped this at {time}: {text}", "{time}에 버린 내용입니다. {text}";
    unsaved_title: "You typed this and it was not saved", "입력했지만 저장되지 않은 내용입니다";
    unsaved_at: "Typed at {time}. You can copy it; the form is gone.", "{time}에 입력했습니다. 복사할 수 있으며, 양식은 더 이상 열 수 없습니다.";
    unsaved_copy: "Copy", "복사";
    unsaved_copied: "Copied.", "복사했습니다.";
    unsaved_discarded: "Discarded.", "버렸습니다.";
    refused_before(time, text):
        "Your text of {time} was not saved: {text}",
        "{time}의 내용은 저장되지 않았습니다. {text}";
    refused_dropped(text): "You dropped this: {text}", "버린 내용입니다. {text}";
    refused_see: "See it", "내용 보기";
    draft_restore: "Put it into the form", "양식에 다시 채우기";
    draft_discard: "Drop it", "버리기";
}
