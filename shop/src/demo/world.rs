//! The world of one visitor: a shop of its own on a file of its own, with a clock that moves only by a step of the story, and two
//! persons who are signed in there. A step is the request that the shop's own page would send.

use std::time::{Duration, UNIX_EPOCH};

use tempfile::TempDir;
use tenure::{Database, Error, clock::ManualClock, db::ConnectOptions};

use super::chapter;
use super::page::{hidden, said};
use super::seed::{arrive, fill};
use super::site::{Exchange, Fields, Landed, Site, other};
use super::storage::{self, LockRow, Moment, Naive, OrderRow};
use super::story::{Act, Field, STORIES, Side, Story, Way};
use crate::open;
use crate::settings::Settings;
use crate::texts::Lang;

/// The order of the story.
pub(crate) const MINJIS: &str = "1234";
/// The other order for the last piece.
pub(super) const LEES: &str = "1235";
pub(super) const PHONE: &str = "010-0000-1001";
pub(super) const POSTAL_CODE: &str = "06236";
/// The maximum length of what a visitor types, in characters.
const LONGEST: usize = 60;

/// One of the two persons, with their browser.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) login: &'static str,
    pub(crate) is_operator: bool,
    /// The number of the order on their screen.
    pub(crate) order: &'static str,
    /// What their screen shows: the order as it was when they opened it.
    pub(crate) seen: Option<OrderRow>,
    /// Whether their form is open.
    pub(crate) has_form: bool,
    /// Whether they have begun to type, and not saved.
    pub(crate) is_typing: bool,
    /// Whether they have left their page in the middle of it.
    pub(crate) is_away: bool,
    /// Who was editing the order when they opened it, by their sign-in name: the page says so.
    pub(crate) sees_editor: Option<String>,
    /// What they typed last, and where.
    pub(crate) typed: Option<(Field, String)>,
    /// Their last button, and the answer to it.
    pub(crate) told: Option<(Act, Outcome)>,
    pub(super) cookies: String,
    /// Their page.
    pub(super) page: String,
    pub(super) path: String,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The status, and the shop's own sentences.
    Refused(u16, Vec<String>),
}

/// What happened in a step, for one person.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) act: Act,
    /// `None`: time passed, or a packer acted.
    pub(crate) side: Option<Side>,
    pub(crate) outcome: Outcome,
    /// The address on the screen or on the label.
    pub(crate) address: String,
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) clock: Duration,
    /// The version of the order afterwards.
    pub(crate) version: i64,
    pub(crate) is_about_stock: bool,
}

/// A parcel that has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parcel {
    pub(crate) order: &'static str,
    pub(crate) label: String,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) story: usize,
    pub(crate) way: Way,
    /// The number of steps that were made.
    pub(crate) at: usize,
    pub(crate) people: [Person; 2],
    pub(crate) events: Vec<Event>,
    pub(crate) parcels: Vec<Parcel>,
    /// The house to which the customer has moved, as the visitor typed it.
    pub(crate) home: String,
    lang: Lang,
    passed: Duration,
    packer: Person,
    clock: ManualClock,
    db: Database,
    site: Site,
    // After the database in it.
    _directory: TempDir,
}

/// The tables, now.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) order: OrderRow,
    /// With the time that it has left.
    pub(crate) lock: Option<(LockRow, Duration)>,
    pub(crate) pieces: i64,
}

impl World {
    pub(super) async fn begin(story: usize, way: Way, lang: Lang) -> Result<World, Error> {
        let directory = tempfile::Builder::new().prefix("tenure-demo-").tempdir().map_err(other)?;
        let clock = ManualClock::new();
        let url = format!("sqlite://{}/world.db", directory.path().display());
        let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await?;
        let shop = open(db.clone(), open::Accounts::Own).await?.clock(clock.clone());
        fill(&shop, lang, STORIES[story].lock).await?;
        let Story { cast, .. } = &STORIES[story];
        let mut people = Vec::new();
        for (at, login) in cast.iter().chain(["olivia"].iter()).enumerate() {
            people.push(arrive(&shop, login, if at == 0 && *login == "olivia" { LEES } else { MINJIS }).await?);
        }
        let router = match way {
            Way::With => crate::app(shop, Settings::default()),
            Way::Without => chapter::app(Naive::open(&url).await.map_err(other)?),
        };
        let [left, right, packer]: [Person; 3] = people.try_into().expect("two persons and a packer");
        Ok(World {
            story,
            way,
            at: 0,
            people: [left, right],
            events: Vec::new(),
            parcels: Vec::new(),
            home: lang.demo_new_address().to_owned(),
            lang,
            passed: Duration::ZERO,
            packer,
            clock,
            db,
            site: Site { router, lang },
            _directory: directory,
        })
    }

