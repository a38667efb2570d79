//! The front page and `/demo`.
//!
//! In Korean every name that acts here ends in a vowel, so the particles after them are fixed.

use super::{Html, Lang, texts};
use crate::demo::{Act, Event, Field, Lock, Outcome, Side, Way};

texts! {
    front_title: "The parcel that went to the wrong house", "엉뚱한 집으로 간 택배";
    front_first: "Minji has moved, and changes the address of her order.", "이사한 민지가 주문의 배송지를 새집으로 바꿉니다.";
    front_second:
        "In the same minute Park, who packs the parcels, presses Ship, on a page that still shows the old address.",
        "바로 그때 운영자 지우는 옛 주소가 그대로 보이는 화면에서 발송 처리를 누릅니다.";
    front_third:
        "Both are told that all went well, and the parcel goes to the wrong house. With tenure, which programmers build into a shop like \
         this one, that cannot happen unseen.",
        "두 사람 모두 처리되었다는 안내를 받았지만, 택배는 엉뚱한 집으로 갑니다. 개발자가 쇼핑몰에 tenure를 넣으면 아무도 모르게 이런 일이 생기지 않습니다.";
    front_picture:
        "A van carries the parcel from the warehouse to an empty old house. Its label shows the old address. Minji waits at the \
         door of her new house.",
        "옛 주소가 붙은 택배를 실은 차가 창고를 떠나 텅 빈 옛집으로 간다. 민지는 새집 문 앞에서 기다린다.";
    front_label: "to: old house", "옛집으로";
    see_it_happen: "See it happen", "직접 보기";
    front_or:
        "Or walk through the shop yourself. To be both at once, open a second browser or a private window: each is one person.",
        "쇼핑몰을 직접 둘러볼 수도 있습니다. 두 사람이 되어 보려면 다른 브라우저나 시크릿 창을 하나 더 여세요. 창마다 한 사람입니다.";
    be_the_customer: "Be the customer", "고객으로 들어가기";
    be_the_operator: "Be the operator", "운영자로 들어가기";

    demo_title: "Two people, one order", "두 사람, 한 주문";
    demo_lead:
        "Every story here really runs, in a small shop that is yours alone: you press the buttons of both people. First see what goes \
         wrong. Then do the same with tenure. Programmers build it into a shop, so that nobody undoes another’s work unseen.",
        "여기 이야기는 나만의 작은 쇼핑몰에서 실제로 돌아갑니다. 두 사람의 버튼은 모두 여러분이 누릅니다. 먼저 무엇이 잘못되는지 보세요. 그다음 tenure를 켜고 \
         똑같이 해 보세요. tenure는 남이 한 일을 모르고 덮어쓰는 일이 없도록 개발자가 쇼핑몰에 넣는 것입니다.";
    demo_what_is_a_lock:
        "Three ways to keep two people from undoing each other’s work. Programmers call all three of them locks.",
        "두 사람이 서로의 일을 덮어쓰지 않게 하는 세 가지 방법. 개발자들은 세 가지 모두 잠금이라고 부릅니다.";
    demo_start_here: "Play this story", "이 이야기 해 보기";
    demo_comic_with: "And with tenure?", "tenure가 있으면?";
    comic_with:
        "The shop notices that Park’s page is older than the order, and refuses his click before anything leaves. He looks again, \
         prints the new label, and the parcel goes to the right house.",
        "쇼핑몰은 지우의 화면이 바뀌기 전 주문이라는 것을 알아차리고, 택배가 떠나기 전에 발송을 거부합니다. 지우는 주문을 다시 보고 새 송장을 출력하며, \
         택배는 맞는 집으로 갑니다.";
    demo_in_tab_1(name): "{name} (first tab)", "{name}(첫 번째 탭)";
    demo_in_tab_2(name): "{name} (second tab)", "{name}(두 번째 탭)";
    demo_in_pictures: "Without tenure, in four pictures", "tenure가 없을 때, 네 장면";
    comic_1: "Park opens the order and prints the label: 1 Old Street.", "지우가 주문을 열고 송장을 출력합니다. 주소는 옛집길 1입니다.";
    comic_2: "Minji changes the address to 2 New Street. The shop says: saved.", "민지가 주소를 새집길 2로 바꿉니다. 쇼핑몰은 저장했다고 알려 줍니다.";
    comic_3: "Park presses Ship. The shop says: shipped.", "지우가 발송 처리를 누릅니다. 쇼핑몰은 발송했다고 알려 줍니다.";
    comic_4: "The parcel stands at 1 Old Street. Nobody lives there any more.", "택배는 옛집길 1에 있습니다. 이제 아무도 살지 않는 집입니다.";
    demo_ended:
        "Your small shop has ended: one lives for half an hour after its last step, and the oldest makes room for new ones. Choose a \
         story, and it begins again.",
        "사용하던 작은 쇼핑몰이 끝났습니다. 마지막 단계에서 30분이 지나거나 새 쇼핑몰에 자리가 필요하면 가장 오래된 쇼핑몰부터 끝납니다. 이야기를 고르면 \
         처음부터 다시 시작합니다.";
    demo_failed:
        "The small shop could not go on: its database did not answer. Choose a story to begin again.",
        "데이터베이스가 응답하지 않아 계속할 수 없습니다. 이야기를 골라 다시 시작하세요.";
    demo_all: "All stories", "모든 이야기";
    demo_switch: "The same story", "같은 이야기";
    demo_with: "with tenure", "tenure 사용";
    demo_without: "without tenure", "tenure 없이";
    demo_now_with: "Now the same with tenure", "이제 tenure를 켜고 다시 보기";
    demo_again: "Once more", "다시 한 번";
    demo_next_story(title): "Next story: {title}", "다음 이야기: {title}";
    demo_step(at, of): "Step {at} of {of}", "{of}단계 중 {at}단계";
    demo_clock(minutes): "clock: minute {minutes}", "시계: {minutes}분";
    demo_screen(name): "{name}’s screen", "{name}의 화면";
    demo_tab_1(name): "{name}, first tab", "{name}, 첫 번째 탭";
    demo_tab_2(name): "{name}, second tab", "{name}, 두 번째 탭";
    demo_nothing_open: "Nothing is open yet.", "아직 아무것도 열지 않았습니다.";
    demo_order(no): "Order {no}", "주문 {no}";
    demo_address: "Address", "배송지";
    demo_message_label: "Message for the courier", "배송 메시지";
    demo_label: "Label", "송장";
    demo_state: "State", "상태";
    demo_saw_version(version): "as of version {version}", "버전 {version}";
    demo_stale(name):
        "{name} does not see it: the order has changed since this screen was loaded.",
        "{name}는 모릅니다. 화면을 연 뒤에 주문이 바뀌었습니다.";
    demo_shop_says: "The shop says:", "쇼핑몰의 안내:";
    demo_says_saved: "Saved.", "저장했습니다.";
    demo_says_shipped: "Shipped.", "발송했습니다.";
    demo_says_too_late: "Too late: the parcel has left.", "늦었습니다. 택배가 이미 떠났습니다.";
    demo_happened: "What happened", "무슨 일이 있었나";
    demo_nothing_yet: "Nothing yet: press the button above.", "아직 없습니다. 위의 버튼을 누르세요.";
    demo_behind: "Behind the scenes, for programmers", "뒤에서 일어난 일(개발자용)";
    demo_http: "The requests and their answers", "요청과 응답";
    demo_rust: "The Rust that did it", "이 일을 한 Rust 코드";
    demo_database: "What the database has now", "지금 데이터베이스에 있는 것";
    demo_order_row: "The order", "주문";
    demo_lock_row: "The lock", "잠금";
    demo_no_row_pessimistic:
        "A pessimistic lock is not in a table: the database itself keeps it, for the few thousandths of a second in which it works on a \
         request.",
        "선점 잠금은 표에 남지 않습니다. 데이터베이스가 직접, 요청 하나를 처리하는 몇 밀리초 동안만 잠급니다.";
    demo_no_row_optimistic:
        "An optimistic lock is not in a table of its own: it is the version, the number in the order.",
        "비선점 잠금은 따로 표에 남지 않습니다. 주문에 있는 번호, 버전이 그 역할을 합니다.";
    demo_no_row_offline: "No lock yet: nobody has reserved this order.", "아직 잠금이 없습니다. 아무도 이 주문을 잡아 두지 않았습니다.";
    demo_reserved(left): "You are editing this order. Reserved for you for {left} more", "내가 수정하는 중 · 남은 시간 {left}";
    demo_typing(name): "{name} is typing …", "{name}가 입력하고 있습니다 …";
    demo_no_locks: "Without tenure there is no lock.", "tenure가 없으면 잠금도 없습니다.";
    demo_now_version(version): "the order is at version {version}", "주문은 버전 {version}";
    demo_version_unused: "this program neither reads nor raises it", "이 프로그램은 읽지도 올리지도 않음";
    demo_is_editing(name): "{name} is editing this order", "{name}가 이 주문을 수정하고 있습니다";
    demo_left: "Time left", "남은 시간";
    demo_lock_over: "over: anybody may take it", "끝남. 이제 누구나 수정할 수 있음";

    demo_warehouse: "The warehouse", "창고";
    demo_old_house(address): "{address}: empty, Minji has moved out", "{address}: 민지가 이사 나간 빈집";
    demo_new_house(address): "{address}: Minji lives here", "{address}: 민지가 사는 집";
    demo_minjis_house: "Minji, who ordered a kettle", "주전자를 주문한 민지";
    demo_lees_house: "Lee, who ordered a kettle", "주전자를 주문한 준호";
    demo_shelf(pieces): "Kettles on the shelf: {pieces}", "선반에 있는 주전자: {pieces}개";
    demo_parcel: "The parcel is here.", "택배가 여기 있습니다.";
    demo_promise: "Was told: your kettle has been sent.", "주전자를 보냈다는 안내를 받았습니다.";
    demo_promise_without: "Was told so, too. But there is no second kettle.", "같은 안내를 받았지만, 남은 주전자가 없습니다.";

    verdict_right: "The parcel is at the right house", "택배가 맞는 집에 도착했습니다";
    verdict_wrong: "The parcel is at the wrong house", "택배가 엉뚱한 집으로 갔습니다";
    verdict_late: "Park was first: the parcel is at the old house, and Minji knows it", "지우가 먼저였습니다. 택배는 옛집으로 갔고, 민지도 그 사실을 압니다";
    verdict_one: "One kettle, one promise", "주전자 하나에 약속도 하나";
    verdict_two: "Two promises, and only one kettle", "약속은 둘인데 주전자는 하나뿐";

    do_look_customer: "Open the address form", "배송지 양식 열기";
    do_look_operator: "Open the order, print the label", "주문 열고 송장 출력";
    do_begin: "Open the form, type the first letter", "양식 열고 입력 시작";
    do_save: "Save", "저장";
    do_save_both: "Look at both changes, and save both", "두 변경을 보고 모두 저장";
    do_ship: "Ship", "발송 처리";
    do_together: "Now: both press in the same moment", "지금! 두 사람이 같은 순간에 누르기";
    do_pack: "Olivia packs the parcel, and ships it to the address in the order", "수아가 포장해서 주문에 적힌 주소로 발송";
    do_minutes(minutes): "Let {minutes} minutes pass", "{minutes}분 지나게 하기";
    do_beats(minutes): "Let {minutes} minutes pass, with the form open", "양식을 열어 둔 채 {minutes}분 지나게 하기";

    did_look_customer(name, address): "{name} opens the address form. It shows: {address}.", "{name}가 배송지 양식을 엽니다. 화면의 주소는 ‘{address}’입니다.";
    did_look_operator(name, address): "{name} opens the order and prints the label: {address}.", "{name}가 주문을 열고 송장을 출력합니다. 송장의 주소는 ‘{address}’입니다.";
    did_begin_with(name):
        "{name} opens the form and types the first letter. With it the shop notes a lock: this order is {name}’s for five minutes.",
        "{name}가 양식을 열고 첫 글자를 입력합니다. 그 순간 쇼핑몰은 잠금을 기록합니다. 이 주문은 5분 동안 {name}의 것입니다.";
    did_begin_without(name): "{name} opens the form and begins to type. Nobody else can see that.", "{name}가 양식을 열고 입력을 시작합니다. 다른 사람은 알 수 없습니다.";
    did_save_address(name, address): "{name} saves the new address, {address}. The shop accepts it.", "{name}가 새 주소 ‘{address}’를 저장합니다. 쇼핑몰이 저장했습니다.";
    did_save_message(name): "{name} saves a message for the courier. The shop accepts it.", "{name}가 배송 메시지를 저장합니다. 쇼핑몰이 저장했습니다.";
    did_save_both(name): "{name} looks at both changes and saves both. They are in the order now.", "{name}가 두 변경을 보고 모두 저장합니다. 이제 주문에 두 변경이 다 들어 있습니다.";
    did_save_stale(name): "{name} presses Save. Refused: the order has changed since this form was opened. What was typed is kept.", "{name}가 저장을 누릅니다. 양식을 연 뒤에 주문이 바뀌어 거부되었습니다. 입력한 내용은 그대로 있습니다.";
    did_save_lost(name): "{name} presses Save. Refused: Park has the lock by now. What was typed is kept.", "{name}가 저장을 누릅니다. 이제 지우가 수정하고 있어 거부되었습니다. 입력한 내용은 그대로 있습니다.";
    did_save_too_late(name): "{name} presses Save. Refused: the parcel has left. All the typing was for nothing.", "{name}가 저장을 누릅니다. 택배가 이미 떠나 거부되었습니다. 입력한 것이 헛수고가 되었습니다.";
    did_ship(name, address): "{name} presses Ship. The parcel leaves for {address}.", "{name}가 발송 처리를 누릅니다. 택배가 ‘{address}’ 주소로 떠납니다.";
    did_ship_stale(name): "{name} presses Ship. Refused: the order has changed since the label was printed. No parcel leaves.", "{name}가 발송 처리를 누릅니다. 송장을 출력한 뒤에 주문이 바뀌어 거부되었습니다. 택배는 떠나지 않습니다.";
    did_ship_locked(name): "{name} presses Ship. Refused: Minji is editing this order. No parcel leaves.", "{name}가 발송 처리를 누릅니다. 민지가 이 주문을 수정하고 있어 거부되었습니다. 택배는 떠나지 않습니다.";
    did_ship_none(name): "{name} presses Ship. The request waits for the other one, then reads the shelf: none is left. Refused.", "{name}가 발송 처리를 누릅니다. 요청은 상대가 끝나기를 기다렸다가 재고를 읽습니다. 남은 것이 없어 거부되었습니다.";
    did_pack(address): "Olivia, who packs parcels, prints the label from the order, {address}, and ships.", "택배를 포장하는 수아가 주문에 적힌 주소({address})로 송장을 출력하고 발송합니다.";
    did_minutes_with(minutes): "{minutes} minutes pass. Nothing comes from the page that was open, so its lock runs out by itself.", "{minutes}분이 지납니다. 열려 있던 페이지에서 아무 신호가 없어 잠금이 저절로 풀립니다.";
    did_minutes_without(minutes): "{minutes} minutes pass.", "{minutes}분이 지납니다.";
    did_beats(name, minutes):
        "{minutes} minutes pass. {name} is away, but the page is open. Once a minute it says: still here. So the lock goes on.",
        "{minutes}분이 지납니다. {name}는 자리에 없지만 페이지는 열려 있습니다. 페이지가 1분마다 아직 열려 있다고 알리므로 잠금이 유지됩니다.";
}

