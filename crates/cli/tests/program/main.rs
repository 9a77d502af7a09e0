//! The program as people and scripts meet it: the real binary, its output, its exit codes.

#![allow(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod administration;
mod algorithms;
mod bad_input;
mod broken_input;
#[cfg(feature = "cluster")]
mod cluster_drivers;
#[cfg(feature = "cluster")]
mod cluster_guide;
#[cfg(feature = "cluster")]
mod cluster_nodes;
#[cfg(feature = "cluster")]
mod clusters;
mod commands;
#[path = "../../../../tests/src/data_folder.rs"]
mod data_folder;
mod data_sets;
mod databases;
mod dialogue;
mod driver_examples;
mod engines;
#[cfg(feature = "cluster")]
#[path = "../../../../tests/src/etcd.rs"]
mod etcd;
mod exports;
#[cfg(feature = "cluster")]
#[path = "../../../../tests/src/free_ports.rs"]
mod free_ports;
#[cfg(feature = "cluster")]
#[path = "../../../../tests/src/guarded_process.rs"]
mod guarded_process;
mod help;
mod indexes;
#[path = "../../../server/tests/support/installed_driver.rs"]
mod installed_driver;
mod interrupts;
#[cfg(feature = "cluster")]
#[path = "../../../../tests/src/one_etcd.rs"]
mod one_etcd;
mod output;
mod packaging;
mod queries;
mod readers;
mod remote_algorithms;
mod remote_files;
mod replica_folders;
mod replica_guide;
mod replica_warnings;
mod replicas;
#[path = "../kills/running_replica.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod running_replica;
mod safety;
mod scripts;
mod secured_servers;
mod serve;
mod served_replicas;
mod server_urls;
mod service;
mod settings;
mod shell;
mod shop;
#[path = "../../../../tests/src/skips.rs"]
mod skips;
mod stats;
mod support;
mod tables;
mod users;
mod web_socket;
