//! The choice of the writer among the answers of the hosts. No I/O.

/// The place that a writer has in the history of its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::storage) struct Seat {
    /// The identity of the data, which all of its copies have; empty if the engine has none.
    pub cluster: String,
    /// The identity of the server.
    pub instance: String,
    /// The number that rises with every failover.
    pub epoch: i64,
    /// Whether other nodes accept writes at the same time and the cluster keeps them consistent (Galera).
    pub several: bool,
}

/// The answer of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::storage) enum Answer {
    /// It accepts writes.
    Writer(Seat),
    /// It does not accept writes; it may know an epoch all the same.
    Standby { cluster: String, epoch: i64, reason: String },
    /// It did not answer, or not as a member of this cluster.
    Silent(String),
}

impl Answer {
    /// The identity of its data, and its epoch.
    fn history(&self) -> Option<(&str, i64)> {
        match self {
            Answer::Writer(seat) => Some((&seat.cluster, seat.epoch)),
            Answer::Standby { cluster, epoch, .. } => Some((cluster, *epoch)),
            Answer::Silent(_) => None,
        }
    }

    /// Its state in words, for the doctor.
    pub(in crate::storage) fn says(&self) -> String {
        match self {
            Answer::Writer(Seat { several: true, .. }) => "accepts writes".into(),
            Answer::Writer(seat) => format!("accepts writes, epoch {}", seat.epoch),
            Answer::Standby { reason, .. } | Answer::Silent(reason) => reason.clone(),
        }
    }
}

/// Whether two hosts may have the same data. An engine without an identity cannot tell.
fn is_same(one: &str, other: &str) -> bool {
    one.is_empty() || other.is_empty() || one == other
}

/// The host to write to: the writer of the highest epoch that any host knows, or that this process has used. The writer in use stays if
/// it may.
///
/// # Errors
/// For each host the reason that it is not the one.
pub(in crate::storage) fn choose(answers: &[Answer], current: Option<(usize, &Seat)>) -> Result<usize, Vec<String>> {
    let known = answers.iter().filter_map(Answer::history);
    let first = known.clone().map(|(cluster, _)| cluster).find(|cluster| !cluster.is_empty());
    let cluster = current.map(|(_, seat)| &*seat.cluster).filter(|cluster| !cluster.is_empty()).or(first).unwrap_or("");
    // Without a writer in use, it is not known which of two clusters is meant.
    let mixed = current.is_none() && known.clone().any(|(other, _)| !is_same(other, cluster));
    let epochs = known.filter(|(other, _)| is_same(other, cluster)).map(|(_, epoch)| epoch);
    let highest = epochs.chain(current.map(|(_, seat)| seat.epoch)).max().unwrap_or(0);
    let problem = |answer: &Answer| match answer {
        Answer::Silent(reason) => Some(reason.clone()),
        Answer::Standby { reason, cluster: other, .. } if !mixed && is_same(other, cluster) => Some(reason.clone()),
        Answer::Standby { cluster: other, .. } => Some(of_another(other)),
        Answer::Writer(seat) if mixed || !is_same(&seat.cluster, cluster) => Some(of_another(&seat.cluster)),
        Answer::Writer(seat) if seat.epoch < highest => Some(format!(
            "it accepts writes, but in the old epoch {}, and epoch {highest} exists: it was replaced by a failover; stop it, or \
             make it a standby",
            seat.epoch
        )),
        Answer::Writer(_) => None,
    };
    let mut problems: Vec<Option<String>> = answers.iter().map(problem).collect();
    let writers: Vec<(usize, &Seat)> = answers
        .iter()
        .enumerate()
        .filter_map(|(at, answer)| match answer {
            Answer::Writer(seat) if problems[at].is_none() => Some((at, seat)),
            _ => None,
        })
        .collect();
    if let Some((at, _)) = writers.iter().find(|(at, _)| current.is_some_and(|(in_use, _)| in_use == *at)) {
        return Ok(*at);
    }
    let alike = |(_, one): &(usize, &Seat), (_, other): &(usize, &Seat)| {
        one.several && other.several || one.instance == other.instance
    };
    match writers.first() {
        Some(first) if writers.iter().all(|other| alike(first, other)) => Ok(first.0),
        _ => {
            for (at, seat) in writers {
                problems[at] = Some(format!(
                    "it accepts writes in epoch {}, and so does another host of the list, which is not the same server; make one of \
                     them read-only",
                    seat.epoch
                ));
            }
            Err(problems.into_iter().map(Option::unwrap_or_default).collect())
        }
    }
}

