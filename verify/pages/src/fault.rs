//! The kinds of faults of the network and the server. Faults of browsers are gestures: `gesture.rs`.

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The connection of a save is cut before it reaches the server.
    CutBefore,
    /// It is cut within the answer.
    CutWithin,
    /// It is cut after the server has answered, before the answer arrives.
    CutAfter,
    /// All connections are reset.
    Reset,
    /// Nothing passes for up to 3 s, without an error.
    Silence,
    /// Each message is up to 300 ms late.
    Delay,
    /// The server is killed with SIGKILL, and started again after up to 1.5 s.
    KillServer,
    /// It is killed with SIGKILL as soon as a save arrives.
    KillAtSave,
    /// The server stands still (SIGSTOP) for up to 2.5 s.
    StopServer,
}

impl Fault {
    pub(super) const ALL: [Fault; 9] = [
        Fault::CutBefore,
        Fault::CutWithin,
        Fault::CutAfter,
        Fault::Reset,
        Fault::Silence,
        Fault::Delay,
        Fault::KillServer,
        Fault::KillAtSave,
        Fault::StopServer,
    ];

    /// How often it is chosen: what takes long, seldom.
    pub(super) fn weight(self) -> usize {
        match self {
            Fault::CutBefore | Fault::CutWithin | Fault::CutAfter | Fault::KillAtSave => 3,
            Fault::Reset | Fault::Delay => 2,
            Fault::Silence | Fault::KillServer | Fault::StopServer => 1,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Fault::CutBefore => "cut before a save",
            Fault::CutWithin => "cut within the answer",
            Fault::CutAfter => "cut before the answer",
            Fault::Reset => "connections reset",
            Fault::Silence => "network silent",
            Fault::Delay => "network slow",
            Fault::KillServer => "server killed",
            Fault::KillAtSave => "server killed at a save",
            Fault::StopServer => "server stopped",
        }
    }
}