    /// The next step, if the story is not over. What an operator would do after their parcel has left is left out.
    pub(crate) fn next(&self) -> Option<(usize, Act)> {
        let steps = STORIES[self.story].steps(self.way).iter().copied().enumerate().skip(self.at);
        let is_over = |side| {
            let person = self.person(side);
            person.is_operator && self.parcels.iter().any(|parcel| parcel.order == person.order)
        };
        let mut left = steps.filter(|(_, act)| !matches!(act, Act::Look(side) | Act::Ship(side) if is_over(*side)));
        left.next()
    }

    pub(crate) fn person(&self, side: Side) -> &Person {
        &self.people[side as usize]
    }

    /// Whether the story went well: the parcel is at the house where the customer lives, or the last piece was promised once.
    pub(crate) fn went_well(&self) -> bool {
        match self.is_about_stock() {
            true => self.parcels.len() == 1,
            false => self.parcels.first().is_some_and(|parcel| parcel.label == self.home),
        }
    }

    pub(crate) fn is_about_stock(&self) -> bool {
        self.people.iter().all(|person| person.is_operator)
    }

    /// The time that has passed since the story began.
    pub(crate) fn passed(&self) -> Duration {
        self.passed
    }

    pub(crate) async fn rows(&self) -> Result<Rows, Error> {
        let order = storage::order(&self.db, MINJIS).await?;
        Ok(Rows { order, lock: self.lock().await?, pieces: storage::pieces(&self.db).await? })
    }

    /// The lock, with the time that it has left; zero if it has ended.
    async fn lock(&self) -> Result<Option<(LockRow, Duration)>, Error> {
        let left = |lock: LockRow| {
            let until = UNIX_EPOCH + Duration::from_millis(u64::try_from(lock.expires_at).unwrap_or(0));
            let left = until.duration_since(self.clock.now()).unwrap_or_default();
            let left = if lock.ended { Duration::ZERO } else { left };
            (lock, left)
        };
        Ok(storage::lock(&self.db).await?.map(left))
    }

    /// Makes the next step. What the visitor typed counts where the step is a save.
    pub(super) async fn step(&mut self, typed: &str) -> Result<(), Error> {
        let Some((at, act)) = self.next() else { return Ok(()) };
        if let Act::Begin(side) | Act::Save(side, _) | Act::SaveBoth(side) = act {
            self.people[side as usize].is_away = false;
        }
        match act {
            Act::Look(side) => self.look(side, act).await?,
            Act::Begin(side) => self.look(side, act).await?,
            Act::Save(side, field) => {
                let (path, fields) = self.fill_in(side, field, typed);
                let landed = self.site.post(self.person(side), &path, &fields, None).await?;
                self.saved(side, act, landed).await?;
            }
            Act::SaveBoth(side) => self.save_both(side).await?,
            Act::Ship(side) => {
                let landed = self.ship(self.person(side), None).await?;
                self.shipped(side, landed).await?;
            }
            Act::Together => self.together(typed).await?,
            Act::Pack => self.pack().await?,
            Act::Minutes(minutes) => {
                self.pass(minutes);
                self.happened(act, None, Outcome::Done, String::new(), Vec::new()).await?;
            }
            Act::Beats(side, minutes) => self.beats(side, minutes, act).await?,
            Act::Leave(side) => {
                self.people[side as usize].is_away = true;
                self.happened(act, Some(side), Outcome::Done, String::new(), Vec::new()).await?;
            }
        }
        self.at = at + 1;
        Ok(())
    }

    fn pass(&mut self, minutes: u32) {
        let time = Duration::from_secs(60) * minutes;
        self.clock.advance(time);
        self.passed += time;
    }

    async fn look(&mut self, side: Side, act: Act) -> Result<(), Error> {
        let begins = matches!(act, Act::Begin(_));
        let has_form = begins || !self.person(side).is_operator;
        let path = format!("/orders/{}{}", self.person(side).order, if has_form { "/shipping" } else { "" });
        let mut landed = self.site.get(self.person(side), &path).await?;
        let seen = storage::order(&self.db, self.person(side).order).await?;
        let address = seen.address.clone();
        let lock = self.lock().await?.filter(|(_, left)| !left.is_zero());
        let person = &mut self.people[side as usize];
        person.sees_editor = lock.map(|(lock, _)| lock.owner_id).filter(|editor| editor != person.login);
        (person.page, person.path, person.told) = (landed.body, landed.path, None);
        (person.seen, person.has_form, person.typed, person.is_typing) = (Some(seen), has_form, None, begins);
        if begins && self.way == Way::With {
            let beat = self.beat(self.person(side), "take", 0).await?;
            if !beat.body.contains(r#""mode":"held""#) {
                return Err(other(std::io::Error::other(format!("the form got no lock: {}", beat.body))));
            }
            landed.exchanges.extend(beat.exchanges);
        }
        self.happened(act, Some(side), Outcome::Done, address, landed.exchanges).await
    }

