-- Puts parked entries, and those whose lease has ended, back on the list, for workers that read the list themselves.
--
-- KEYS[1]  the list that producers append to
-- KEYS[2]  parked entries
-- KEYS[3]  leased entries, a sorted set by the end of the lease in milliseconds
-- ARGV[1]  limit
--
-- Returns  how many entries were moved

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local limit = tonumber(ARGV[1])
local moved = 0
local function move(from, entries)
  for _, raw in ipairs(entries) do
    redis.call('RPUSH', KEYS[1], raw)
    redis.call('ZREM', from, raw)
    moved = moved + 1
  end
end
move(KEYS[2], redis.call('ZRANGE', KEYS[2], 0, limit - 1))
if moved < limit then move(KEYS[3], redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, limit - moved)) end
return moved
