//! What goes wrong with a server, what is said about it, and that it goes on when the server comes back.