    /// The heartbeat of this person's form, which has seen no key for so many minutes.
    async fn beat(&self, person: &Person, want: &str, idle_minutes: u32) -> Result<Landed, Error> {
        let path = format!("/orders/{}/beat?form=shipping", person.order);
        let mut fields = hidden(&person.page, &format!("/orders/{}/shipping", person.order));
        fields.push(("want".into(), want.into()));
        fields.push(("idle_ms".into(), (idle_minutes * 60_000).to_string()));
        self.site.post(person, &path, &fields, None).await
    }

    async fn beats(&mut self, side: Side, minutes: u32, act: Act) -> Result<(), Error> {
        let mut exchanges = Vec::new();
        for minute in 1..=minutes {
            self.pass(1);
            exchanges = self.beat(self.person(side), "keep", minute).await?.exchanges;
        }
        self.happened(act, Some(side), Outcome::Done, String::new(), exchanges).await
    }

    /// The form: what was typed into one field, and the others as they were when it was opened.
    fn fill_in(&mut self, side: Side, field: Field, typed: &str) -> (String, Fields) {
        let typed = self.typed(field, typed);
        self.people[side as usize].typed = Some((field, typed.clone()));
        if field == Field::Address {
            self.home.clone_from(&typed);
        }
        let person = self.person(side);
        let seen = person.seen.as_ref();
        let (mut address, mut message) =
            seen.map(|seen| (seen.address.clone(), seen.message.clone())).unwrap_or_default();
        match field {
            Field::Address => address = typed,
            Field::Message => message = typed,
        }
        let path = format!("/orders/{}/shipping", person.order);
        let mut fields = hidden(&person.page, &path);
        for (name, value) in [
            ("receiver.name", self.lang.demo_name("minji")),
            ("receiver.phone", PHONE),
            ("address.postal_code", POSTAL_CODE),
            ("address.line1", &address),
            ("address.line2", ""),
            ("message", &message),
        ] {
            fields.push((name.into(), value.into()));
        }
        (path, fields)
    }

    /// What the visitor typed, if that can be a value of the field.
    fn typed(&self, field: Field, typed: &str) -> String {
        let typed: String = typed.trim().chars().filter(|c| !c.is_control()).take(LONGEST).collect();
        if typed.is_empty() { self.lang.demo_default(field).to_owned() } else { typed }
    }

    async fn saved(&mut self, side: Side, act: Act, landed: Landed) -> Result<(), Error> {
        let outcome = outcome(&landed, self.person(side).order);
        self.answered(side, act, outcome.clone(), &landed);
        let address = self.person(side).typed.as_ref().map(|(_, typed)| typed.clone()).unwrap_or_default();
        if outcome == Outcome::Done {
            // It leads to the page of the order.
            let seen = storage::order(&self.db, self.person(side).order).await?;
            let person = &mut self.people[side as usize];
            (person.seen, person.typed) = (Some(seen), None);
        }
        self.happened(act, Some(side), outcome, address, landed.exchanges).await
    }

    /// The person's page is the answer.
    fn answered(&mut self, side: Side, act: Act, outcome: Outcome, landed: &Landed) -> String {
        let person = &mut self.people[side as usize];
        (person.page, person.path) = (landed.body.clone(), landed.path.clone());
        (person.told, person.is_typing) = (Some((act, outcome)), false);
        person.seen.as_ref().map(|seen| seen.address.clone()).unwrap_or_default()
    }

    /// On the page about the conflict, as it is now.
    async fn save_both(&mut self, side: Side) -> Result<(), Error> {
        let person = self.person(side).clone();
        let page = self.site.get(&person, &person.path).await?;
        let path = format!("/orders/{}/shipping", person.order);
        let fields = hidden(&page.body, &path);
        let mut landed = self.site.post(&person, &path, &fields, None).await?;
        landed.exchanges.splice(0..0, page.exchanges);
        self.saved(side, Act::SaveBoth(side), landed).await
    }

