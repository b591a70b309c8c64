local function f() while true do end end while true do xpcall(f, f) end
