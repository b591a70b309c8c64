//! The program as its users run it: what it prints, what it writes, how it ends.

#[path = "../support/attach.rs"]
mod attach_support;
#[path = "../support/cli.rs"]
mod cli_support;
#[allow(dead_code)] // The tests of that name use the rest.
#[path = "../support/history/mod.rs"]
mod history_support;

mod attach;
mod attach_put_back;
mod attach_refused;
mod compare;
mod ended_early;
mod explorer;
mod frontier;
mod history;
mod init;
mod input;
mod installed;
mod lock_pages;
mod machine_limits;
mod messages;
mod mutate;
mod output;
mod own_network;
mod packages;
mod partition;
mod readme;
mod replay;
mod resume;
mod scenario_demands;
mod scenario_files;
mod server_programs;
mod several_servers;
mod supervisor;
mod threads;
mod torture;
mod torture_accidents;