/// The texts of a story.
#[derive(Debug)]
pub(crate) struct StoryText {
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    /// Why it ended so.
    pub(crate) without: &'static str,
    pub(crate) with: &'static str,
    pub(crate) leaving: Option<Leaving>,
}

/// How somebody goes away in the middle of typing.
#[derive(Debug)]
pub(crate) struct Leaving {
    /// The button.
    pub(crate) button: &'static str,
    /// What happened.
    pub(crate) happened: &'static str,
    /// Where they are now.
    pub(crate) away: &'static str,
    /// The button with which they are back, and save.
    pub(crate) back: &'static str,
}

/// The name of a lock, what it does in a few words, and in a sentence.
#[derive(Debug)]
pub(crate) struct LockText {
    pub(crate) name: &'static str,
    pub(crate) short: &'static str,
    pub(crate) long: &'static str,
}

impl Lang {
    pub(crate) fn demo_story(self, story: usize) -> &'static StoryText {
        match self {
            Lang::En => &EN[story],
            Lang::Ko => &KO[story],
        }
    }

    pub(crate) fn demo_lock(self, lock: Lock) -> LockText {
        let (name, short, long) = match (self, lock) {
            (Lang::En, Lock::Pessimistic) => (
                "Pessimistic lock",
                "the second one waits",
                "Two requests come at once. The second waits, a few thousandths of a second, until the first is done, and then sees what it has \
                 left. Pessimistic, because it expects that two will meet.",
            ),
            (Lang::En, Lock::Optimistic) => (
                "Optimistic lock",
                "the version decides",
                "Nobody waits. An order has a number, its version, and each save raises it. What comes from a page with an older number is \
                 refused before it changes anything. Optimistic, because it expects that two rarely meet. There is nothing to end: nobody is kept out.",
            ),
            (Lang::En, Lock::Offline) => (
                "Offline pessimistic lock",
                "“Minji is editing this order”",
                "Typing takes minutes, so the form reserves the order, and others are told who is at it. The open page renews the lock each \
                 minute. If nothing comes from the page any more, the lock ends by itself after five minutes. Offline, because no connection \
                 has to stay open for it.",
            ),
            (Lang::Ko, Lock::Pessimistic) => (
                "선점 잠금",
                "나중에 온 쪽이 기다린다",
                "두 요청이 동시에 옵니다. 나중에 온 쪽은 먼저 온 쪽이 끝날 때까지 몇 밀리초 기다렸다가, 먼저 온 쪽이 바꿔 놓은 상태를 봅니다. 둘이 부딪칠 수 있으니 먼저 잡아 둡니다. 그래서 ‘선점’입니다.",
            ),
            (Lang::Ko, Lock::Optimistic) => (
                "비선점 잠금",
                "버전이 결정한다",
                "아무도 기다리지 않습니다. 주문에는 버전이라는 번호가 있고, 저장할 때마다 1씩 올라갑니다. 예전 번호의 화면에서 보낸 요청은 아무것도 바꾸지 않고 거부합니다. 둘이 부딪치는 일은 드무니 잡아 두지 않습니다. 그래서 ‘비선점’입니다. 막아 둔 것이 없으니 풀 것도 \
                 없습니다.",
            ),
            (Lang::Ko, Lock::Offline) => (
                "오프라인 선점 잠금",
                "“민지가 수정하고 있습니다”",
                "입력에는 몇 분이 걸리므로 양식을 쓰는 동안 주문을 잡아 두고, 누가 수정하고 있는지 다른 사람에게 알립니다. 열려 있는 페이지는 1분마다 잠금을 \
                 연장합니다. 페이지에서 신호가 끊기면 잠금은 5분 뒤에 저절로 풀립니다. 쇼핑몰과 연결되어 있지 않은 동안에도 이어집니다. 그래서 ‘오프라인’입니다.",
            ),
        };
        LockText { name, short, long }
    }

    /// What is typed unless the visitor types something else.
    pub(crate) fn demo_default(self, field: Field) -> &'static str {
        match field {
            Field::Address => self.demo_new_address(),
            Field::Message => self.demo_message(),
        }
    }

    pub(crate) fn demo_name(self, login: &str) -> &'static str {
        match (self, login) {
            (Lang::En, "minji") => "Minji",
            (Lang::En, "park") => "Park",
            (Lang::En, "olivia") => "Olivia",
            (Lang::En, _) => "Lee",
            (Lang::Ko, "minji") => "민지",
            (Lang::Ko, "park") => "지우",
            (Lang::Ko, "olivia") => "수아",
            (Lang::Ko, _) => "준호",
        }
    }

    /// The button of a step.
    pub(crate) fn demo_do(self, act: Act, story: usize, is_operator: bool) -> Html {
        match act {
            Act::Look(_) if is_operator => self.do_look_operator().into(),
            Act::Look(_) => self.do_look_customer().into(),
            Act::Begin(_) => self.do_begin().into(),
            Act::Save(..) => self.do_save().into(),
            Act::SaveBoth(_) => self.do_save_both().into(),
            Act::Ship(_) => self.do_ship().into(),
            Act::Together => self.do_together().into(),
            Act::Pack => self.do_pack().into(),
            Act::Minutes(minutes) => self.do_minutes(minutes),
            Act::Beats(_, minutes) => self.do_beats(minutes),
            Act::Leave(_) => self.demo_leaving(story).map_or_else(|| "".into(), |leaving| leaving.button.into()),
        }
    }

    /// What happened, in plain words.
    pub(crate) fn demo_did(self, event: &Event, story: usize, name: &Html, is_operator: bool, way: Way) -> Html {
        let address = &event.address;
        match (event.act, &event.outcome) {
            (Act::Look(_), _) if is_operator => self.did_look_operator(name, address),
            (Act::Look(_), _) => self.did_look_customer(name, address),
            (Act::Begin(_), _) if way == Way::With => self.did_begin_with(name),
            (Act::Begin(_), _) => self.did_begin_without(name),
            (Act::Save(_, Field::Address), Outcome::Done) => self.did_save_address(name, address),
            (Act::Save(..), Outcome::Done) => self.did_save_message(name),
            (Act::SaveBoth(_), Outcome::Done) => self.did_save_both(name),
            (Act::Save(..) | Act::SaveBoth(_), Outcome::Refused(422, _)) => self.did_save_too_late(name),
            (Act::Save(..) | Act::SaveBoth(_), Outcome::Refused(410 | 423, _)) => self.did_save_lost(name),
            (Act::Save(..) | Act::SaveBoth(_), Outcome::Refused(..)) => self.did_save_stale(name),
            (Act::Ship(_), Outcome::Done) => self.did_ship(name, address),
            (Act::Ship(_), Outcome::Refused(423, _)) => self.did_ship_locked(name),
            (Act::Ship(_), Outcome::Refused(..)) if event.is_about_stock => self.did_ship_none(name),
            (Act::Ship(_), Outcome::Refused(..)) => self.did_ship_stale(name),
            (Act::Pack, _) => self.did_pack(address),
            (Act::Minutes(minutes), _) if way == Way::With => self.did_minutes_with(minutes),
            (Act::Minutes(minutes), _) => self.did_minutes_without(minutes),
            (Act::Beats(_, minutes), _) => self.did_beats(name, minutes),
            (Act::Leave(_), _) => self.demo_leaving(story).map_or_else(|| "".into(), |leaving| leaving.happened.into()),
            // Each of the two has an event of its own.
            (Act::Together, _) => self.do_together().into(),
        }
    }

    /// The answer to a button, on the screen of who pressed it.
    pub(crate) fn demo_told(self, outcome: &Outcome, shipped: bool) -> Vec<Html> {
        match outcome {
            Outcome::Done if shipped => vec![self.demo_says_shipped().into()],
            Outcome::Done => vec![self.demo_says_saved().into()],
            // The naive service has no page for it.
            Outcome::Refused(_, said) if said.is_empty() => vec![self.demo_says_too_late().into()],
            Outcome::Refused(_, said) => said.iter().map(|said| said.as_str().into()).collect(),
        }
    }

    /// How the person on the left goes away, in a story in which they do.
    pub(crate) fn demo_leaving(self, story: usize) -> Option<&'static Leaving> {
        self.demo_story(story).leaving.as_ref()
    }

    /// Who acts, in a sentence.
    pub(crate) fn demo_who(self, name: &str, side: Side, tabs: bool) -> Html {
        match side {
            _ if !tabs => name.into(),
            Side::Left => self.demo_in_tab_1(name),
            Side::Right => self.demo_in_tab_2(name),
        }
    }

    /// Whose screen it is.
    pub(crate) fn demo_whose(self, name: &str, side: Side, tabs: bool) -> Html {
        match side {
            _ if !tabs => self.demo_screen(name),
            Side::Left => self.demo_tab_1(name),
            Side::Right => self.demo_tab_2(name),
        }
    }
}

