//! Invented people. Korean phone numbers begin with `010-0000`, which is not assigned; foreign ones are from ranges
//! reserved for fiction. Buildings are invented as well.

/// A receiver of parcels.
pub(super) struct Person {
    pub(super) name: &'static str,
    pub(super) phone: &'static str,
    pub(super) postal_code: &'static str,
    pub(super) line1: &'static str,
    pub(super) line2: &'static str,
}

const fn person([name, phone, postal_code, line1, line2]: [&'static str; 5]) -> Person {
    Person { name, phone, postal_code, line1, line2 }
}

/// Sign-in name and person. The first three are the people of the demo.
#[rustfmt::skip]
pub(super) const CUSTOMERS: [(&str, Person); 12] = [
    ("minji",   person(["김민지", "010-0000-1001", "06236", "서울특별시 강남구 테헤란로14길 27", "가온빌 302호"])),
    ("lee",     person(["이준호", "010-0000-1002", "48094", "부산광역시 해운대구 해운대해변로 312", "바다마루아파트 104동 1503호"])),
    ("emma",    person(["Emma Clark", "010-0000-1003", "04391", "42-1 Bogwang-ro 59-gil, Yongsan-gu, Seoul", "Hangang Terrace 402"])),
    ("sujin",   person(["최수진", "010-0000-1004", "34134", "대전광역시 유성구 대학로 188번길 9", "한빛원룸 201호"])),
    ("hyunwoo", person(["정현우", "010-0000-1005", "16488", "경기도 수원시 팔달구 효원로307번길 41", "푸른숲아파트 207동 902호"])),
    ("yuna",    person(["한유나", "010-0000-1006", "61949", "광주광역시 서구 상무중앙로 73", "별마을오피스텔 1108호"])),
    ("dohyun",  person(["강도현", "010-0000-1007", "41939", "대구광역시 중구 동성로6길 55", "2층 도현공방"])),
    ("jiwoo",   person(["윤지우", "010-0000-1008", "63122", "제주특별자치도 제주시 노연로 94", ""])),
    ("haneul",  person(["오하늘", "010-0000-1009", "21984", "인천광역시 연수구 송도과학로 128", "구름채아파트 301동 2204호"])),
    ("james",   person(["James Walker", "010-0000-1010", "48118", "17 Marine city 3-ro, Haeundae-gu, Busan", "Harbor View 1701"])),
    ("sofia",   person(["Sofia Martins", "+44 20 7946 0123", "SE1 0ZZ", "14 Larkspur Mews, London", "Flat 3, United Kingdom"])),
    ("daniel",  person(["Daniel Hughes", "+1 415-555-0142", "94103", "412 Alder Alley, San Francisco, CA", "Apt 5B, USA"])),
];

/// Other receivers, each always of the same customer.
#[rustfmt::skip]
pub(super) const RELATIVES: [Person; 10] = [
    person(["김영자", "010-0000-2001", "25523", "강원특별자치도 강릉시 경강로 2046", "솔향주택 1층"]),
    person(["이상철", "010-0000-2002", "54999", "전북특별자치도 전주시 완산구 한지길 88", ""]),
    person(["박지훈", "010-0000-2003", "13529", "경기도 성남시 분당구 판교역로 192번길 16", "나래타워 7층 개발팀"]),
    person(["조은비", "010-0000-2004", "03180", "서울특별시 종로구 새문안로3길 22", "광장오피스텔 915호"]),
    person(["신동훈", "010-0000-2005", "51430", "경상남도 창원시 성산구 중앙대로 151", "가람상가 103호"]),
    person(["배소라", "010-0000-2006", "28515", "충청북도 청주시 상당구 상당로 77", "느티나무아파트 102동 401호"]),
    person(["Hannah Weber", "010-0000-2007", "04066", "31 Wausan-ro 21-gil, Mapo-gu, Seoul", "2F, Studio Nine"]),
    person(["Lucas Brown", "010-0000-2008", "46241", "63 Busandaehak-ro, Geumjeong-gu, Busan", "Guest house, room 12"]),
    person(["Grace Miller", "+44 131 496 0456", "EH1 0ZZ", "5 Heather Court, Edinburgh", "United Kingdom"]),
    person(["Noah Tremblay", "+1 604-555-0177", "V6B 0A0", "88 Cedar Quay, Vancouver, BC", "Canada"]),
];

/// Sign-in name and name of the operators.
pub(super) const OPERATORS: [(&str, &str); 2] = [("park", "박서연"), ("olivia", "Olivia Reed")];
