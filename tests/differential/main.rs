//! Our Lua beside stock Lua 5.1, and our Redis beside real servers.

mod lua;
mod redis;