texts! {
    demo_old_address: "1 Old Street", "옛집길 1";
    demo_new_address: "2 New Street", "새집길 2";
    demo_lees_address: "3 Lake Street", "호수길 3";
    demo_message: "Please ring twice", "벨을 두 번 눌러 주세요";
    demo_product: "Copper kettle", "구리 주전자";
}

/// In the order of the stories.
const EN: [StoryText; 8] = [
    StoryText {
        title: "The last piece of stock",
        about: "One kettle is left, and two customers have ordered it. Olivia and Park, who both pack parcels, press Ship in the same moment.",
        without: "Both requests read: one left. Both wrote: none left. Both shipped. Two customers were promised one kettle, and no \
                  error appeared anywhere.",
        with: "The first request locked the kettle’s entry in the database. The other waited until that was done, a few thousandths of a \
               second, and then read: none left. Who comes first gets the kettle; the other operator knows at once.",
        leaving: None,
    },
    StoryText {
        title: "The operator ships while the customer changes the address",
        about: "Minji has moved, and changes the address of her order. Meanwhile Park packs it: he prints the label, then he ships.",
        without: "Minji was told: saved. Park was told: shipped. The label was older than her change, and nothing compared the two. \
                  Nobody made a mistake, and no error appeared anywhere.",
        with: "Minji was first, so her change counts. Park’s page was about version 1 of the order, and her save had made it version 2: \
               the shop refused him before anything left the house, and told him who had changed what. He looked again.",
        leaving: None,
    },
    StoryText {
        title: "Both save at once",
        about: "Minji has typed her new address, and Park has printed the label. Both press their button in the same moment.",
        without: "Both read the order before either of them had changed it. Each then wrote all of it back as they knew it, and the later one wiped out what the earlier one had done. In the table below, either the new address or the shipping is missing.",
        with: "Both came with version 1, and only one of them can turn version 1 into version 2. The first to arrive won; the other one \
               was refused, and told who was first. Nothing was overwritten. (It is a real race. Once more, and the other one may win.)",
        leaving: None,
    },
    StoryText {
        title: "A second tab",
        about: "Minji has the same form open in two tabs. In the second she changes the address. The first still shows the old one, and \
                there she adds a message.",
        without: "A form sends all its fields. With the new message the first tab sent the old address, over what she had saved herself a \
                  moment before.",
        with: "The first tab’s form was about version 1; the second tab had made version 2. The shop saw that two different fields were \
               changed, refused to overwrite one, and offered to keep both.",
        leaving: None,
    },
    StoryText {
        title: "The customer goes to lunch",
        about: "Minji begins to type her new address, and goes to lunch. Her form stays open, and her computer stays on. Park wants to ship.",
        without: "Nobody could see that she was at it. Park shipped, and when she came back her work was worth nothing.",
        with: "With her first letter the order was reserved for Minji. Park was told who is editing, and waited. Her open page said “still \
               here” once a minute, so the lock lived for longer than five minutes. She saved, he looked again and shipped.",
        leaving: Some(Leaving {
            button: "Go to lunch",
            happened: "Minji goes to lunch. Her form stays open.",
            away: "Minji is at lunch.",
            back: "Back from lunch: save",
        }),
    },
    StoryText {
        title: "The tunnel: five minutes, fast-forward",
        about: "Minji begins to type, then her train enters a tunnel: nothing comes from her page. Park wants to ship.",
        without: "Nothing asked Park to wait, so he shipped while she was in the tunnel.",
        with: "Nothing came from Minji’s page, so after five minutes the lock ended by itself, and Park printed his label. But he had not \
               shipped yet when she was back, and nobody had changed the order, so her save still counted. His label was old by then: the \
               version saw it, and he looked again.",
        leaving: Some(Leaving {
            button: "The train enters a tunnel",
            happened: "Minji’s train enters a tunnel. Nothing comes from her page any more.",
            away: "Minji is in a tunnel, without a connection.",
            back: "Out of the tunnel: save",
        }),
    },
    StoryText {
        title: "The laptop sleeps",
        about: "Minji begins to type, and closes the lid. Six minutes later Park opens the same form, to add a message. Then she opens the \
                lid and saves.",
        without: "Minji was told: saved. But Park’s form was opened before that and saved after it, with the old address in it.",
        with: "Her lock had run out, and Park’s is the next one. Each lock on an order has a number, its generation: his is 2, hers was 1, so \
               her save was refused, although her laptop did not know it. Her text was kept, and when Park was done, one button saved both.",
        leaving: Some(Leaving {
            button: "Close the lid",
            happened: "Minji closes the lid. Her laptop sleeps, and nothing comes from her page any more.",
            away: "Minji’s laptop sleeps.",
            back: "Open the lid, and save",
        }),
    },
    StoryText {
        title: "The browser crashes",
        about: "Minji begins to type, and her browser crashes. Park wants to ship. Then her browser is back, with the form as it was.",
        without: "Nothing was left of her but a crashed page, so Park shipped. When she was back, it was too late.",
        with: "A browser that crashes releases nothing, so the lock was still there, for five minutes at most. Minji was back in time, with the \
               same form and the same lock. Had she stayed away, Park could have shipped then: nobody has to clean up.",
        leaving: Some(Leaving {
            button: "Let the browser crash",
            happened: "Minji’s browser crashes. It has no time to tell the shop.",
            away: "Minji’s browser has crashed.",
            back: "The browser is back, with the form: save",
        }),
    },
];

