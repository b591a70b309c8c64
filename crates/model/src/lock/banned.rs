//! What a lock file may not use, with what to do instead.

/// Name, and the end of the sentence "`name` is not available in a lock file".
pub(crate) const BANNED: &[(&str, &str)] = &[
    (
        "KEYS",
        ": it belongs to scripts; a client has lock.key, and gives keys by script(name, {lock.key})",
    ),
    (
        "ARGV",
        ": it belongs to scripts; a client gives values by script(name, {lock.key}, {lock.token})",
    ),
    ("io", ": it may not read or write files"),
    (
        "os",
        ": use now() for the client's clock and sleep(ms) to wait",
    ),
    ("package", ": put everything into the one file"),
    ("require", ": put everything into the one file"),
    ("module", ": put everything into the one file"),
    ("dofile", ": put everything into the one file"),
    ("loadfile", ": put everything into the one file"),
    ("load", ": code made while it runs has no line to point at"),
    (
        "loadstring",
        ": code made while it runs has no line to point at",
    ),
    (
        "debug",
        ": the checker needs the stack to be what it looks like",
    ),
    ("getfenv", ": a lock file has no global variables"),
    ("setfenv", ": a lock file has no global variables"),
    ("_G", ": a lock file has no global variables"),
    ("rawget", ": use t[key]"),
    ("rawset", ": use t[key] = value"),
    ("rawequal", ": use =="),
    (
        "next",
        ": use pairs(t), which goes through the keys in sorted order",
    ),
    (
        "setmetatable",
        ": the handle and the locals must be plain data",
    ),
    (
        "getmetatable",
        ": the handle and the locals must be plain data",
    ),
    ("newproxy", ": the handle and the locals must be plain data"),
    (
        "coroutine",
        ": use spawn(fn), every(ms, fn) and stop(thread)",
    ),
    (
        "pcall",
        ": a failed command gives nil, err and raises nothing; return failed(reason)",
    ),
    (
        "xpcall",
        ": a failed command gives nil, err and raises nothing; return failed(reason)",
    ),
    (
        "collectgarbage",
        ": memory is no part of the client's behaviour",
    ),
    ("gcinfo", ": memory is no part of the client's behaviour"),
    (
        "print",
        ": a run may be repeated thousands of times; return failed(reason) to see a text",
    ),
    (
        "assert",
        ": return failed(reason), or error(reason) to end the operation; assert_(condition, text) says what must be so",
    ),
    ("math.random", ": use random(n), which explores every value"),
    (
        "math.randomseed",
        ": use random(n), which explores every value",
    ),
    ("string.dump", ": functions are no data"),
    (
        "string.gmatch",
        ": its position is invisible while a command waits; use string.find with a start",
    ),
    ("table.foreach", ": use pairs(t)"),
    ("table.foreachi", ": use ipairs(t)"),
    ("table.getn", ": use #t"),
    ("table.maxn", ": use #t"),
];
