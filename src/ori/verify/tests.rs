//! Every kind of finding is found.
