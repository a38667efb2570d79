//! Saving a form, once: its id is written in the transaction of the save, and the same form sent again gets the first answer.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde::Deserialize;
use tenure::error::{Error, ErrorCode, UpdateError};
use tenure::{Owner, VersionToken};
use tenure_web::browser_key::BrowserKey;
use tenure_web::csrf::CsrfForm;
use tenure_web::form_id::FormId;
use tenure_web::problem::Problem;

use super::{Made, Pages, bad_form, forms};
use crate::history::Guarded;
use crate::subject::tenure::audit::{self, Note};
use crate::subject::tenure::ledger::Ledger;

/// The fields of the form.
#[derive(Debug, Deserialize)]
pub(super) struct Form {
    form_id: String,
    version: VersionToken<Ledger>,
    /// What is appended.
    op: String,
    /// How long the transaction pauses between the save and the commit.
    pause_ms: u64,
}

pub(super) async fn save(
    State(pages): State<Pages>,
    Path(id): Path<String>,
    Extension(owner): Extension<Owner>,
    Extension(browser): Extension<BrowserKey>,
    CsrfForm(form): CsrfForm<Form>,
) -> Result<Json<Made>, Problem> {
    let form_id: FormId = form.form_id.parse().map_err(|_| bad_form())?;
    let lid = browser.lock_id(&owner.id, form_id);
    let (backend, pause, op) = (pages.backend, Duration::from_millis(form.pause_ms), form.op.clone());
    let remembers = !pages.applies_again;
    let update = pages.ledgers.update(&id).by(&owner).from_form(form.version, Some(&lid));
    let update = update.also(move |mut tx, saved| {
        let version = saved.version().number();
        let guard = Some(Guarded::Form);
        let note = Note { op: op.clone(), ledger: saved.id.clone(), version, generation: None, guard };
        async move {
            audit::write(&mut tx, backend, &note).await?;
            if remembers {
                forms::remember(&mut tx, backend, form_id, &note.op, version).await?;
            }
            tokio::time::sleep(pause).await;
            Ok(())
        }
    });
    let command = |ledger: &mut Ledger| {
        ledger.append(&form.op);
        Ok::<_, Infallible>(())
    };
    match update.run(command).await {
        Ok(saved) => Ok(Json(Made { version: saved.version().number() })),
        Err(UpdateError::Failed(error)) if pages.applies_again => {
            apply_again(&pages, &id, &owner, &form.op, error).await
        }
        Err(UpdateError::Failed(error)) => match forms::saved(&pages, form_id, &form.op).await {
            Ok(Some(version)) => Ok(Json(Made { version })),
            Ok(None) => Err(error.into()),
            // A commit of unknown outcome stays one.
            Err(_) if error.code() == ErrorCode::CommitUnknown => Err(error.into()),
            Err(lookup) => Err(lookup.into()),
        },
        Err(UpdateError::Refused(never)) => match never {},
    }
}

/// The mistake: what conflicts is applied to the current version, as if it was another form.
async fn apply_again(pages: &Pages, id: &String, owner: &Owner, op: &str, error: Error) -> Result<Json<Made>, Problem> {
    if !matches!(error, Error::VersionConflict(_)) {
        return Err(error.into());
    }
    let again = pages.ledgers.update(id).by(owner).run(|ledger| {
        ledger.append(op);
        Ok::<_, Infallible>(())
    });
    match again.await {
        Ok(saved) => Ok(Json(Made { version: saved.version().number() })),
        Err(UpdateError::Failed(error)) => Err(error.into()),
        Err(UpdateError::Refused(never)) => match never {},
    }
}