    /// A parcel has left. With tenure, who is on the page of the order sees it there.
    async fn left(&mut self, order: &'static str, label: &str) -> Result<(), Error> {
        self.parcels.push(Parcel { order, label: label.to_owned() });
        let now = storage::order(&self.db, order).await?;
        let is_live = self.way == Way::With;
        for person in self.people.iter_mut().filter(|person| is_live && person.order == order) {
            if matches!(person.told, Some((Act::Save(..) | Act::SaveBoth(_), Outcome::Done))) {
                person.seen = Some(now.clone());
            }
        }
        Ok(())
    }

    async fn ship(&self, person: &Person, moment: Moment) -> Result<Landed, Error> {
        let path = format!("/orders/{}/start-shipping", person.order);
        self.site.post(person, &path, &hidden(&person.page, &path), moment).await
    }

    async fn shipped(&mut self, side: Side, landed: Landed) -> Result<(), Error> {
        let outcome = outcome(&landed, self.person(side).order);
        let before = (self.person(side).page.clone(), self.person(side).path.clone());
        let label = self.answered(side, Act::Ship(side), outcome.clone(), &landed);
        let person = &mut self.people[side as usize];
        match outcome {
            Outcome::Done => {
                let (order, now) = (person.order, storage::order(&self.db, person.order).await?);
                if let Some(seen) = &mut person.seen {
                    (seen.state, seen.version) = (now.state, now.version);
                }
                self.left(order, &label).await?;
            }
            // They go back to the order, whose button is still there.
            Outcome::Refused(..) => (person.page, person.path) = before,
        }
        self.happened(Act::Ship(side), Some(side), outcome, label, landed.exchanges).await
    }

    /// Two requests at the same moment. Without tenure both have read before one of them writes: that is the moment in question.
    async fn together(&mut self, typed: &str) -> Result<(), Error> {
        let moment = (self.way == Way::Without).then(|| std::sync::Arc::new(tokio::sync::Barrier::new(2)));
        let saves = !self.is_about_stock();
        let form = saves.then(|| self.fill_in(Side::Left, Field::Address, typed));
        let [left, right] = &self.people;
        let first = async {
            match &form {
                Some((path, fields)) => self.site.post(left, path, fields, moment.clone()).await,
                None => self.ship(left, moment.clone()).await,
            }
        };
        let (left, right) = tokio::join!(first, self.ship(right, moment.clone()));
        let (left, right) = (left?, right?);
        let of = |side, landed| outcome(landed, self.person(side).order);
        let right_first = match (of(Side::Left, &left), of(Side::Right, &right)) {
            // Both were accepted: whose write is still there was the last.
            (Outcome::Done, Outcome::Done) if saves => storage::order(&self.db, MINJIS).await?.address == self.home,
            (_, right) => right == Outcome::Done,
        };
        let mut answers = [(Side::Left, left), (Side::Right, right)];
        if right_first {
            answers.reverse();
        }
        for (side, landed) in answers {
            match (side, saves) {
                (Side::Left, true) => self.saved(side, Act::Save(side, Field::Address), landed).await?,
                _ => self.shipped(side, landed).await?,
            }
        }
        Ok(())
    }

    async fn pack(&mut self) -> Result<(), Error> {
        let path = format!("/orders/{}", self.packer.order);
        let looked = self.site.get(&self.packer, &path).await?;
        self.packer.page = looked.body;
        let label = storage::order(&self.db, self.packer.order).await?.address;
        let landed = self.ship(&self.packer, None).await?;
        let outcome = outcome(&landed, self.packer.order);
        if outcome == Outcome::Done {
            self.left(self.packer.order, &label).await?;
        }
        self.happened(Act::Pack, None, outcome, label, landed.exchanges).await
    }

    async fn happened(
        &mut self,
        act: Act,
        side: Option<Side>,
        outcome: Outcome,
        address: String,
        exchanges: Vec<Exchange>,
    ) -> Result<(), Error> {
        let (clock, version) = (self.passed, storage::order(&self.db, MINJIS).await?.version);
        let is_about_stock = self.is_about_stock();
        self.events.push(Event { act, side, outcome, address, exchanges, clock, version, is_about_stock });
        Ok(())
    }
}

/// A save or a command that was accepted leads to the page of the order.
fn outcome(landed: &Landed, order: &str) -> Outcome {
    match landed.status {
        200 if landed.path == format!("/orders/{order}") => Outcome::Done,
        status => Outcome::Refused(status, said(&landed.body)),
    }
}