fn of_another(cluster: &str) -> String {
    format!("it belongs to another cluster than the other hosts ({cluster})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(server: &str, epoch: i64) -> Seat {
        Seat { cluster: "c".into(), instance: server.into(), epoch, several: false }
    }

    fn writer(server: &str, epoch: i64) -> Answer {
        Answer::Writer(seat(server, epoch))
    }

    fn standby(epoch: i64) -> Answer {
        Answer::Standby { cluster: "c".into(), epoch, reason: "it is a standby".into() }
    }

    fn silent() -> Answer {
        Answer::Silent("no answer".into())
    }

    fn other(cluster: &str, answer: Answer) -> Answer {
        let cluster = cluster.to_owned();
        match answer {
            Answer::Writer(seat) => Answer::Writer(Seat { cluster, ..seat }),
            Answer::Standby { epoch, reason, .. } => Answer::Standby { cluster, epoch, reason },
            answer => answer,
        }
    }

    fn galera(node: &str) -> Answer {
        Answer::Writer(Seat { several: true, ..seat(node, 0) })
    }

    #[test]
    fn writer_of_the_highest_epoch_is_chosen() {
        let in_use = seat("a", 2);
        let none: Option<(usize, &Seat)> = None;
        let (at_0, at_1) = (Some((0, &in_use)), Some((1, &in_use)));
        for (answers, current, chosen) in [
            (vec![writer("a", 1)], none, Some(0)),
            (vec![standby(1), writer("a", 1)], none, Some(1)),
            (vec![silent(), writer("a", 1), standby(1)], none, Some(1)),
            // An old primary that came back, in any order.
            (vec![writer("a", 1), writer("b", 2)], none, Some(1)),
            (vec![writer("b", 2), writer("a", 1)], none, Some(0)),
            // Only a standby knows the new epoch, or only this process does.
            (vec![writer("a", 1), standby(2)], none, None),
            (vec![writer("b", 1), silent()], at_0, None),
            (vec![writer("b", 3), silent()], at_1, Some(0)),
            // Two writers of one epoch: the one in use stays; otherwise nobody knows which is right.
            (vec![writer("a", 2), writer("b", 2)], at_1, Some(1)),
            (vec![writer("a", 2), writer("b", 2)], none, None),
            (vec![writer("a", 2), writer("a", 2)], none, Some(0)),
            (vec![galera("a"), galera("b")], none, Some(0)),
            (vec![silent(), galera("b"), galera("c")], none, Some(1)),
            // Another cluster: refused, also if its epoch is higher.
            (vec![writer("a", 2), other("d", writer("b", 3))], at_0, Some(0)),
            (vec![writer("a", 1), other("d", writer("b", 3))], none, None),
            (vec![writer("a", 1), other("d", standby(1))], none, None),
            (vec![other("", writer("a", 2)), other("", standby(2))], none, Some(0)),
            (vec![other("d", writer("b", 3)), writer("a", 2)], at_1, Some(1)),
            (vec![silent(), other("d", writer("b", 3))], at_0, None),
            // An engine without an identity cannot tell.
            (vec![other("", writer("a", 2)), standby(2)], none, Some(0)),
            (vec![standby(2), other("", writer("a", 2))], none, Some(1)),
            (vec![galera("a"), writer("b", 0)], none, None),
            (vec![standby(1), silent()], none, None),
        ] {
            assert_eq!(choose(&answers, current).ok(), chosen, "{answers:?} {current:?}");
        }
    }

    #[test]
    fn every_host_has_a_reason_if_none_is_chosen() {
        for (answers, reasons) in [
            (vec![standby(1), silent()], ["it is a standby", "no answer"]),
            (vec![writer("a", 1), standby(2)], ["old epoch 1, and epoch 2 exists", "it is a standby"]),
            (vec![writer("a", 1), writer("b", 1)], ["so does another host", "so does another host"]),
            (vec![writer("a", 1), other("d", writer("b", 1))], ["another cluster", "another cluster"]),
            (vec![standby(1), other("d", standby(1))], ["another cluster", "another cluster"]),
        ] {
            let refused = choose(&answers, None).expect_err("none is right");
            assert!(refused.iter().zip(reasons).all(|(text, reason)| text.contains(reason)), "{refused:?}");
        }
        let in_use = seat("a", 2);
        let answers = [silent(), standby(1), other("d", standby(3))];
        let refused = choose(&answers, Some((0, &in_use))).expect_err("none is right");
        assert_eq!(refused[..2], ["no answer", "it is a standby"]);
        assert!(refused[2].contains("another cluster than the other hosts (d)"), "{refused:?}");
    }

    #[test]
    fn doctor_shows_the_state_of_each_host() {
        for (answer, text) in [
            (writer("a", 3), "accepts writes, epoch 3"),
            (galera("a"), "accepts writes"),
            (standby(1), "it is a standby"),
            (silent(), "no answer"),
        ] {
            assert_eq!(answer.says(), text);
        }
    }
}