const KO: [StoryText; 8] = [
    StoryText {
        title: "마지막 재고 한 개",
        about: "주전자는 하나 남았는데 고객 두 명이 주문했습니다. 택배를 포장하는 수아와 지우가 같은 순간에 발송 처리를 누릅니다.",
        without: "두 요청 모두 ‘한 개 남음’을 읽고, 둘 다 ‘0개’라고 쓰고, 둘 다 발송했습니다. 고객 두 명에게 주전자 하나를 약속했지만 오류는 어디에도 \
                  없었습니다.",
        with: "먼저 온 요청이 주전자 재고를 잠시 잡아 두었습니다. 다른 요청은 아주 잠깐, 몇 밀리초 동안 기다렸다가 ‘남은 것 없음’을 읽었습니다. 먼저 온 쪽이 주전자를 \
               얻고, 다른 운영자는 바로 그 사실을 압니다.",
        leaving: None,
    },
    StoryText {
        title: "고객이 주소를 바꾸는 사이에 발송",
        about: "이사한 민지가 주문의 주소를 바꿉니다. 그사이 지우는 송장을 출력하고 발송합니다.",
        without: "민지는 저장했다는 안내를, 지우는 발송했다는 안내를 받았습니다. 송장은 민지가 바꾸기 전의 것이었지만, 송장과 주문을 맞춰 본 곳이 없었습니다. \
                  실수한 사람도 없고, 오류 안내도 없었습니다.",
        with: "민지가 먼저 저장했으므로 민지의 주소가 남습니다. 지우의 화면은 주문의 버전 1이었고, 민지의 저장으로 버전 2가 되었습니다. 쇼핑몰은 택배가 \
               나가기 전에 지우의 발송을 거부하고 누가 무엇을 바꿨는지 알려 주었습니다. 지우는 주문을 다시 보았습니다.",
        leaving: None,
    },
    StoryText {
        title: "동시에 저장",
        about: "민지는 새 주소를 입력했고 지우는 송장을 출력했습니다. 두 사람이 같은 순간에 버튼을 누릅니다.",
        without: "두 요청 모두 상대가 쓰기 전에 주문을 읽었습니다. 그리고 각자 읽어 둔 주문을 통째로 저장했고, 나중에 저장한 쪽이 먼저 저장한 쪽을 지워 버렸습니다. 아래 표에는 새 주소나 발송 기록 가운데 하나가 없습니다.",
        with: "둘 다 버전 1 화면에서 눌렀고, 버전 1을 버전 2로 바꿀 수 있는 쪽은 하나뿐입니다. 먼저 도착한 쪽만 저장되었고, 다른 쪽은 거부되면서 누가 먼저였는지 안내받았습니다. 덮어쓴 것은 없습니다. (정말로 동시에 보냅니다. 다시 해 보면 다른 쪽이 먼저일 수도 있습니다.)",
        leaving: None,
    },
    StoryText {
        title: "두 번째 탭",
        about: "민지가 같은 양식을 탭 두 개에 열었습니다. 두 번째 탭에서 주소를 바꿉니다. 첫 번째 탭에는 아직 옛 주소가 있고, 거기에서는 메시지를 \
                추가합니다.",
        without: "저장하면 바꾸지 않은 칸까지 모두 전송됩니다. 첫 번째 탭은 새 메시지와 함께 옛 주소를 보냈고, 민지가 조금 전에 저장한 주소를 스스로 덮어썼습니다.",
        with: "첫 번째 탭의 양식은 버전 1이었고, 두 번째 탭이 버전 2를 만들었습니다. 쇼핑몰은 서로 다른 칸이 바뀐 것을 알아차리고, 덮어쓰는 대신 두 변경을 \
               모두 저장하자고 제안했습니다.",
        leaving: None,
    },
    StoryText {
        title: "점심 먹으러 간 고객",
        about: "민지가 새 주소를 입력하다가 양식을 열어 둔 채 점심을 먹으러 갑니다. 컴퓨터는 켜져 있습니다. 지우는 발송하려고 합니다.",
        without: "민지가 수정하고 있다는 것을 아무도 볼 수 없었습니다. 지우는 발송했고, 돌아온 민지가 입력한 것은 헛수고가 되었습니다.",
        with: "첫 글자와 함께 민지가 주문을 잡아 두었습니다. 지우는 누가 수정하고 있는지 안내받고 기다렸습니다. 열려 있는 페이지가 1분마다 잠금을 연장해서 5분이 \
               넘어도 잠금이 이어졌습니다. 민지가 저장하자 지우는 주문을 다시 보고 발송했습니다.",
        leaving: Some(Leaving {
            button: "점심 먹으러 가기",
            happened: "민지가 점심을 먹으러 갑니다. 양식은 열려 있습니다.",
            away: "민지는 점심을 먹으러 갔습니다.",
            back: "점심 먹고 돌아와서 저장",
        }),
    },
    StoryText {
        title: "터널 안의 5분, 빨리 감기",
        about: "민지가 입력을 시작하자마자 기차가 터널에 들어갑니다. 민지의 페이지에서 소식이 끊겼습니다. 지우는 발송하려고 합니다.",
        without: "지우에게 기다리라고 알려 주는 것이 없었으므로, 민지가 터널에 있는 동안 지우는 발송했습니다.",
        with: "민지의 페이지에서 소식이 없어 5분 뒤에 잠금이 저절로 풀렸고, 지우는 송장을 출력했습니다. 하지만 민지가 돌아왔을 때 지우는 아직 발송하지 \
               않았고 주문을 바꾼 사람도 없었으므로 민지의 저장은 유효했습니다. 그러자 지우의 송장이 옛것이 되었고, 버전이 그것을 알아차려 지우는 \
               주문을 다시 보았습니다.",
        leaving: Some(Leaving {
            button: "기차가 터널에 들어감",
            happened: "민지가 탄 기차가 터널에 들어갑니다. 페이지에서 소식이 끊깁니다.",
            away: "민지는 연결이 끊긴 터널 안에 있습니다.",
            back: "터널을 나와서 저장",
        }),
    },
    StoryText {
        title: "잠든 노트북",
        about: "민지가 입력을 시작하고 노트북을 덮습니다. 6분 뒤 지우가 메시지를 추가하려고 같은 양식을 엽니다. 그때 민지가 노트북을 열고 저장합니다.",
        without: "민지는 저장했다는 안내를 받았습니다. 하지만 지우의 양식은 그 전에 열었고 그 뒤에 저장했으며, 거기에는 옛 주소가 들어 있었습니다.",
        with: "민지의 잠금은 시간이 다 되었고, 그다음 잠금은 지우의 것입니다. 잠금에는 차례 번호(세대)가 있습니다. 민지는 1번, 지우는 2번입니다. 1번은 이미 끝났으므로, 민지의 노트북이 아직 자기 차례라고 여겨도 저장은 거부됩니다. 민지가 입력한 내용은 남아 있었고, 지우가 끝내자 버튼 하나로 둘 다 \
               저장했습니다.",
        leaving: Some(Leaving {
            button: "노트북 덮기",
            happened: "민지가 노트북을 덮습니다. 노트북이 잠들고, 페이지에서 소식이 끊깁니다.",
            away: "민지의 노트북은 잠들어 있습니다.",
            back: "노트북을 열고 저장",
        }),
    },
    StoryText {
        title: "꺼져 버린 브라우저",
        about: "민지가 입력을 시작하자 브라우저가 갑자기 꺼집니다. 지우는 발송하려고 합니다. 그때 브라우저가 다시 열리고 양식도 그대로 돌아옵니다.",
        without: "민지가 고치던 흔적이 어디에도 남지 않아 지우는 발송했습니다. 민지가 돌아왔을 때는 이미 늦었습니다.",
        with: "갑자기 꺼진 브라우저는 잠금을 풀지 못하므로 잠금이 남아 있었습니다. 길어야 5분입니다. 민지는 그 안에 같은 양식, 같은 잠금으로 돌아왔습니다. 돌아오지 \
               않았다면 지우가 그때 발송하면 됩니다. 아무도 뒷정리를 할 필요가 없습니다.",
        leaving: Some(Leaving {
            button: "브라우저가 갑자기 꺼짐",
            happened: "민지의 브라우저가 갑자기 꺼집니다. 쇼핑몰에 알릴 틈도 없습니다.",
            away: "민지의 브라우저는 꺼져 있습니다.",
            back: "브라우저와 양식이 돌아와서 저장",
        }),
    },
];
